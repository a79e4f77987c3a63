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

// The largest message of `style` that `budget` holds, overhead included; the floor where it holds
// less. The budget of the answer is at least the message.
[[nodiscard]] Choice spend(std::size_t budget, const MessageContext& message, const Setting& style);

}  // namespace kimesh
