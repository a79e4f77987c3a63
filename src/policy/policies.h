// Every policy: one file, one line here and one in the table of policy.cpp.
#pragma once

#include <memory>

#include "kimesh/policy/policy.h"

namespace kimesh {

std::unique_ptr<Policy> make_dense(const PolicyOptions& options);
std::unique_ptr<Policy> make_fixed(const PolicyOptions& options);
std::unique_ptr<Policy> make_kimad(const PolicyOptions& options);
std::unique_ptr<Policy> make_kimad_plus(const PolicyOptions& options);
std::unique_ptr<Policy> make_gravac(const PolicyOptions& options);

// What assigns needs no estimate and carries no error: never topk where dense is no longer.
[[nodiscard]] Setting topk_or_dense(std::uint32_t keep, const MessageContext& message);

// The largest message with one ratio for all layers that `budget` holds, overhead included; the
// floor where it holds less. The budget of the answer is at least the message.
[[nodiscard]] Choice spend(std::size_t budget, const MessageContext& message);

}  // namespace kimesh
