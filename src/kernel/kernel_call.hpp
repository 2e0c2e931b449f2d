// One call of a kernel of small products on the host: addresses, distances and scalars. Only this fills the
// kernel's own struct.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/host/stack.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"

namespace tilewright {

class KernelCall {
 public:
  KernelCall() = default;
  // Calls for one problem, or for arrays of addresses if the kernel is for pointers, with one alpha and beta.
  KernelCall(const void* a, const void* b, void* c, const void* alpha, const void* beta,
             std::int64_t count = 1) {
    at(a, b, c);
    arguments_.alpha = alpha, arguments_.beta = beta;
    arguments_.count = count;
  }

  KernelCall& at(const void* a, const void* b, void* c) {
    arguments_.a = a, arguments_.b = b, arguments_.c = c;
    return *this;
  }
  // Returns the call with its operands moved by these distances in bytes.
  KernelCall moved(std::int64_t a, std::int64_t b, std::int64_t c) const {
    KernelCall call = *this;
    return call.at(bytes_on(arguments_.a, a), bytes_on(arguments_.b, b),
                   const_cast<void*>(bytes_on(arguments_.c, c)));
  }
  // Sets a count of problems, or of blocks of them, and the distances in bytes between them.
  KernelCall& strided(std::int64_t count, std::int64_t a, std::int64_t b, std::int64_t c) {
    arguments_.count = count;
    arguments_.stride_a = a, arguments_.stride_b = b, arguments_.stride_c = c;
    return *this;
  }
  KernelCall& counted(std::int64_t count) {
    arguments_.count = count;
    return *this;
  }
  // Sets the scalars with the distances in bytes between their values; 0: one value for all problems.
  KernelCall& scaled(const void* alpha, const void* beta, std::int64_t alpha_stride = 0,
                     std::int64_t beta_stride = 0) {
    arguments_.alpha = alpha, arguments_.beta = beta;
    arguments_.alpha_stride = alpha_stride, arguments_.beta_stride = beta_stride;
    return *this;
  }

  // Runs on the calling thread's stack.
  void run(const GemmSmallCpuKernel& kernel) {
    arguments_.self = &kernel;
    kernel.function()(&arguments_);
  }
  // Runs on another stack if the kernel needs much.
  void run(const GemmSmallCpuKernel& kernel, std::size_t stack_bytes) {
    arguments_.self = &kernel;
    if (stack_bytes <= small_stack_bytes) return kernel.function()(&arguments_);
    call_with_stack(
        stack_bytes,
        [](void* given) {
          const auto& own = *static_cast<const GemmSmallCpuArguments*>(given);
          own.self->function()(&own);
        },
        &arguments_);
  }

 private:
  static const void* bytes_on(const void* base, std::int64_t bytes) {
    return static_cast<const char*>(base) + bytes;
  }

  GemmSmallCpuArguments arguments_;
};

}  // namespace tilewright
