// Carries exceptions out of code that they must not leave: another thread or another stack. The first one is
// kept until the caller can rethrow it.
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
