// Rules, forecast and launches of products with one long side.
#include "kernel/gemm_thin/gemm_thin.hpp"

#include <algorithm>
#include <cmath>

#include "core/dispatch.hpp"

namespace tilewright {
namespace {

bool is_long_m(const GemmProblem& p) { return p.m > gemm_thin_limit; }

template <class T>
GemmThinArgs<T> args_of(const GemmProblem& p, const Operands& o) {
  const auto value = [](Scalar kind, const void* at) {
    return kind == Scalar::general ? *static_cast<const T*>(at) : T(kind == Scalar::one ? 1 : 0);
  };
  GemmThinArgs<T> args{};
  args.alpha = value(p.alpha, o.alpha), args.beta = value(p.beta, o.beta);
  args.count = p.batch_count;
  args.y = static_cast<T*>(o.c), args.ld_y = p.ldc, args.stride_y = p.stride_c;
  const bool trans_a = p.op_a != Op::none, trans_b = p.op_b != Op::none;
  const auto *const a = static_cast<const T*>(o.a), *const b = static_cast<const T*>(o.b);
  if (is_long_m(p)) {
    args.points = p.m;
    args.x = a, args.ld_x = p.lda, args.stride_x = p.stride_a;
    args.w = b, args.stride_w = p.stride_b;
    args.w_k = trans_b ? p.ldb : 1, args.w_n = trans_b ? 1 : p.ldb;
  } else {
    args.points = p.n;
    args.x = b, args.ld_x = p.ldb, args.stride_x = p.stride_b;
    args.w = a, args.stride_w = p.stride_a;
    args.w_k = trans_a ? 1 : p.lda, args.w_n = trans_a ? p.lda : 1;
  }
  return args;
}

}  // namespace

bool is_thin(const GemmProblem& p) {
  return p.k <= gemm_thin_limit && std::min(p.m, p.n) <= gemm_thin_limit &&
         std::max(p.m, p.n) > gemm_thin_limit;
}

GemmThinShape gemm_thin_shape(const GemmProblem& p, int address_bytes) {
  const bool complex = is_complex(p.dtype), long_m = is_long_m(p);
  const auto conjugates = [&](Op op) { return complex && op == Op::conj_trans; };
  GemmThinShape s;
  s.k = int(p.k), s.n = int(long_m ? p.n : p.m);
  s.x_by_points = long_m ? p.op_a != Op::none : p.op_b == Op::none;
  s.y_by_points = !long_m;
  s.conj_x = conjugates(long_m ? p.op_a : p.op_b), s.conj_w = conjugates(long_m ? p.op_b : p.op_a);
  s.unit_alpha = p.alpha == Scalar::one, s.unit_beta = p.beta == Scalar::one;
  s.reads_y = p.beta != Scalar::zero;
  const std::int64_t ld_x = long_m ? p.lda : p.ldb, stride_x = long_m ? p.stride_a : p.stride_b;
  const auto is_whole = [&](std::int64_t elements) {
    return elements * size_bytes(p.dtype) % gemm_thin_vector_bytes == 0;
  };
  const bool inside = is_whole(ld_x) && (!s.x_by_points || is_whole(s.k));
  const bool one_run = s.x_by_points && ld_x == s.k;
  s.vector_x = address_bytes >= gemm_thin_vector_bytes && (p.batch_count == 1 || is_whole(stride_x)) &&
               (inside || one_run);
  return s;
}

// By a sweep of a dozen shapes on an H200: threads hold 16 bytes of each column, and four columns, or eight
// of many; long tiles write few partial sectors. Two blocks fit, so that one's latency hides behind the
// other.
GemmThinConfig gemm_thin_config(const GemmThinShape& s, DType dtype, const GpuLimits& limits) {
  const int bytes = int(size_bytes(dtype));
  constexpr int many_columns = 32, most_threads = 512, tile_goal = 24 << 10, few_points = 128,
                least_points = 32;
  GemmThinConfig c;
  c.columns = s.n == 1 ? 1 : std::min(s.n > many_columns ? 8 : 4, (s.n + 1) / 2 * 2);
  const auto fits = [&](int points) {
    c.points = points, c.rows = std::min(std::max(1, 16 / bytes), points / least_points);
    const int tile = (gemm_thin_x_elements(s, c, bytes) + gemm_thin_y_elements(s, c)) * bytes;
    return gemm_thin_threads(s, c) <= most_threads && (points <= few_points || tile <= tile_goal) &&
           2 * (gemm_thin_shared_bytes(s, c, bytes) + limits.shared_bytes_reserved) <=
               limits.shared_bytes_per_multiprocessor;
  };
  for (int points = 512; !fits(points) && points > least_points;) points /= 2;
  return c;
}

std::optional<GemmLargeForecast> gemm_thin_forecast(const GemmProblem& p, const GemmThinShape& s,
                                                    const GemmThinConfig& c, const GpuLimits& limits) {
  if (!(limits.memory_bytes_per_s > 0)) return std::nullopt;
  const int bytes = int(size_bytes(p.dtype)), real = is_complex(p.dtype) ? 4 : 1;
  const double points = double(std::max(p.m, p.n)) * double(p.batch_count);
  // Columns of Y that begin within a sector are written, and read before, in parts.
  const bool cuts_sectors = !s.y_by_points && p.ldc * bytes % gpu_sector_bytes != 0;
  constexpr double cut = 1.4;
  const double moved = s.k + (s.reads_y ? 2 : 1) * s.n * (cuts_sectors ? cut : 1.0);
  const double memory = points * moved * bytes / limits.memory_bytes_per_s;
  // A multiprocessor's multiply-adds in a cycle.
  const bool wide = p.dtype == DType::f64 || p.dtype == DType::c128;
  const double per_cycle = wide ? 64 : 128;
  const double multiply = points * s.k * gemm_thin_groups(s, c) * c.columns * real / per_cycle;
  const double clock = 1e3 * limits.clock_khz * limits.multiprocessors;
  // Fitted to 320 random shapes on an H200 (bench_choice); of 160 others 68 of 100 are within 12 %. Y by
  // points goes through shared memory, element by element.
  constexpr double launch_s = 4e-6, step_s = 0.063e-6, slower = 1.35, error = 0.13;
  const double share = !s.y_by_points ? (bytes == 4 ? 0.91 : 0.95) : bytes == 4 ? 0.51 : 0.71;
  return GemmLargeForecast{launch_s + step_s * s.k + memory / share + slower * multiply / clock, error};
}

GemmThinKernel::GemmThinKernel(const Gpu& gpu, const JitBinary& binary, const GemmThinShape& shape,
                               const GemmThinConfig& config, DType dtype)
    : gpu_(&gpu),
      shape_(shape),
      config_(config),
      dtype_(dtype),
      shared_bytes_(gemm_thin_shared_bytes(shape, config, int(size_bytes(dtype)))),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), shared_bytes_)),
      blocks_per_multiprocessor_(
          function_.blocks_per_multiprocessor(gemm_thin_threads(shape, config), shared_bytes_)) {
  if (blocks_per_multiprocessor_ == 0)
    throw Error(ErrorCode::unsupported, "problem", "no block of the kernel fits a multiprocessor");
}

void GemmThinKernel::launch(const GemmProblem& p, const Operands& o, CUstream_st* stream) const {
  const std::int64_t points = std::max(p.m, p.n);
  const std::int64_t tiles = (points + config_.points - 1) / config_.points * p.batch_count;
  const std::int64_t resident = std::int64_t(gpu_->limits().multiprocessors) * blocks_per_multiprocessor_;
  const GpuLaunch geometry{unsigned(std::min(tiles, resident)), unsigned(gemm_thin_threads(shape_, config_)),
                           unsigned(shared_bytes_)};
  dispatch(dtype_, [&]<class T>() {
    GemmThinArgs<T> args = args_of<T>(p, o);
    function_.launch(geometry, &args, stream);
  });
}

StencilRequest gemm_thin_request(const GemmThinShape& shape, const GemmThinConfig& config, DType dtype,
                                 int compute_capability) {
  return {"kernel/gemm_thin/stencil.cuh",
          {fmt::format("tilewright::gemm_thin<{}, {}, {}>", device_type(dtype),
                       designated("tilewright::GemmThinShape", shape),
                       designated("tilewright::GemmThinConfig", config))},
          fmt::format("sizeof(tilewright::GemmThinArgs<{}>) == {}", device_type(dtype),
                      dispatch(dtype, []<class T>() { return sizeof(GemmThinArgs<T>); })),
          compute_capability};
}

}  // namespace tilewright
