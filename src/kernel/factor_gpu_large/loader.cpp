// Compiles, loads and launches factorizations and solves of matrices of any order.
#include "kernel/factor_gpu_large/loader.hpp"

#include <algorithm>
#include <limits>

#include "core/dispatch.hpp"

namespace tilewright {
namespace {

StencilRequest large_request(const char* kernel, const FactorGpuShape& shape, const std::string& config,
                             DType dtype, int compute_capability) {
  return {"kernel/factor_gpu_large/stencil.cuh",
          {fmt::format("tilewright::{}<{}, {}, {}>", kernel, device_type(dtype),
                       designated("tilewright::FactorGpuShape", shape), config)},
          fmt::format("sizeof(tilewright::FactorLargeArgs<{}>) == {}", device_type(dtype),
                      dispatch(dtype, []<class T>() { return sizeof(FactorLargeArgs<T>); })),
          compute_capability};
}

}  // namespace

FactorLargeRoom factor_large_room(const GpuLimits& limits) {
  return {limits.shared_bytes_per_multiprocessor, limits.shared_bytes_per_block};
}

FactorLargeKernel::FactorLargeKernel(const Gpu& gpu, const JitBinary& binary, const FactorGpuShape& shape,
                                     const FactorLargeConfig& config, DType dtype)
    : shape_(shape),
      factor_(config),
      solves_(false),
      dtype_(dtype),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), gpu.limits().shared_bytes_per_block)) {}

FactorLargeKernel::FactorLargeKernel(const Gpu& gpu, const JitBinary& binary, const FactorGpuShape& shape,
                                     const FactorLargeSolveConfig& config, DType dtype)
    : shape_(shape),
      solve_(config),
      solves_(true),
      dtype_(dtype),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), gpu.limits().shared_bytes_per_block)) {}

int FactorLargeKernel::shared_bytes(const FactorLargeCall& call) const {
  const int bytes = int(size_bytes(dtype_)), m = int(call.a.rows), n = int(call.a.cols);
  return solves_ ? factor_large_solve_memory(solve_, shape_.exchanges, n, bytes).total
                 : factor_large_memory(shape_, factor_, m, n, bytes).total;
}

void FactorLargeKernel::launch(const FactorLargeCall& call, CUstream_st* stream) const {
  const std::int64_t panels = solves_ ? (call.nrhs + solve_.sides - 1) / solve_.sides : 1;
  const GpuLaunch geometry{
      unsigned(std::min<std::int64_t>(call.count * panels, std::numeric_limits<int>::max())),
      unsigned(solves_ ? solve_.threads : factor_.threads), unsigned(shared_bytes(call))};
  dispatch(dtype_, [&]<class T>() {
    FactorLargeArgs<T> args{};
    args.alpha = call.alpha == nullptr ? T(1) : *static_cast<const T*>(call.alpha);
    args.a = factor_gpu_operand<T>(call.a), args.factors = factor_gpu_operand<T>(call.factors);
    args.b = factor_gpu_operand<T>(call.b);
    args.count = call.count, args.m = int(call.a.rows), args.n = int(call.a.cols), args.nrhs = int(call.nrhs);
    args.det = static_cast<T*>(call.det), args.pivots = call.pivots;
    args.info = call.info, args.codes = call.codes, args.info_step = call.one_info ? 0 : 1;
    function_.launch(geometry, &args, stream);
  });
}

StencilRequest factor_large_request(const FactorGpuShape& shape, const FactorLargeConfig& config, DType dtype,
                                    int compute_capability) {
  return large_request("factor_large", shape, designated("tilewright::FactorLargeConfig", config), dtype,
                       compute_capability);
}
StencilRequest factor_large_request(const FactorGpuShape& shape, const FactorLargeSolveConfig& config,
                                    DType dtype, int compute_capability) {
  return large_request("solve_large", shape, designated("tilewright::FactorLargeSolveConfig", config), dtype,
                       compute_capability);
}

}  // namespace tilewright
