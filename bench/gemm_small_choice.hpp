// Which configs of a case are tried: those that the forecast puts first and earlier winners, one of these
// with each value of an axis, or the best of them alone. It compiles and measures nothing.
#pragma once

#include "gemm_small_compile.hpp"
#include "gemm_small_flags.hpp"
#include "gemm_small_seeds.hpp"

namespace tilewright::bench {

GemmSmallShape shape_of(const SmallCase& one);

// A job for each case of the flags that belongs to their shard, in order, with its trials.
std::deque<Job> choose_jobs(const Flags& flags, const GpuLimits& limits);

// Problems of every kind with configs drawn from the whole space.
std::deque<Job> draw_jobs(const Flags& flags, const GpuLimits& limits);

}  // namespace tilewright::bench
