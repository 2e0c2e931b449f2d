// The candidates of plans of matrices in device memory, and the checks of their arguments.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/access.hpp"
#include "core/refuse.hpp"
#include "plan/candidate.hpp"
#include "tilewright/lu.hpp"

namespace tilewright {

struct DeviceLuRequest;
class DeviceLuRunner;

// LU in the memory of a GPU as an operation of src/plan.
struct DeviceLuOperation {
  using Request = DeviceLuRequest;
  using Runner = DeviceLuRunner;
  struct Traits {
    std::int64_t most_nb = 0;  // the upper bound of LuOptions::nb; 0: it has blocks of its own
  };
  static constexpr bool compares = false;
  static Asked asked(const DeviceLuRequest& request);
};
std::span<const Candidate<DeviceLuOperation>> device_lu_candidates();

// lu_explanation of a problem in device memory.
Explanation device_lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options);

// The functions of plans that use factors, of one type; with and without GPU sources.
#define TILEWRIGHT_LU_SYSTEMS(T)                                                                             \
  template void LuSolvePlan::solve(const T*, const std::int64_t*, T*, std::span<std::byte>, CUstream_st*)    \
      const;                                                                                                 \
  template void LuInversePlan::invert(const T*, const std::int64_t*, T*, std::span<std::byte>, CUstream_st*) \
      const;                                                                                                 \
  template void LuRefinePlan::refine(const T*, const T*, const std::int64_t*, const T*, T*, double*,         \
                                     std::span<std::byte>, CUstream_st*) const;

// All throw Error(invalid_argument) naming the argument.
void validate_device(const LuOptions& options);

template <class T>
void require_dtype(const char* name, DType dtype) {
  if (dtype != dtype_of<T>)
    refuse_argument(name, fmt::format("{} has elements of {}, but the plan is for {}", name,
                                      to_string(dtype_of<T>), to_string(dtype)));
}

struct NamedAddress {
  const char* name;
  const void* address;
};
// Refuses null addresses, then a workspace of fewer than `bytes` bytes or at no multiple of 256.
inline void require_addresses(std::initializer_list<NamedAddress> all, std::span<const std::byte> workspace,
                              std::int64_t bytes) {
  for (const NamedAddress& one : all)
    if (one.address == nullptr) refuse_argument(one.name, fmt::format("{} is null", one.name));
  const void* const address = workspace.data();
  if (bytes > 0 && address == nullptr) refuse_argument("workspace", "workspace is null");
  if (std::int64_t(workspace.size()) < bytes)
    refuse_argument("workspace",
                    fmt::format("workspace has {} bytes, but the plan needs {}", workspace.size(), bytes));
  if (reinterpret_cast<std::uintptr_t>(address) % 256 != 0)
    refuse_argument("workspace", fmt::format("workspace = {} is not a multiple of 256 bytes", address));
}

}  // namespace tilewright
