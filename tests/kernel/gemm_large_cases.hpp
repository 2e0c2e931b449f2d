// Problems of large GEMM for tests without a GPU.
#pragma once

#include "kernel/gemm_large/gemm_large.hpp"
#include "support/gpu_limits.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::testing {

inline constexpr DType all_types[] = {DType::f32, DType::f64, DType::c64, DType::c128};

inline GemmProblem problem(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, Op op_a = Op::none,
                           Op op_b = Op::none, std::int64_t pad = 0) {
  GemmProblem p;
  p.dtype = dtype;
  p.m = m;
  p.n = n;
  p.k = k;
  p.op_a = op_a;
  p.op_b = op_b;
  p.location = Location::device;
  p = packed(p);
  p.lda += pad;
  p.ldb += pad;
  p.ldc += pad;
  return p;
}

// A fictional GPU with the models that were fitted to an H200.
inline GemmLargeDevice known_gpu(int compute_capability, int multiprocessors = 132) {
  static const Wisdom shipped({std::string(TILEWRIGHT_TEST_WISDOM "/h200.jsonl")}, "");
  return gemm_large_device(fictional_gpu(compute_capability, multiprocessors),
                           fitted_coefficients(&shipped, "NVIDIA H200", ""));
}

}  // namespace tilewright::testing
