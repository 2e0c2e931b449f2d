// Refuses what plans of matrices in device memory cannot be run with. No device is asked.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>

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

inline void require_workspace(std::span<const std::byte> workspace, std::int64_t bytes) {
  const void* const address = workspace.data();
  if (bytes > 0) require_address("workspace", address);
  if (std::int64_t(workspace.size()) < bytes)
    throw Error(ErrorCode::invalid_argument, "workspace",
                fmt::format("workspace has {} bytes, but the plan needs {}", workspace.size(), bytes));
  if (reinterpret_cast<std::uintptr_t>(address) % 256 != 0)
    throw Error(ErrorCode::invalid_argument, "workspace",
                fmt::format("workspace = {} is not at a multiple of 256 bytes", address));
}

}  // namespace tilewright
