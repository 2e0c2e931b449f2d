// Products on a GPU with one long side, m or n, and two sides up to 64: their kernel's shape, its tile, the
// forecast of its time, and the loaded kernel. Nothing here validates.
#pragma once

#include <optional>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/gemm_large/forecast.hpp"
#include "kernel/gemm_thin/config.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

inline constexpr std::int64_t gemm_thin_limit = 64;    // of the two short sides
inline constexpr int gemm_thin_least_capability = 80;  // asynchronous copies

// True if exactly one of m and n is above the limit, and k is not.
bool is_thin(const GemmProblem& problem);

// The problem must be thin, with k > 0; `address_bytes` divides the addresses of all operands.
GemmThinShape gemm_thin_shape(const GemmProblem& problem, int address_bytes);
// Returns the tile by rules: as much memory in flight as the device's latency asks for.
GemmThinConfig gemm_thin_config(const GemmThinShape& shape, DType dtype, const GpuLimits& limits);

// Forecasts the whole batch from memory and multiply-adds; empty where the device's memory rate is unknown.
std::optional<GemmLargeForecast> gemm_thin_forecast(const GemmProblem& problem, const GemmThinShape& shape,
                                                    const GemmThinConfig& config, const GpuLimits& limits);

class GemmThinKernel {
 public:
  GemmThinKernel(const Gpu& gpu, const JitBinary& binary, const GemmThinShape& shape,
                 const GemmThinConfig& config, DType dtype);

  // Queues C = alpha op(A) op(B) + beta C of a thin problem of the kernel's shape; alpha and beta lie on the
  // host. Thread-safe.
  void launch(const GemmProblem& problem, const Operands& operands, CUstream_st* stream) const;

  const GpuFunction& function() const { return function_; }
  const GemmThinConfig& config() const { return config_; }
  int shared_bytes() const { return shared_bytes_; }
  int blocks_per_multiprocessor() const { return blocks_per_multiprocessor_; }

 private:
  const Gpu* gpu_;
  GemmThinShape shape_;
  GemmThinConfig config_;
  DType dtype_;
  int shared_bytes_;
  GpuModule module_;
  GpuFunction function_;
  int blocks_per_multiprocessor_;
};

StencilRequest gemm_thin_request(const GemmThinShape& shape, const GemmThinConfig& config, DType dtype,
                                 int compute_capability);

}  // namespace tilewright
