// Exceptions that must not leave where they are thrown: another thread, another stack. The first is kept
// until the caller is there to have it.
#pragma once

#include <atomic>
#include <exception>

namespace tilewright {

class FirstException {
 public:
  template <class F>
  void guard(F&& f) {
    try {
      f();
    } catch (...) {
      if (!taken_.exchange(true)) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> taken_ = false;
  std::exception_ptr first_;
};

}  // namespace tilewright
