// A context that each child makes before any fault, kept for its doors.
#pragma once

#include <cstdlib>

#include "door.hpp"
#include "tilewright/tilewright.h"

namespace tilewright::memory {

class Session {
 public:
  void begin(bool wisdom = false) {
    tilewright_context_options options{};
    options.no_wisdom = wisdom ? 0 : 1;
    if (tilewright_create_with(&options, &context_) != TILEWRIGHT_OK) std::exit(99);
  }
  tilewright_context* context() const { return context_; }
  std::string message() const { return context_ == nullptr ? "" : tilewright_last_error(context_); }

 private:
  tilewright_context* context_ = nullptr;  // ends with the process
};

}  // namespace tilewright::memory
