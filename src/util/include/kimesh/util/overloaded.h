// For std::visit: a set of lambdas, one for each alternative. A visit without a lambda for an
// alternative does not compile.
#pragma once

namespace kimesh {

template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace kimesh
