// The formulas of the forecasts: the unit with the most work, a share of the others' work, and the time
// before and after. bench_gemm_large_forecast fits the coefficients; the set of cuBLAS kernels is a guess.
#include "kernel/gemm_large/forecast.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/refuse.hpp"

namespace tilewright {

namespace {

// Tiles and parts of k of the kernels that cuBLAS is assumed to have.
struct VendorTile {
  double m, n;
  double CublasCoefficients::*efficiency;
};
using E = CublasCoefficients;
constexpr std::array vendor_tiles{
    VendorTile{32, 32, &E::efficiency_32x32},     VendorTile{64, 32, &E::efficiency_64x32},
    VendorTile{32, 64, &E::efficiency_32x64},     VendorTile{64, 64, &E::efficiency_64x64},
    VendorTile{128, 64, &E::efficiency_128x64},   VendorTile{64, 128, &E::efficiency_64x128},
    VendorTile{128, 128, &E::efficiency_128x128}, VendorTile{256, 128, &E::efficiency_256x128},
    VendorTile{128, 256, &E::efficiency_128x256}};
constexpr std::array vendor_splits{1., 2., 3., 4., 6., 8., 12., 16., 24., 32., 64., 128.};

double clock_mhz(const GpuLimits& limits) { return limits.clock_khz * 1e-3; }
double bytes_per_us(const GpuLimits& limits) { return limits.memory_bytes_per_s * 1e-6; }
double reads_c(const GemmProblem& p) { return p.beta == Scalar::zero ? 0 : 1; }
double element_bytes(const GemmProblem& p) { return double(size_bytes(p.dtype)); }

// Returns the bytes of the operands, each counted once.
double operand_bytes(const GemmProblem& p) {
  const double m = double(p.m), n = double(p.n), k = double(p.k);
  return (m * k + k * n + m * n * (1 + reads_c(p))) * element_bytes(p);
}

// Returns the time of device memory. If the operands are used again, L2 keeps what fits; a smooth blend.
double memory_us(const GemmProblem& p, const GpuLimits& limits, double share, double held_bytes_per_us,
                 bool again) {
  constexpr double room = 0.8;
  constexpr int steepness = 6;
  const double bytes = operand_bytes(p);
  const double beyond = again ? 1 / (1 + std::pow(room * double(limits.l2_bytes) / bytes, steepness)) : 1;
  return bytes * (beyond / (share * bytes_per_us(limits)) + (1 - beyond) / held_bytes_per_us);
}

// Returns 0 if columns are aligned to 16 bytes, a half to 8 with several elements each, else 1.
double unaligned(const GemmProblem& p, std::int64_t leading) {
  const auto rest = leading * std::int64_t(size_bytes(p.dtype)) % 16;
  return rest == 0 ? 0 : rest == 8 && size_bytes(p.dtype) == 4 ? 0.5 : 1;
}
double half_aligned(const GemmProblem& p, std::int64_t leading) {
  return leading * std::int64_t(size_bytes(p.dtype)) % 32 == 16 ? 1 : 0;
}

// Returns the slowdown of products relative to those of aligned operands that are not transposed.
double slower_products(const CublasCoefficients& c, const GemmProblem& p) {
  const double a = unaligned(p, p.lda), b = unaligned(p, p.ldb);
  const double ta = p.op_a == Op::none ? 0 : 1, tb = p.op_b == Op::none ? 0 : 1;
  const double exponent = c.trans_a * ta + c.trans_b * tb + c.trans_both * ta * tb +
                          c.unaligned_c * unaligned(p, p.ldc) + c.half_aligned_a * half_aligned(p, p.lda) +
                          c.half_aligned_b * half_aligned(p, p.ldb);
  return (1 + c.unaligned_a * a + c.unaligned_b * b) * std::exp(exponent);
}

// Returns the time of the slowest unit and a share of the others' times.
template <std::size_t count>
double together(const std::array<double, count>& units, double loss) {
  double most = 0, sum = 0;
  for (const double one : units) most = std::max(most, one), sum += one;
  return most + loss * (sum - most);
}

double fourth(double x) { return x * x * x * x; }

// The time of a cuBLAS kernel, and the time that cuBLAS is assumed to expect.
struct VendorKernel {
  double us = 0, believed_us = 0;
};

// The terms that do not depend on the kernel.
struct VendorProblem {
  double slower = 1, memory_us = 0, real = 1;
};

VendorKernel vendor_kernel(const CublasCoefficients& c, const GemmProblem& p, const GpuLimits& limits,
                           const VendorProblem& all, const VendorTile& tile, double split) {
  constexpr double multiply_adds = 128;  // of a multiprocessor in a cycle, f64 by tensor cores and f32
  constexpr double store_bytes = 24;     // likewise, to L2
  const double bytes = element_bytes(p), depth = std::ceil(double(p.k) / split / 16) * 16;
  const double even =
      std::ceil(double(p.m) / tile.m) * std::ceil(double(p.n) / tile.n) * split / limits.multiprocessors;
  const double whole = std::ceil(even), load = even > 1 ? even + c.idle_share * (whole - even) : 1;
  const double products = load * tile.m * tile.n * depth * all.real /
                          (multiply_adds * clock_mhz(limits) * c.*tile.efficiency) * all.slower;
  const double loads =
      load * (tile.m + tile.n) * depth * bytes / (c.load_bytes_per_cycle * clock_mhz(limits));
  const double store =
      c.store_share * whole * tile.m * tile.n * bytes * (1 + reads_c(p)) / (store_bytes * clock_mhz(limits));
  const double c_bytes = double(p.m) * double(p.n) * bytes;
  const double parts = split > 1 ? c.split_us + 2 * split * c_bytes / c.split_bytes_per_us : 0;
  const double on_device =
      c.launch_us + together(std::array{products, loads, all.memory_us}, c.overlap_loss) + store + parts;
  const double on_host = c.host_us + (split > 1 ? c.host_split_us : 0);
  const double eighth = fourth(on_device) * fourth(on_device) + fourth(on_host) * fourth(on_host);
  return {std::sqrt(std::sqrt(std::sqrt(eighth))), on_device - (1 - c.believed_split) * parts};
}

// Returns the consecutive k tiles whose load latency is exposed, since a multiprocessor has too few small
// tiles: 300 cycles each (f64 and f32, m = n = 176 to 410, H100).
double turns_in_a_row(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeConfig& c,
                      const GpuLimits& limits) {
  const double tiles = std::ceil(double(p.m) / c.tile_m) * std::ceil(double(p.n) / c.tile_n);
  const int generous = gemm_large_is_mma(c) && c.blocks_per_sm == 1 ? 12 : 0;  // as in gemm_large_cost
  const double resident = std::max(1, gemm_large_resident(s, c, p.dtype, limits, generous));
  const double waves = std::ceil(tiles * c.split_k / (limits.multiprocessors * resident));
  return waves * std::ceil(std::ceil(double(p.k) / c.tile_k) / c.split_k);
}

}  // namespace

// Forecasts cuBLAS's time as a weighted mean of its about equally fast kernels, which keeps the fit smooth.
double forecast_cublas_us(const CublasCoefficients& c, const GemmProblem& p, const GpuLimits& limits,
                          bool again) {
  constexpr double least_depth = 32;  // of a part of k
  VendorProblem all;
  all.slower = slower_products(c, p);
  all.real = is_complex(p.dtype) ? 4 : 1;
  const double edges = (unaligned(p, p.lda) + unaligned(p, p.ldb) + unaligned(p, p.ldc)) / 3;
  all.memory_us =
      memory_us(p, limits, c.memory_share, c.held_bytes_per_us, again) * (1 + c.unaligned_memory * edges);
  std::array<VendorKernel, vendor_tiles.size() * vendor_splits.size()> kernels;
  std::size_t count = 0;
  double least = 1e30;
  for (const VendorTile& tile : vendor_tiles)
    for (const double split : vendor_splits) {
      if (split > 1 && std::ceil(double(p.k) / split / 16) * 16 < least_depth) continue;
      kernels[count] = vendor_kernel(c, p, limits, all, tile, split);
      least = std::min(least, kernels[count++].believed_us);
    }
  double weights = 0, sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double near = fourth(least / kernels[i].believed_us), weight = fourth(near) * near;
    if (weight < 1e-6) continue;
    weights += weight;
    sum += weight * std::log(kernels[i].us);
  }
  return std::exp(sum / weights);
}

OwnTerms own_terms(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeConfig& c,
                   const GpuLimits& limits) {
  const GemmLargeCost cost = gemm_large_cost(p, s, c, limits);
  const GemmLargePadding padding = gemm_large_padding(p, s, c);
  const auto is = [](bool condition) { return condition ? 1.0 : 0.0; };
  OwnTerms terms{cost.multiply, cost.issue, cost.shared, cost.l2, cost.fixed};
  terms.turns = turns_in_a_row(p, s, c, limits);
  terms.copies = is(padding.bytes() > 0);
  terms.transposes =
      is(padding.transposes_a && padding.a_bytes > 0) + is(padding.transposes_b && padding.b_bytes > 0);
  terms.grouped = is(c.warps_k > 1);
  terms.by_turns = is(c.load == GemmLargeLoad::tensor && c.boundary == GemmLargeBoundary::none &&
                      c.layout == GemmLargeLayout::padding);
  terms.walks = is(gemm_large_walks(c));
  terms.by_threads = is(c.load != GemmLargeLoad::tensor);
  return terms;
}

double forecast_own_us(const OwnCoefficients& c, const GemmProblem& p, const OwnTerms& x,
                       const GpuLimits& limits, bool again) {
  const double memory = memory_us(p, limits, c.memory_share, c.held_bytes_per_us, again);
  const std::array units{x.multiply / c.clock_mhz, x.issue / c.clock_mhz, x.shared / c.clock_mhz,
                         x.l2 / c.clock_mhz,       c.turn_us * x.turns,   memory};
  const double c_bytes = double(p.m) * double(p.n) * element_bytes(p);
  const double us =
      c.launch_us + together(units, c.overlap_loss) + c.fixed_share * x.fixed / c.clock_mhz +
      (c.unaligned_store * unaligned(p, p.ldc) + c.read_c * reads_c(p)) * c_bytes / bytes_per_us(limits) +
      c.copy_us * x.copies + c.transpose_us * x.transposes;
  return std::max(us, 0.1) * std::exp(c.grouped * x.grouped + c.by_turns * x.by_turns + c.walks * x.walks +
                                      c.by_threads * x.by_threads);
}

GemmLargeForecastModel forecast_model(const nlohmann::json& coefficients) try {
  GemmLargeForecastModel model;
  model.theirs = from_json<CublasCoefficients>(coefficients.at("theirs"));
  model.ours = from_json<OwnCoefficients>(coefficients.at("ours"));
  coefficients.at("theirs_sd").get_to(model.theirs_sd);
  coefficients.at("ours_sd").get_to(model.ours_sd);
  coefficients.at("longest_k").get_to(model.longest_k);
  coefficients.at("longest_side").get_to(model.longest_side);
  model.shortest_k = coefficients.value("shortest_k", model.shortest_k);
  model.shortest_side = coefficients.value("shortest_side", model.shortest_side);
  const auto if_known = [&](const char* key, std::optional<double>& error) {
    if (coefficients.contains(key)) error = coefficients.at(key).get<double>();
  };
  if_known("theirs_sd_outside", model.theirs_sd_outside);
  if_known("ours_sd_outside", model.ours_sd_outside);
  return model;
} catch (const nlohmann::json::exception& error) {
  refuse_argument("coefficients", fmt::format("a model of forecasts is malformed: {}", json_fault(error)));
}

namespace {

// Returns the error of a forecast for the problem; empty if there is none. Products of vectors run other
// kernels.
std::optional<double> error_of(const GemmLargeForecastModel& model, const GemmProblem& p,
                               const GpuLimits& limits, double usual, std::optional<double> outside) {
  constexpr int capability = 90;
  constexpr std::int64_t least_side = 2;
  constexpr double farther = 4;  // than the longest sizes of the fit
  const double k = double(p.k), side = double(std::max(p.m, p.n));
  if (limits.compute_capability != capability || limits.memory_bytes_per_s <= 0 || p.batch_count != 1 ||
      std::min(p.m, p.n) < least_side || k > farther * model.longest_k || side > farther * model.longest_side)
    return std::nullopt;
  const bool judged = k <= model.longest_k && side <= model.longest_side && k >= model.shortest_k &&
                      double(std::min(p.m, p.n)) >= model.shortest_side;
  return judged ? usual : outside;
}

// us(again) is the forecast time.
template <class F>
GemmLargeForecast mean_forecast(const F& us, double error) {
  return {std::sqrt(us(true) * us(false)) * 1e-6, error};
}

}  // namespace

std::optional<GemmLargeForecast> forecast_cublas(const GemmLargeForecastModel& model, const GemmProblem& p,
                                                 const GpuLimits& limits) {
  const auto error = error_of(model, p, limits, model.theirs_sd, model.theirs_sd_outside);
  if (!error) return std::nullopt;
  return mean_forecast([&](bool again) { return forecast_cublas_us(model.theirs, p, limits, again); },
                       *error);
}

std::optional<GemmLargeForecast> forecast_own(const GemmLargeForecastModel& model, const GemmProblem& p,
                                              const GemmLargeShape& s, const GemmLargeConfig& c,
                                              const GpuLimits& limits) {
  const auto error = error_of(model, p, limits, model.ours_sd, model.ours_sd_outside);
  if (!error) return std::nullopt;
  const OwnTerms terms = own_terms(p, s, c, limits);
  return mean_forecast([&](bool again) { return forecast_own_us(model.ours, p, terms, limits, again); },
                       *error);
}

GemmLargeBatchModel batch_forecast_model(const nlohmann::json& coefficients) try {
  return from_json<GemmLargeBatchModel>(coefficients);
} catch (const nlohmann::json::exception& error) {
  refuse_argument("coefficients", fmt::format("a model of batches is malformed: {}", json_fault(error)));
}

namespace {

// A batch that does not fill the device, or has small products, is computed by other kernels.
bool knows_batch(const GemmLargeBatchModel& model, const GemmProblem& p, const GpuLimits& limits) {
  constexpr double least_tiles = 2;  // of each multiprocessor
  const double tiles = std::ceil(double(p.m) / model.tile) * std::ceil(double(p.n) / model.tile);
  return limits.memory_bytes_per_s > 0 && double(std::max({p.m, p.n, p.k})) <= model.longest_side &&
         tiles * double(p.batch_count) >= least_tiles * limits.multiprocessors;
}

}  // namespace

std::optional<GemmLargeForecast> forecast_cublas_batch(const GemmLargeBatchModel& model, const GemmProblem& p,
                                                       const GpuLimits& limits) {
  if (!knows_batch(model, p, limits)) return std::nullopt;
  const double count = double(p.batch_count), real = is_complex(p.dtype) ? 4 : 1;
  const auto padded = [&](std::int64_t side) { return std::ceil(double(side) / model.tile) * model.tile; };
  const double k = std::max(double(p.k) + model.lost_k, 0.5 * double(p.k));
  const double products = count * padded(p.m) * padded(p.n) * k * real / model.multiply_adds_per_us;
  const double memory = count * operand_bytes(p) / (model.memory_share * bytes_per_us(limits));
  const double edges = std::max({unaligned(p, p.lda), unaligned(p, p.ldb), unaligned(p, p.ldc)});
  const double half = std::max(half_aligned(p, p.lda), half_aligned(p, p.ldb));
  const double listed = p.layout == Layout::pointer ? model.pointers : 0;
  return GemmLargeForecast{std::cbrt(std::pow(products, 3) + std::pow(memory, 3)) * 1e-6 *
                               std::exp(model.unaligned * edges + model.half_aligned * half + listed),
                           model.theirs_sd};
}

std::optional<GemmLargeForecast> forecast_own_batch(const GemmLargeBatchModel& model, const GemmProblem& p,
                                                    const GemmLargeShape& s, const GemmLargeConfig& c,
                                                    const GpuLimits& limits) {
  if (!knows_batch(model, p, limits)) return std::nullopt;
  const double clocks = gemm_large_cost(p, s, c, limits).cycles();
  return GemmLargeForecast{clocks / (model.clock_share * 1e3 * limits.clock_khz), model.ours_sd};
}

}  // namespace tilewright
