// Private to the layer.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace kimesh {

// LibTorch throws when it runs out of memory or when we call it wrongly. Neither can be mended, but
// a run ends by it with a sentence, and with its model. No foreign exception passes the door, and
// the trace of calls behind its first line means nothing to a user.
template <typename Work>
auto with_torch(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& trouble) {
    const std::string text = trouble.what();
    throw std::runtime_error("LibTorch: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace kimesh
