#include "kimesh/util/thrown.h"

#include <fmt/format.h>

#include <new>
#include <string_view>

namespace kimesh {
namespace {

// Libraries put a trace of their calls behind the first line.
std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

std::string text_of(const std::exception_ptr& what) {
  try {
    std::rethrow_exception(what);
  } catch (const std::bad_alloc& none) {
    return fmt::format("no memory is left ({})", none.what());
  } catch (const std::exception& trouble) {
    return std::string(first_line(trouble.what()));
  } catch (...) {  // what is no exception of the standard library tells nothing
    return "something that does not say what it is";
  }
}

}  // namespace

void Thrown::keep(const char* doing) noexcept {
  int nothing = kNothing;
  if (!state_.compare_exchange_strong(nothing, kBeingKept)) return;
  doing_ = doing;
  what_ = std::current_exception();
  state_.store(kKept, std::memory_order_release);
}

std::optional<std::string> Thrown::text() const {
  if (is_empty()) return std::nullopt;
  return fmt::format("{}: {}", doing_, text_of(what_));
}

}  // namespace kimesh
