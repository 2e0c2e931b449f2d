// Loads and launches the kernel, and splits sums.
#include "kernel/gemm_small/total.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "kernel/gemm_small/total_config.hpp"

namespace tilewright {
namespace {

constexpr int block_threads = gemm_small_total_elements * gemm_small_total_shares;

// Bounds on the parts: enough to fill a device several times over, so that its multiprocessors end together,
// and few enough that they do not take much of its memory.
constexpr std::int64_t fewest_products = 4;
std::int64_t most_parts(const GemmProblem& p) {
  constexpr std::int64_t most = 32768, fewest = 512, most_bytes = std::int64_t(64) << 20;
  return std::clamp(most_bytes / (p.m * p.n * size_bytes(p.dtype)), fewest, most);
}

int shared_bytes(DType dtype) { return block_threads * static_cast<int>(size_bytes(dtype)); }

}  // namespace

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
  return static_cast<std::size_t>(parts * p.m * p.n * size_bytes(p.dtype));
}

GemmSmallTotal::GemmSmallTotal(const Gpu& gpu, const JitBinary& binary, DType dtype)
    : dtype_(dtype),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), shared_bytes(dtype))) {}

void GemmSmallTotal::launch(const GemmProblem& p, const void* parts, std::int64_t part_count, void* c,
                            const void* c_at, const void* alpha, const void* beta,
                            CUstream_st* stream) const {
  GpuLaunch geometry;
  geometry.blocks = static_cast<unsigned>((p.m * p.n - 1) / gemm_small_total_elements + 1);
  geometry.threads = block_threads;
  geometry.shared_bytes = static_cast<unsigned>(shared_bytes(dtype_));
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

namespace {

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

void gemm_small_reduce(const GemmSmallKernel& kernel, const GemmSmallTotal& total, const GemmProblem& p,
                       const Operands& o, std::int64_t count, void* scratch) {
  const GemmSmallParts parts = gemm_small_parts(p, count);
  GemmSmallOperands into_parts = gemm_small_operands(p, o);
  into_parts.c = scratch;
  into_parts.ldc = p.m, into_parts.stride_c = p.m * p.n;
  into_parts.count = count;
  into_parts.lists.origin_c = nullptr;
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
