// What a StackPlan holds: launches over lists that were sorted by C, in memory of their GPU.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gemm/context_impl.hpp"
#include "gemm/sums/list.hpp"

namespace tilewright {

struct StackPlan::Impl {
  // The products of one list whose C it names first, to which beta is brought, or of the others.
  struct Part {
    std::shared_ptr<const GemmPlan::Impl> plan;
    Operands operands;
    bool begins_sums = true;
    alignas(16) std::array<std::byte, 16> alpha{}, one{};  // values of the type
  };

  DType dtype = DType::f64;
  std::vector<Part> parts;             // in the order in which they are queued
  std::shared_ptr<const void> memory;  // of the sorted lists
  std::string explanation;

  // Throws Error(invalid_argument) where the type is another than the lists'.
  void run(DType type, const void* beta, CUstream_st* stream) const;
};

// `lists` are in host memory or in that of options.queue.device. Throws Error as run_stacks, and
// Error(unsupported) in builds without GPU.
std::shared_ptr<const StackPlan::Impl> make_stack_plan(Context::Impl& context, std::vector<SumList> lists,
                                                       Location where, const GemmOptions& options);

}  // namespace tilewright
