// For std::visit: a set of lambdas, one for each alternative. A visit without a lambda for an
// alternative does not compile. OneOf names several alternatives that one lambda takes:
//
//   std::visit(Overloaded{[](const Chunk& chunk) { ... },
//                         [](const OneOf<Ack, Applied> auto&) { ... }}, frame);
#pragma once

#include <concepts>

namespace kimesh {

template <typename T, typename... Types>
concept OneOf = (std::same_as<T, Types> || ...);

template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace kimesh
