// Options of the C interface as this library knows them, whichever release's header the caller was compiled
// with: the struct's first member says how much of it the caller has.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "c_handles.hpp"

namespace tilewright {

// The caller's options where they are of this release's size, else a copy: members that an older caller does
// not have keep their defaults, and members that only a newer one has must be zero. Throws
// Error(invalid_argument) naming struct_size. A null pointer stays null.
template <class Options>
class Sized {
 public:
  Sized(const char* name, const Options* given) : options_(given) {
    if (given != nullptr && given->struct_size != sizeof(Options)) take(name, *given);
  }
  Sized& operator=(Sized&&) = delete;

  operator const Options*() const { return options_; }
  const Options* operator->() const { return options_; }
  const Options& operator*() const { return *options_; }

 private:
  [[gnu::noinline]] void take(const char* name, const Options& given) {
    const size_t size = given.struct_size;
    if (size < sizeof(size))
      refuse(
          "struct_size",
          fmt::format("{}.struct_size = {} is not the size of the struct: initialise it by its _INIT macro",
                      name, size));
    const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
    if (size > sizeof(Options) &&
        std::any_of(bytes + sizeof(Options), bytes + size, [](unsigned char byte) { return byte != 0; }))
      refuse(
          "struct_size",
          fmt::format(
              "{}.struct_size = {}: this library supports the first {} bytes, but members after them are set",
              name, size, sizeof(Options)));
    std::memcpy(static_cast<void*>(&own_), bytes, std::min(size, sizeof(Options)));
    own_.struct_size = sizeof(Options);
    options_ = &own_;
  }

  const Options* options_;
  Options own_{};
};

// f(context, options) as with_context() runs f(context).
template <class Options, class F>
tilewright_status with_options(tilewright_context* handle, const Options* given, F&& f) noexcept {
  return with_context(handle, [&](Context& context) { f(context, Sized<Options>("options", given)); });
}

}  // namespace tilewright
