// Vectors that grow without being filled: what is written next needs no zeros before.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace kimesh::kernels {

template <typename T>
struct UnfilledAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = UnfilledAllocator<U>;
  };
  template <typename U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};

// As std::vector, but resize leaves new elements undefined.
template <typename T>
using Unfilled = std::vector<T, UnfilledAllocator<T>>;

}  // namespace kimesh::kernels
