// Products with one long side, m or n, by calls of small kernels: bands of it, and the rest by its own.
#pragma once

#include <algorithm>
#include <memory>

#include "gemm/cpu_small/engine.hpp"
#include "gemm/cpu_small/key.hpp"

namespace tilewright {

inline bool has_one_long_side(std::int64_t m, std::int64_t n, std::int64_t k) {
  return is_small_size(k) && is_small_size(std::min(m, n)) && std::max(m, n) > gemm_small_cpu_limit;
}

// In bytes, of A, B and C.
struct BandSteps {
  std::int64_t a = 0, b = 0, c = 0;
};

// `count` bands of `size` rows, or columns, and a rest.
struct Bands {
  bool of_rows = true;
  std::int64_t size = 0, count = 0, rest = 0;
  BandSteps step, rest_at;  // from band to band, and from the start of a product to the rest

  std::int64_t part_count() const { return count + (rest > 0 ? 1 : 0); }
  // Returns one product with this long side.
  GemmProblem part(GemmProblem p, std::int64_t rows_or_columns) const {
    (of_rows ? p.m : p.n) = rows_or_columns;
    return p;
  }
  // The bands of one product, without the rest.
  GemmProblem batch(const GemmProblem& product) const {
    GemmProblem p = part(product, size);
    const std::int64_t bytes = size_bytes(p.dtype);
    p.layout = Layout::strided;
    p.batch_count = count;
    p.stride_a = step.a / bytes, p.stride_b = step.b / bytes, p.stride_c = step.c / bytes;
    return p;
  }
};

// Cuts even bands of whole cache lines, so that none is a sliver; more of columns if that leaves no rest.
inline Bands bands_of(const GemmProblem& p) {
  Bands bands;
  bands.of_rows = p.m > gemm_small_cpu_limit;
  const std::int64_t total = bands.of_rows ? p.m : p.n, bytes = size_bytes(p.dtype);
  const std::int64_t line = bands.of_rows ? 64 / bytes : 1;
  const std::int64_t lines = (total + line - 1) / line, most = gemm_small_cpu_limit / line;
  constexpr std::int64_t few = 2;
  const std::int64_t least = (lines + most - 1) / most;
  std::int64_t parts = least;
  while (!bands.of_rows && lines % parts != 0 && parts < least + few) ++parts;
  if (lines % parts != 0) parts = least;
  bands.size = (lines + parts - 1) / parts * line;
  bands.count = total / bands.size;
  bands.rest = total % bands.size;
  const auto behind = [&](std::int64_t at) -> BandSteps {
    at *= bytes;
    if (bands.of_rows) return {p.op_a == Op::none ? at : at * p.lda, 0, at};
    return {0, p.op_b == Op::none ? at * p.ldb : at, at * p.ldc};
  };
  bands.step = behind(bands.size), bands.rest_at = behind(bands.count * bands.size);
  return bands;
}

// The kernel of the bands and that of the rest, which is null without a rest.
struct BandKernels {
  using Kernel = std::shared_ptr<const GemmSmallCpuKernel>;

  Bands bands;
  Kernel whole, rest;
  BoundKernel run_whole, run_rest;

  BandKernels() = default;
  BandKernels(const Bands& cut, const GemmProblem& p, Kernel of_bands, Kernel of_rest)
      : bands(cut), whole(std::move(of_bands)), rest(std::move(of_rest)) {
    run_whole = BoundKernel(bands.part(p, bands.size), *whole);
    if (rest != nullptr) run_rest = BoundKernel(bands.part(p, bands.rest), *rest);
  }

  // Runs parts first ... first + count - 1 of one product; the rest is the last part.
  void run(const KernelCall& product, std::int64_t first, std::int64_t count) const {
    const std::int64_t whole_count = std::min(first + count, bands.count) - first;
    const auto& [a, b, c] = bands.step;
    if (whole_count > 0)
      run_whole.run(product.moved(first * a, first * b, first * c).strided(whole_count, a, b, c));
    if (first + count > bands.count)
      run_rest.run(product.moved(bands.rest_at.a, bands.rest_at.b, bands.rest_at.c));
  }
};

}  // namespace tilewright
