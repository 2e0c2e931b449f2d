// Access: how the library reaches the inside of the public classes, which the headers do not show.
#pragma once

#include <utility>

namespace tilewright {
inline namespace v0_2 {

struct Access {
  template <class Handle>
  static auto& impl(const Handle& handle) {
    return *handle.impl_;
  }
  template <class Handle, class Impl>
  static Handle make(Impl&& impl) {
    return Handle(std::forward<Impl>(impl));
  }
};

}  // namespace v0_2
}  // namespace tilewright
