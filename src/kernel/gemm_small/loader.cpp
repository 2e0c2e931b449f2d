// Loads and launches kernels of batched small GEMM.
#include "kernel/gemm_small/loader.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "kernel/gemm_small/total_config.hpp"

namespace tilewright {
namespace {

static_assert(sizeof(long long) == sizeof(std::int64_t));

constexpr int total_threads = gemm_small_total_elements * gemm_small_total_shares;

// Bounds on the parts: enough to fill a device several times over, in limited memory.
constexpr std::int64_t fewest_products = 4;
std::int64_t most_parts(const GemmProblem& p) {
  constexpr std::int64_t most = 32768, fewest = 512, most_bytes = std::int64_t(64) << 20;
  return std::clamp(most_bytes / (p.m * p.n * size_bytes(p.dtype)), fewest, most);
}

int shared_bytes(DType dtype) { return total_threads * int(size_bytes(dtype)); }

// Returns a value of the problem's class: the caller's if it may be any.
template <class T>
T value_of(Scalar kind, const void* value) {
  return kind == Scalar::general ? *static_cast<const T*>(value) : T(kind == Scalar::one ? 1 : 0);
}

void add_up(const GemmSmallTotal& total, const GemmProblem& p, const Operands& o, const void* parts,
            std::int64_t part_count) {
  void* const c = p.layout == Layout::pointer ? o.lists.c : o.c;
  dispatch(p.dtype, [&]<class T>() {
    const T alpha = value_of<T>(p.alpha, o.alpha), beta = value_of<T>(p.beta, o.beta);
    total.launch(p, parts, part_count, c, o.c, &alpha, &beta, static_cast<CUstream_st*>(o.stream));
  });
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
  o.sizes = {from.sizes};
  o.lists = {from.lists};
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
      shared_bytes_(gemm_small_memory(shape, config, int(size_bytes(dtype))).total_bytes),
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
    const auto device = [](const std::int64_t* array) { return reinterpret_cast<const long long*>(array); };
    args.sizes_m = device(o.sizes.m);
    args.sizes_n = device(o.sizes.n);
    args.sizes_k = device(o.sizes.k);
    args.sizes_lda = device(o.sizes.lda);
    args.sizes_ldb = device(o.sizes.ldb);
    args.sizes_ldc = device(o.sizes.ldc);
    args.group_firsts = device(o.sizes.firsts);
    args.group_count = o.sizes.group_count;
    args.above = o.sizes.above;
    args.last = o.sizes.last;
    args.origin_a = static_cast<const T*>(o.lists.a);
    args.origin_b = static_cast<const T*>(o.lists.b);
    args.origin_c = static_cast<T*>(o.lists.c);
    args.list_step = o.lists.step;
    args.run = o.lists.run;
    args.info = o.info;
    args.info_step = o.info_step;
    function_.launch(geometry, &args, stream);
  });
}

StencilRequest gemm_small_request(const GemmSmallShape& shape, const GemmSmallConfig& config, DType dtype,
                                  int compute_capability) {
  const std::string type = device_type(dtype), s = designated("tilewright::GemmSmallShape", shape),
                    c = designated("tilewright::GemmSmallConfig", config);
  // The device checks that it derives the same memory and arguments.
  const std::string assertion = fmt::format(
      "tilewright::gemm_small_memory({0}, {1}, sizeof({2})).total_bytes == {3} && "
      "sizeof(tilewright::GemmSmallArgs<{2}>) == {4}",
      s, c, type, gemm_small_memory(shape, config, int(size_bytes(dtype))).total_bytes,
      dispatch(dtype, []<class T>() { return sizeof(GemmSmallArgs<T>); }));
  return {"kernel/gemm_small/stencil.cuh",
          {fmt::format("tilewright::gemm_small<{}, {}, {}>", type, s, c)},
          assertion,
          compute_capability};
}

GemmSmallParts gemm_small_parts(const GemmProblem& p, std::int64_t count) {
  if (count <= 0) return {};
  GemmSmallParts parts;
  parts.run = std::max(fewest_products, (count - 1) / most_parts(p) + 1);
  parts.count = (count - 1) / parts.run + 1;
  return parts;
}

std::size_t gemm_small_parts_bytes(const GemmProblem& p, std::int64_t count) {
  const std::int64_t parts =
      std::min(most_parts(p), std::max<std::int64_t>(0, count - 1) / fewest_products + 1);
  return std::size_t(parts * p.m * p.n * size_bytes(p.dtype));
}

GemmSmallTotal::GemmSmallTotal(const Gpu& gpu, const JitBinary& binary, DType dtype)
    : dtype_(dtype),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), shared_bytes(dtype))) {}

void GemmSmallTotal::launch(const GemmProblem& p, const void* parts, std::int64_t part_count, void* c,
                            const void* c_at, const void* alpha, const void* beta,
                            CUstream_st* stream) const {
  GpuLaunch geometry;
  geometry.blocks = unsigned((p.m * p.n - 1) / gemm_small_total_elements + 1);
  geometry.threads = total_threads;
  geometry.shared_bytes = unsigned(shared_bytes(dtype_));
  dispatch(dtype_, [&]<class T>() {
    GemmSmallTotalArgs<T> args = {};
    args.parts = static_cast<const T*>(parts);
    args.c = static_cast<T*>(c);
    args.c_at = static_cast<T* const*>(c_at);
    args.part_count = part_count;
    args.m = p.m, args.n = p.n, args.ldc = p.ldc;
    args.alpha = *static_cast<const T*>(alpha);
    args.reads_c = beta != nullptr && *static_cast<const T*>(beta) != T(0);
    if (args.reads_c) args.beta = *static_cast<const T*>(beta);
    function_.launch(geometry, &args, stream);
  });
}

void gemm_small_reduce(const GemmSmallKernel& kernel, const GemmSmallTotal& total, const GemmProblem& p,
                       const Operands& o, std::int64_t count, void* scratch) {
  const GemmSmallParts parts = gemm_small_parts(p, count);
  GemmSmallOperands into_parts = gemm_small_operands(p, o);
  into_parts.c = scratch;
  into_parts.ldc = p.m, into_parts.stride_c = p.m * p.n;
  into_parts.count = count;
  into_parts.lists.c = nullptr;
  into_parts.lists.run = parts.run;
  dispatch(p.dtype, [&]<class T>() {
    const T one(1), zero(0);
    into_parts.alpha = &one, into_parts.beta = &zero;
    kernel.launch(into_parts, kernel.geometry(parts.count), static_cast<CUstream_st*>(o.stream));
  });
  add_up(total, p, o, scratch, parts.count);
}

void gemm_small_reduce_nothing(const GemmSmallTotal& total, const GemmProblem& p, const Operands& o) {
  add_up(total, p, o, nullptr, 0);
}

StencilRequest gemm_small_total_request(DType dtype, int compute_capability) {
  return {"kernel/gemm_small/total.cuh",
          {fmt::format("tilewright::gemm_small_total<{}>", device_type(dtype))},
          "",
          compute_capability};
}

}  // namespace tilewright
