// A call of the library that is made while its requests for memory fail, and what must be true of it whatever
// fails: it returns a status of an error or the right values, nothing but these or what was there before
// stands in its outputs, and the same call is right afterwards. How requests fail is faults.cpp's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tilewright/tilewright_types.h"

namespace tilewright::memory {

using Values = std::vector<double>;

// What a call writes: where, what stood there, and what must stand there. Exact but for `tolerance`.
struct Output {
  Values* at = nullptr;
  Values before{}, right{};
  double tolerance = 0;

  void reset() const { *at = before; }
  bool is_right() const { return *at == right || is_near(); }
  // Each element is one or the other.
  bool is_old_or_right() const;

 private:
  bool is_near() const;
};

struct Door {
  std::string name;
  // In each child, before anything fails.
  std::function<void()> prepare = [] {};
  std::function<tilewright_status()> call;
  std::vector<Output> outputs{};
  // The message of the last failure.
  std::function<std::string()> message = [] { return std::string(); };
  // An error may leave outputs that are neither old nor right, where its message says that they are
  // undefined.
  bool may_say_undefined = false;
  // Whoever forwards the call after an error must find its first output, which it reads too, as it was.
  bool is_forwarded = false;
  // Called once before anything fails, and all its points in one process: what it takes the first time is the
  // part of other doors.
  bool is_warm = false;
};

using Doors = std::vector<Door>;

// Those of the program.
Doors all_doors();

}  // namespace tilewright::memory
