// A call of the library that is made while its requests for memory fail, and its requirements whatever fails:
// it returns the status of an error or the right values, its outputs hold only these or their old values, and
// the same call is right afterwards. faults.cpp makes requests fail.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tilewright/tilewright_types.h"

namespace tilewright::memory {

using Values = std::vector<double>;

// An output of a call: its address, its old values, and its right values. Values are exact unless `tolerance`
// is set.
struct Output {
  Values* at = nullptr;
  Values before{}, right{};
  double tolerance = 0;

  void reset() const { *at = before; }
  bool is_right() const { return *at == right || is_near(); }
  // True if each element is old or right.
  bool is_old_or_right() const;

 private:
  bool is_near() const;
};

struct Door {
  std::string name;
  // Called in each child, before any fault.
  std::function<void()> prepare = [] {};
  std::function<tilewright_status()> call;
  std::vector<Output> outputs{};
  // Returns the message of the last failure.
  std::function<std::string()> message = [] { return std::string(); };
  // An error may leave outputs that are neither old nor right, if its message says that they are undefined.
  bool may_say_undefined = false;
  // After an error, the first output, which is also read, must be unchanged so that the call can be
  // forwarded.
  bool is_forwarded = false;
  // Called once before any fault, and all its points in one process: other doors cover the requests of the
  // first call.
  bool is_warm = false;
};

using Doors = std::vector<Door>;

// Returns the doors of the program.
Doors all_doors();

}  // namespace tilewright::memory
