// Runs sums of products into one C, checked and in order: by kernels that hold C in registers over a run, or
// product by product where the sizes have none. No C is touched by two threads, and how sums are cut does not
// depend on their number.
#pragma once

#include <memory>
#include <span>

#include "gemm/run/runner.hpp"
#include "gemm/sums/order.hpp"

namespace tilewright {

// What forms the sums of one stack: kernels, or else products of single matrices. `first` brings beta to a C,
// `later` adds to what is there. Both null: nothing is multiplied, and C is scaled.
struct SumCode {
  std::shared_ptr<const GemmSmallCpuKernel> first_kernel, later_kernel;
  std::shared_ptr<const Runner> first_product, later_product;
};

// `codes` are of `lists`, one by one; beta is of the lists' type, or null where their class says it.
void run_sums(std::span<const SumList> lists, std::span<const SumCode> codes, const SumOrder& order,
              const void* beta, int threads);

// About what all of it takes on one thread, in round figures.
double sums_s(std::span<const SumList> lists);

}  // namespace tilewright
