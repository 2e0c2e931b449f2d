// Loads and launches kernels of large GEMM, and describes A and B to the copy engine.
#include "kernel/gpu_gemm_large.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "device/gpu_tensor_map.hpp"

namespace tilewright {

GemmLargeKernel::GemmLargeKernel(const Gpu& gpu, const JitBinary& binary, const GemmLargeShape& shape,
                                 const GemmLargeConfig& config, DType dtype)
    : gpu_(&gpu),
      shape_(shape),
      config_(config),
      dtype_(dtype),
      shared_bytes_(gemm_large_memory(shape, config, static_cast<int>(size_bytes(dtype))).total_bytes),
      module_(gpu, binary.code),
      function_(module_.function(binary.function, shared_bytes_, config.carveout)) {
  blocks_per_multiprocessor_ = function_.blocks_per_multiprocessor(gemm_large_threads(config), shared_bytes_);
  if (blocks_per_multiprocessor_ == 0)
    throw Error(ErrorCode::unsupported, "config",
                fmt::format("{}: no block fits a multiprocessor of {}", describe(config), gpu.limits().name));
}

void GemmLargeKernel::encode_map(const GemmProblem& p, const void* address, bool is_a,
                                 GemmLargeMap& map) const {
  const int bytes = static_cast<int>(size_bytes(dtype_));
  const GemmLargeTile tile =
      is_a ? gemm_large_tile_a(shape_, config_, bytes) : gemm_large_tile_b(shape_, config_, bytes);
  const std::int64_t rows = is_a ? p.m : p.n;
  const GemmLargeBox box = gemm_large_box(tile);
  GpuTensor tensor;
  tensor.type = bytes == 4 ? GpuTensorType::f32 : GpuTensorType::f64;
  tensor.address = address;
  tensor.inner =
      static_cast<std::uint64_t>(tile.along_k ? p.k : rows) * static_cast<std::uint64_t>(box.words);
  tensor.outer = static_cast<std::uint64_t>(tile.along_k ? rows : p.k);
  tensor.stride_bytes = static_cast<std::uint64_t>(is_a ? p.lda : p.ldb) * static_cast<std::uint64_t>(bytes);
  tensor.swizzled = tile.layout == GemmLargeLayout::swizzle;
  tensor.box_inner = static_cast<std::uint32_t>(box.inner);
  tensor.box_outer = static_cast<std::uint32_t>(box.outer);
  encode_tensor_map(*gpu_, tensor, &map);
}

void GemmLargeKernel::launch(const GemmProblem& problem, const GemmLargeOperands& o,
                             CUstream_st* stream) const {
  const Gpu::Current current(*gpu_);  // the driver asks for it when maps are encoded
  dispatch(dtype_, [&]<class T>() {
    const T alpha = *static_cast<const T*>(o.alpha);
    GemmProblem p = problem;
    if (alpha == T(0)) p.k = 0;
    GemmLargeArgs<T> args{};
    if (config_.load == GemmLargeLoad::tensor && p.k > 0) {
      encode_map(p, o.a, true, args.map_a);
      encode_map(p, o.b, false, args.map_b);
    }
    args.a = static_cast<const T*>(o.a);
    args.b = static_cast<const T*>(o.b);
    args.c = static_cast<T*>(o.c);
    args.lda = p.lda;
    args.ldb = p.ldb;
    args.ldc = p.ldc;
    args.m = p.m;
    args.n = p.n;
    args.k = p.k;
    args.alpha = alpha;
    args.beta = o.beta == nullptr ? T(0) : *static_cast<const T*>(o.beta);
    args.workspace = o.workspace;
    args.counters = static_cast<unsigned*>(o.counters);
    function_.launch(needs(p).launch, &args, stream);
  });
}

StencilRequest gemm_large_request(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype,
                                  int compute_capability) {
  return {"kernel/gemm_large.cuh", gemm_large_expression(shape, config, dtype),
          gemm_large_assertion(shape, config, dtype), compute_capability};
}

JitBinary compile_gemm_large(const StencilCompiler& compiler, const GemmLargeShape& shape,
                             const GemmLargeConfig& config, DType dtype, int compute_capability) {
  return compiler.compile(gemm_large_request(shape, config, dtype, compute_capability));
}

std::string gemm_large_refusal(const JitBinary& binary, const GemmLargeConfig& config,
                               const GpuLimits& limits) {
  const StencilReport report = stencil_report(binary.log);
  if (report.spill_bytes > 0)
    return fmt::format("{} registers do not suffice: {} bytes are spilled", report.registers,
                       report.spill_bytes);
  if (report.stack_bytes > 0) return fmt::format("{} bytes of stack are used", report.stack_bytes);
  const int blocks = std::max(1, config.blocks_per_sm), threads = gemm_large_threads(config);
  constexpr int granularity = 8;  // in which a thread's registers are handed out
  const int budget = limits.registers_per_multiprocessor / (blocks * threads) / granularity * granularity;
  if (report.registers > budget)
    return fmt::format("{} registers of each thread exceed the {} that {} blocks of {} threads leave",
                       report.registers, budget, blocks, threads);
  return "";
}

void GemmLargeScratch::provide(const GemmLargeKernel& kernel, const GemmProblem& problem,
                               GemmLargeOperands& o) {
  const GemmLargeLaunch needs = kernel.needs(problem);
  grow(sums_, needs.workspace_bytes);
  grow(counters_, needs.counter_count * std::int64_t(sizeof(unsigned)));
  o.workspace = sums_->as<void>();
  o.counters = counters_->as<void>();
}

// Counters are zero before every launch: the last block of each tile resets its own.
void GemmLargeScratch::grow(std::optional<GpuBuffer>& held, std::int64_t bytes) const {
  constexpr std::int64_t least_bytes = 1 << 20;
  if (held && held->bytes() >= static_cast<std::size_t>(bytes)) return;
  gpu_.synchronize();
  held.reset();
  held.emplace(gpu_, static_cast<std::size_t>(std::max(bytes, least_bytes)));
  held->fill(0, nullptr);
  gpu_.synchronize();
}

}  // namespace tilewright
