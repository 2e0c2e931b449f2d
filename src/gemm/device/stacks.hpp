// Sums of products in device memory: calls whose lists lie there too, and plans of stacks sorted once.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gemm/context_impl.hpp"
#include "gemm/sums/list.hpp"

namespace tilewright {

// Runs lists in device memory, which the host does not read: each C that a list names has one run in it.
// Stacks are queued one after the other. Throws Error before anything is queued.
void run_device_stacks(Context::Impl& context, std::span<const SumList> lists, const void* beta,
                       const GemmOptions& options);

// Sums the products of one batch in device memory into one C. Operands are as for plans; the C of a pointer
// batch is operands.lists.c. Throws Error before anything is queued.
void run_device_reduce(Context::Impl& context, const GemmProblem& problem, const Operands& operands,
                       const GemmOptions& options, const ArgumentNames& names = argument_names);

// Launches over lists that were sorted by C, in memory of their GPU.
struct StackPlan::Impl {
  // The products of one list whose C it names first, to which beta is applied, or the others.
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

  // Throws Error(invalid_argument) if the type is not the lists'.
  void run(DType type, const void* beta, CUstream_st* stream) const;
};

// `lists` are in host memory or in options.queue.device's. Throws as run_stacks; unsupported without GPU.
std::shared_ptr<const StackPlan::Impl> make_stack_plan(Context::Impl& context, std::vector<SumList> lists,
                                                       Location where, const GemmOptions& options);

}  // namespace tilewright
