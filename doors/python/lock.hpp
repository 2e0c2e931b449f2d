// Python's lock, given up and taken. A thread that asks for it while the interpreter ends never gets it:
// before CPython 3.14 it is ended there by pthread_exit, which unwinds the stack as an exception does and
// ends the process where that meets a noexcept function. Such threads stop here for good instead, as 3.14 has
// it.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <exception>

namespace tilewright::python {

// f(); where it would end this thread, the thread waits for the end of the process.
template <class F>
auto or_wait(F&& f) {
  try {
    return f();
  } catch (const std::exception&) {
    throw;
  } catch (...) {  // pthread_exit's, which has no object; to leave this block would end the process
    for (;;) pause();
  }
}

// The lock given up while this lives, where `wanted`.
class Unlocked {
 public:
  explicit Unlocked(bool wanted) : state_(wanted ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_ != nullptr) or_wait([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// The lock held while this lives, by whichever thread.
class Locked {
 public:
  Locked() : state_(or_wait([] { return PyGILState_Ensure(); })) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace tilewright::python
