// The measured ceilings of a CPU with a number of threads, and of a GPU: the speeds from which bounds are
// computed. src/measure and tools/bench measure them and wisdom/ stores them; these are only the structs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/fields.hpp"

namespace tilewright {

// GFLOP/s of multiply-add loops and GB/s of streaming loops, all `threads` together; 0 if the machine has no
// such vectors. The streams are equal parts of A, B and C: update reads and writes C, write only writes it.
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

template <>
struct FieldList<Ceilings> {
  using C = Ceilings;
  static constexpr auto value = std::make_tuple(
      field("device", &C::device), field("threads", &C::threads), field("fma_f64_256", &C::fma_f64_256),
      field("fma_f64_512", &C::fma_f64_512), field("fma_f32_256", &C::fma_f32_256),
      field("fma_f32_512", &C::fma_f32_512), field("memory_read", &C::memory_read),
      field("memory_update", &C::memory_update), field("memory_write", &C::memory_write),
      field("l2_update", &C::l2_update), field("l2_write", &C::l2_write), field("time", &C::time));
};

template <>
struct FieldList<GpuCeilings> {
  using C = GpuCeilings;
  static constexpr auto value =
      std::make_tuple(field("device", &C::device), field("multiply_f64", &C::multiply_f64),
                      field("multiply_f32", &C::multiply_f32), field("memory_update", &C::memory_update),
                      field("memory_write", &C::memory_write), field("time", &C::time));
};

}  // namespace tilewright
