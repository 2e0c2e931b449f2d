// Compiles, loads and launches factorizations and solves of matrices of any order.
#include "kernel/factor_gpu_large/loader.hpp"

#include <algorithm>
#include <limits>

#include "core/dispatch.hpp"

namespace tilewright {

FactorLargeRoom factor_large_room(const GpuLimits& limits) {
  return {limits.shared_bytes_per_multiprocessor, limits.shared_bytes_per_block};
}

FactorLargeKernel::FactorLargeKernel(const Gpu& gpu, const JitBinary& binary, const FactorGpuShape& shape,
                                     const FactorLargeAnyConfig& config, DType dtype)
    : shape_(shape),
      config_(config),
      dtype_(dtype),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), gpu.limits().shared_bytes_per_block)) {}

GpuLaunch FactorLargeKernel::geometry(const FactorLargeCall& call) const {
  const int bytes = int(size_bytes(dtype_)), m = int(call.a.rows), n = int(call.a.cols);
  std::int64_t blocks = call.count;
  int threads = 0, shared_bytes = 0;
  if (const auto* factor = std::get_if<FactorLargeConfig>(&config_)) {
    threads = factor->threads;
    shared_bytes = factor_large_memory(shape_, *factor, m, n, bytes).total;
  } else {
    const auto& solve = std::get<FactorLargeSolveConfig>(config_);
    threads = solve.threads, blocks *= (call.nrhs + solve.sides - 1) / solve.sides;
    shared_bytes = factor_large_solve_memory(solve, shape_.exchanges, n, bytes).total;
  }
  return {unsigned(std::min<std::int64_t>(blocks, std::numeric_limits<int>::max())), unsigned(threads),
          unsigned(shared_bytes)};
}

void FactorLargeKernel::launch(const FactorLargeCall& call, CUstream_st* stream) const {
  dispatch(dtype_, [&]<class T>() {
    FactorLargeArgs<T> args{};
    args.alpha = call.alpha == nullptr ? T(1) : *static_cast<const T*>(call.alpha);
    args.a = factor_gpu_operand<T>(call.a), args.factors = factor_gpu_operand<T>(call.factors);
    args.b = factor_gpu_operand<T>(call.b);
    args.count = call.count, args.m = int(call.a.rows), args.n = int(call.a.cols);
    args.nrhs = int(call.nrhs);
    args.det = static_cast<T*>(call.det), args.pivots = call.pivots;
    args.info = call.info, args.codes = call.codes, args.info_step = call.one_info ? 0 : 1;
    function_.launch(geometry(call), &args, stream);
  });
}

StencilRequest factor_large_request(const FactorGpuShape& shape, const FactorLargeAnyConfig& config,
                                    DType dtype, int compute_capability) {
  const auto* const factor = std::get_if<FactorLargeConfig>(&config);
  const std::string text = factor != nullptr ? designated("tilewright::FactorLargeConfig", *factor)
                                             : designated("tilewright::FactorLargeSolveConfig",
                                                          std::get<FactorLargeSolveConfig>(config));
  return {"kernel/factor_gpu_large/stencil.cuh",
          {fmt::format("tilewright::{}<{}, {}, {}>", factor != nullptr ? "factor_large" : "solve_large",
                       device_type(dtype), designated("tilewright::FactorGpuShape", shape), text)},
          fmt::format("sizeof(tilewright::FactorLargeArgs<{}>) == {}", device_type(dtype),
                      dispatch(dtype, []<class T>() { return sizeof(FactorLargeArgs<T>); })),
          compute_capability};
}

}  // namespace tilewright
