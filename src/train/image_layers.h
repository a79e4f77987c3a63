// What models of images are made of. GroupNorm wherever the papers have BatchNorm: see
// complaint_about.
#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <numeric>

namespace kimesh {

constexpr std::int64_t kGroups = 8;  // of GroupNorm; fewer where they do not divide the channels

inline torch::nn::GroupNorm group_norm(std::int64_t channels) {
  return torch::nn::GroupNorm(torch::nn::GroupNormOptions(std::gcd(kGroups, channels), channels));
}

inline torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t side,
                                     std::int64_t stride = 1, bool bias = false) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, side).stride(stride).padding(side / 2).bias(bias));
}

// The same images with the channels of a pixel beside each other, as operations on images compute
// with them fastest; what they return is laid out likewise.
inline torch::Tensor channels_last(const torch::Tensor& images) {
  return images.contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace kimesh
