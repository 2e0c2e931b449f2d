// The measured ceilings of a CPU with a number of threads, and of a GPU, and the bound of a problem that
// follows from them. src/measure and tools/bench measure ceilings, and wisdom/ stores them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/fields.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {

// GFLOP/s of multiply-add loops (0 without such vectors) and GB/s of streaming loops, all `threads` together.
// The streams are equal parts of A, B and C: update reads and writes C, write only writes it.
struct Ceilings {
  std::string device;
  std::int64_t threads = 1;
  double fma_f64_256 = 0;
  double fma_f64_512 = 0;
  double fma_f32_256 = 0;
  double fma_f32_512 = 0;
  double memory_read = 0;
  double memory_update = 0;
  double memory_write = 0;
  double l2_update = 0;
  double l2_write = 0;
  std::string time;  // ISO 8601, UTC

  // The highest multiply-add rate for the real type of `dtype`.
  double compute_gflops(DType dtype) const {
    const bool single = dtype == DType::f32 || dtype == DType::c64;
    return single ? std::max(fma_f32_256, fma_f32_512) : std::max(fma_f64_256, fma_f64_512);
  }
  // The rate for a problem that reads C or only writes it.
  double memory_gbytes(bool read_c) const { return read_c ? memory_update : memory_write; }
};

// GFLOP/s of the fastest multiply-add loop of each type, tensor cores among them, and GB/s of the fastest
// streaming loop over equal parts of A, B and C in device memory.
struct GpuCeilings {
  std::string device;  // its name: GPUs of one kind share them
  double multiply_f64 = 0;
  double multiply_f32 = 0;
  double memory_update = 0;
  double memory_write = 0;
  std::string time;  // ISO 8601, UTC

  double compute_gflops(DType dtype) const {
    return dtype == DType::f32 || dtype == DType::c64 ? multiply_f32 : multiply_f64;
  }
  double memory_gbytes(bool read_c) const { return read_c ? memory_update : memory_write; }
};

TILEWRIGHT_FIELDS(Ceilings, device, threads, fma_f64_256, fma_f64_512, fma_f32_256, fma_f32_512, memory_read,
                  memory_update, memory_write, l2_update, l2_write, time);

TILEWRIGHT_FIELDS(GpuCeilings, device, multiply_f64, multiply_f32, memory_update, memory_write, time);

struct Bound {
  double seconds = 0;
  double gflops = 0;
  std::string kind;    // "memory" or "compute"
  double ceiling = 0;  // GB/s or GFLOP/s
};

// T >= max(bytes / B, flops / P) from the ceilings of the CPU or GPU that runs the problem, with `moved`
// bytes of traffic. Problems expected in a cache have only the compute bound.
template <class AnyCeilings>
Bound bound_of(const GemmProblem& problem, const AnyCeilings& ceilings, double moved) {
  const double compute = ceilings.compute_gflops(problem.dtype);
  const double memory = ceilings.memory_gbytes(problem.beta != Scalar::zero);
  const double compute_s = compute > 0 ? flops(problem) / (compute * 1e9) : 0;
  const bool in_memory = problem.residency != Residency::l1 && problem.residency != Residency::l2;
  const double memory_s = in_memory && memory > 0 ? moved / (memory * 1e9) : 0;
  Bound bound;
  bound.seconds = std::max(compute_s, memory_s);
  bound.kind = memory_s > compute_s ? "memory" : "compute";
  bound.ceiling = memory_s > compute_s ? memory : compute;
  if (bound.seconds > 0) bound.gflops = flops(problem) / bound.seconds * 1e-9;
  return bound;
}

inline Bound bound_of(const GemmProblem& problem, const Ceilings& ceilings) {
  return bound_of(problem, ceilings, bytes(problem));
}

}  // namespace tilewright
