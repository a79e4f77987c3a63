#include "arrivals.h"

#include <algorithm>
#include <utility>

#include "kimesh/codec/payload.h"
#include "kimesh/compress/compressor.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// What the bytes decode to, from 0. Errors: Malformed, and `floats` are worth nothing then.
Status decode(Form form, const Payload& payload, kernels::Memory& memory,
              kernels::MemorySpan floats) {
  if (form != Form::kDense) memory.fill(floats, 0);  // a dense message assigns
  return apply(form, payload.bytes(), memory, floats);
}

}  // namespace

Arrivals::Arrivals(std::span<const ChannelIndex> children, kernels::MemoryBuffer sum)
    : sum_(std::move(sum)) {
  KIMESH_CHECK(!children.empty(), "children that bring something");
  for (const ChannelIndex channel : children) children_.emplace_back().channel = channel;
}

std::size_t Arrivals::position_of(ChannelIndex child) const {
  const auto found = std::ranges::find(children_, child, &Child::channel);
  KIMESH_CHECK(found != children_.end(), "a child of this shard");
  return static_cast<std::size_t>(found - children_.begin());
}

Result<std::uint64_t> Arrivals::take(const ApplyMessage& message, kernels::Memory& memory,
                                     kernels::MemorySpan work) {
  const std::size_t position = position_of(message.channel);
  Child& child = children_[position];
  // A peer that breaks the protocol may be ahead of a sum that is not read yet.
  if (position < added_ || child.held) return malformed("two messages for one sum");
  std::uint64_t digest = 0;
  if (message.digest) {
    if (Status decoded = decode(message.form, message.payload, memory, work); !decoded)
      return decoded.error();
    const auto of_work = memory.digest(work);
    if (!of_work) return of_work.error();
    digest = *of_work;
  } else if (position != added_) {
    if (Status valid = validate(message.form, message.payload.bytes(), work.size); !valid)
      return valid.error();
  }
  child.round = message.round;
  child.form = message.form;
  child.wants_energy = message.energy;
  child.held = message.payload.share();
  while (added_ < children_.size() && children_[added_].held) {
    Status added = add(children_[added_], memory, work);
    if (added) added = memory.finish();
    children_[added_].held.reset();
    if (!added) return added.error();
    ++added_;
  }
  return digest;
}

Status Arrivals::add(Child& child, kernels::Memory& memory, kernels::MemorySpan work) {
  const bool is_first = added_ == 0;
  const kernels::MemorySpan brought = is_first ? sum_.floats() : work;
  if (Status decoded = decode(child.form, *child.held, memory, brought); !decoded) return decoded;
  if (child.wants_energy) {
    const auto energy = memory.energy(brought);
    if (!energy) return energy.error();
    child.energy = *energy;
  }
  if (!is_first) memory.add(work, sum_.floats());
  return ok_status();
}

bool Arrivals::are_all_of(Round round) const {
  return added_ == children_.size() &&
         std::ranges::all_of(children_, [=](const Child& c) { return c.round == round; });
}

double Arrivals::energy(ChannelIndex child) const {
  const std::size_t position = position_of(child);
  KIMESH_CHECK(position < added_ && children_[position].wants_energy,
               "an energy that was asked for");
  return children_[position].energy;
}

void Arrivals::clear() {
  added_ = 0;
  for (Child& child : children_) child.held.reset();
}

std::size_t Arrivals::bytes_held() const {
  std::size_t bytes = sum_.size() * sizeof(float);
  for (const Child& child : children_)
    if (child.held) bytes += child.held->size();
  return bytes;
}

}  // namespace kimesh
