#include "arrivals.h"

#include <algorithm>
#include <utility>

#include "kimesh/ef21/channel.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// What the bytes decode to, from 0.
Status decode(Form form, const Payload& payload, kernels::Memory& memory,
              kernels::MemorySpan floats) {
  return apply_to_channel({memory, floats}, form, payload.bytes(), true);
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
  KIMESH_CHECK(position >= added_ && !child.held, "one message a round");
  if (Status valid = validate(message.form, message.payload.bytes(), work.size); !valid)
    return valid.error();
  std::uint64_t digest = 0;
  if (message.digest) {
    if (Status decoded = decode(message.form, message.payload, memory, work); !decoded)
      return decoded.error();
    const auto of_work = memory.digest(work);
    if (!of_work) return of_work.error();
    digest = *of_work;
  }
  child.form = message.form;
  child.wants_energy = message.energy;
  child.held = message.payload.share();
  while (!are_all_there() && children_[added_].held)
    if (Status added = add(children_[added_], memory, work); !added) return added.error();
  if (Status done = memory.finish(); !done) return done.error();
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
  child.held.reset();
  ++added_;
  return ok_status();
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
