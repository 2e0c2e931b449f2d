// Releases and acquires Python's lock. A thread that asks for it while the interpreter ends never gets it:
// before CPython 3.14 it is ended there by pthread_exit, which unwinds the stack as an exception does and
// ends the process where that meets a noexcept function. Such threads stop here forever instead, as in 3.14.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <exception>

namespace tilewright::python {

// Runs f(); if f would end this thread, the thread waits for the end of the process.
template <class F>
auto or_wait(F&& f) {
  try {
    return f();
  } catch (const std::exception&) {
    throw;
    // This is the unwinding of pthread_exit, which has no object; leaving this block would end the process.
  } catch (...) {
    for (;;) pause();
  }
}

// Releases the lock for its lifetime if `wanted`.
class Unlocked {
 public:
  explicit Unlocked(bool wanted) : state_(wanted ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_ != nullptr) or_wait([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked& operator=(Unlocked&&) = delete;

 private:
  PyThreadState* state_;
};

// Holds the lock for its lifetime, on any thread.
class Locked {
 public:
  Locked() : state_(or_wait([] { return PyGILState_Ensure(); })) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked& operator=(Locked&&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace tilewright::python
