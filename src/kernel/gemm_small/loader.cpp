// Loads and launches kernels of batched small GEMM.
#include "kernel/gemm_small/loader.hpp"

#include "core/dispatch.hpp"

namespace tilewright {
namespace {

static_assert(sizeof(long long) == sizeof(std::int64_t));

template <class T>
void set_sizes(GemmSmallArgs<T>& args, const GemmSmallSizeArrays& sizes) {
  const auto device = [](const std::int64_t* array) { return reinterpret_cast<const long long*>(array); };
  args.sizes_m = device(sizes.m);
  args.sizes_n = device(sizes.n);
  args.sizes_k = device(sizes.k);
  args.sizes_lda = device(sizes.lda);
  args.sizes_ldb = device(sizes.ldb);
  args.sizes_ldc = device(sizes.ldc);
  args.group_firsts = device(sizes.firsts);
  args.group_count = sizes.group_count;
  args.above = sizes.above;
  args.last = sizes.last;
}

template <class T>
void set_lists(GemmSmallArgs<T>& args, const GemmSmallLists& lists) {
  args.origin_a = static_cast<const T*>(lists.origin_a);
  args.origin_b = static_cast<const T*>(lists.origin_b);
  args.origin_c = static_cast<T*>(lists.origin_c);
  args.list_step = lists.step;
  args.run = lists.run;
}

}  // namespace

GemmSmallOperands gemm_small_operands(const GemmProblem& p, const Operands& from, bool scalars_vary) {
  GemmSmallOperands o{from.a, from.b, from.c};
  (scalars_vary ? o.alphas : o.alpha) = from.alpha;
  (scalars_vary ? o.betas : o.beta) = from.beta;
  o.count = p.batch_count;
  o.stride_a = p.stride_a, o.stride_b = p.stride_b, o.stride_c = p.stride_c;
  if (is_interleaved(p.layout)) o.stride_a = o.stride_b = o.stride_c = p.block;
  o.lda = p.lda, o.ldb = p.ldb, o.ldc = p.ldc;
  o.sizes = {from.sizes.m, from.sizes.n, from.sizes.k, from.sizes.lda, from.sizes.ldb, from.sizes.ldc};
  o.lists = {from.lists.a, from.lists.b, from.lists.c, from.lists.step};
  if (from.lists.count >= 0) o.count = from.lists.count;
  o.info = from.info, o.info_step = from.info_step;
  return o;
}

GemmSmallKernel::GemmSmallKernel(const Gpu& gpu, const JitBinary& binary, const GemmSmallShape& shape,
                                 const GemmSmallConfig& config, DType dtype)
    : gpu_(&gpu),
      shape_(shape),
      config_(config),
      dtype_(dtype),
      shared_bytes_(gemm_small_memory(shape, config, static_cast<int>(size_bytes(dtype))).total_bytes),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), shared_bytes_)) {
  blocks_per_multiprocessor_ = function_.blocks_per_multiprocessor(config.threads, shared_bytes_);
  if (blocks_per_multiprocessor_ == 0)
    throw Error(ErrorCode::unsupported, "config",
                fmt::format("{}: no block fits a multiprocessor of {}", describe(config), gpu.limits().name));
}

GpuLaunch GemmSmallKernel::geometry(std::int64_t count) const {
  return gemm_small_launch(shape_, config_, dtype_, count, gpu_->limits(), blocks_per_multiprocessor_);
}

void GemmSmallKernel::launch(const GemmSmallOperands& o, CUstream_st* stream, unsigned blocks) const {
  GpuLaunch launch_geometry = geometry(o.count);
  if (blocks > 0) launch_geometry.blocks = blocks;
  launch(o, launch_geometry, stream);
}

void GemmSmallKernel::launch(const GemmSmallOperands& o, const GpuLaunch& geometry,
                             CUstream_st* stream) const {
  dispatch(dtype_, [&]<class T>() {
    GemmSmallArgs<T> args = {};
    args.a = static_cast<const T*>(o.a);
    args.b = static_cast<const T*>(o.b);
    args.c = static_cast<T*>(o.c);
    args.count = o.count;
    args.stride_a = o.stride_a;
    args.stride_b = o.stride_b;
    args.stride_c = o.stride_c;
    args.lda = o.lda;
    args.ldb = o.ldb;
    args.ldc = o.ldc;
    if (o.alpha != nullptr) args.alpha = *static_cast<const T*>(o.alpha);
    if (o.beta != nullptr) args.beta = *static_cast<const T*>(o.beta);
    args.alphas = static_cast<const T*>(o.alphas);
    args.betas = static_cast<const T*>(o.betas);
    set_sizes(args, o.sizes);
    set_lists(args, o.lists);
    args.info = o.info;
    args.info_step = o.info_step;
    function_.launch(geometry, &args, stream);
  });
}

StencilRequest gemm_small_request(const GemmSmallShape& shape, const GemmSmallConfig& config, DType dtype,
                                  int compute_capability) {
  return {"kernel/gemm_small/stencil.cuh",
          {gemm_small_expression(shape, config, dtype)},
          gemm_small_assertion(shape, config, dtype),
          compute_capability};
}

JitBinary compile_gemm_small(const StencilCompiler& compiler, const GemmSmallShape& shape,
                             const GemmSmallConfig& config, DType dtype, int compute_capability) {
  return compiler.compile(gemm_small_request(shape, config, dtype, compute_capability));
}

}  // namespace tilewright
