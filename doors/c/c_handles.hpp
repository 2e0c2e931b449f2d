// The objects behind the C handles, the conversion of arguments, and the wrapper of every function of the C
// interface: no exception leaves it, and its message is kept for the calling thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/fields.hpp"
#include "core/host/fork_gate.hpp"
#include "core/input/failure.hpp"
#include "core/refuse.hpp"
#include "tilewright/context.hpp"
#include "tilewright/tilewright.h"
#include "tilewright/types.hpp"

namespace tilewright {

// The last message of each thread. References stay valid while entries are added, so a message can be handed
// out.
class LastErrors {
 public:
  // Keeps "out of memory" if there is no memory for the message.
  void set(const char* message) noexcept {
    std::lock_guard lock(mutex_);
    try {
      messages_[std::this_thread::get_id()] = message;
    } catch (const std::bad_alloc&) {
      const auto it = messages_.find(std::this_thread::get_id());
      if (it != messages_.end())
        it->second = short_message;
      else
        unsaid_ = true;
    }
  }
  const char* get() const {
    std::lock_guard lock(mutex_);
    const auto it = messages_.find(std::this_thread::get_id());
    if (it != messages_.end()) return it->second.c_str();
    return unsaid_ ? short_message : "";
  }

 private:
  static constexpr const char* short_message = "out of memory";  // fits into a string without an allocation
  mutable Mutex mutex_;
  std::unordered_map<std::thread::id, std::string> messages_;
  bool unsaid_ = false;  // a thread without an entry has had a message for which there was no memory
};

[[noreturn]] inline void refuse(const char* argument, const std::string& message) {
  throw Error(ErrorCode::invalid_argument, argument, message);
}
inline void require_address(const char* argument, const void* address) {
  if (address == nullptr) refuse(argument, fmt::format("{} is null", argument));
}

template <class E>
E to_enum(const char* argument, int value, int last) {
  if (value < 0 || value > last) refuse(argument, unnamed_text<E>(argument, value));
  return static_cast<E>(value);
}
inline DType to_dtype(int value) { return to_enum<DType>("dtype", value, TILEWRIGHT_C128); }
// A value that is no op stays none, so that the library's own checks report it like any other bad argument.
inline Op to_op(int value) { return static_cast<Op>(static_cast<signed char>(std::clamp(value, -128, 127))); }

inline std::vector<int> to_gpus(const int* gpus, int count) {
  if (count < 0 || (gpus == nullptr && count > 0))
    refuse("gpu_count", gpus == nullptr ? fmt::format("gpu_count = {}, but gpus is null", count)
                                        : *negative_reason("gpu_count", count));
  return std::vector<int>(gpus, gpus + count);
}

// Runs the body of a function of the interface: no exception leaves it.
template <class F>
tilewright_status guarded(LastErrors& errors, F&& f) noexcept {
  const KeepErrno before;
  const auto fail = [&](int status, const char* message) {
    errors.set(message);
    return static_cast<tilewright_status>(status);
  };
  try {
    f();
    return TILEWRIGHT_OK;
  } catch (const std::bad_alloc&) {
    return fail(TILEWRIGHT_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception&) {
    try {
      const Failure failure = current_failure();
      return fail(static_cast<int>(failure.code), failure.message.c_str());
    } catch (const std::bad_alloc&) {
      return fail(TILEWRIGHT_OUT_OF_MEMORY, "out of memory");
    }
  } catch (...) {
    return fail(TILEWRIGHT_INTERNAL, "an unknown exception");
  }
}

}  // namespace tilewright

struct tilewright_context {
  std::unique_ptr<tilewright::Context> context;  // null when it could not be made
  mutable tilewright::LastErrors errors;
};

namespace tilewright {

template <class F>
tilewright_status with_context(tilewright_context* handle, F&& f) noexcept {
  if (handle == nullptr) return TILEWRIGHT_INVALID_ARGUMENT;
  return guarded(handle->errors, [&] {
    if (handle->context == nullptr) refuse("context", "the context could not be made, so nothing runs in it");
    f(*handle->context);
  });
}

}  // namespace tilewright
