// Refuses what plans of matrices in device memory cannot be run with. No device is asked.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "core/fields.hpp"

namespace tilewright {

inline void require_address(const char* name, const void* address) {
  if (address == nullptr) throw Error(ErrorCode::invalid_argument, name, fmt::format("{} is null", name));
}

template <class T>
void require_dtype(const char* name, DType dtype) {
  if (dtype != dtype_of<T>)
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} has elements of {}, and the plan is of {}", name, to_string(dtype_of<T>),
                            to_string(dtype)));
}

inline void require_workspace(const void* workspace, std::int64_t bytes) {
  if (bytes > 0) require_address("workspace", workspace);
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
    throw Error(ErrorCode::invalid_argument, "workspace",
                fmt::format("workspace = {} is not at a multiple of 256 bytes", workspace));
}

}  // namespace tilewright
