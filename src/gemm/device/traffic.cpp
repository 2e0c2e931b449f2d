// Sectors, counted column by column.
#include "gemm/device/traffic.hpp"

#include <algorithm>

#include "device/gpu/gpu.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t looked_at = 256;  // matrices or blocks; the rest is in proportion

// Distinct sectors that the columns of the operand's `count` matrices touch. A block of an interleaved batch
// is a matrix whose rows are as many times as long as it has problems.
double sector_total(const GemmProblem& p, const OperandLayout& x, std::int64_t count) {
  const std::int64_t element = size_bytes(p.dtype), size = element * problems_per_step(p);
  const bool pointers = p.layout == Layout::pointer;
  const std::int64_t step =
      pointers ? gpu_pointer_distance(x.ld * x.cols, size_bytes(p.dtype)) * size : x.step * element;
  const std::int64_t matrices = (count + problems_per_step(p) - 1) / problems_per_step(p);
  const bool one = step == 0 && x.levels.outer_step == 0 && x.levels.outermost_step == 0;
  const std::int64_t stored = one ? 1 : matrices, counted = std::min(stored, looked_at);
  std::int64_t sectors = 0, last = -1;
  for (std::int64_t q = 0; q < counted; ++q)
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const std::int64_t begin = (pointers ? q * step : x.offset(q) * element) + j * x.ld * size;
      const std::int64_t first = std::max(begin / gpu_sector_bytes, last + 1);
      const std::int64_t end = (begin + x.rows * size - 1) / gpu_sector_bytes;
      sectors += std::max<std::int64_t>(0, end - first + 1);
      last = std::max(last, end);
    }
  return double(sectors) * gpu_sector_bytes * double(stored) / double(counted);
}

}  // namespace

GpuTraffic gpu_traffic(const GemmProblem& p) {
  GpuTraffic traffic;
  GpuStreamMix& mix = traffic.mix;
  mix.reads_c = p.beta != Scalar::zero;
  mix.a_bytes = sector_total(p, layout_a(p), p.batch_count);
  mix.b_bytes = sector_total(p, layout_b(p), p.batch_count);
  mix.c_bytes = sector_total(p, layout_c(p), count_of_c(p));
  traffic.bytes = mix.moved();
  if (p.layout == Layout::pointer) traffic.bytes += 3.0 * sizeof(void*) * double(p.batch_count);
  if (p.stride_a == 0 && p.layout == Layout::strided) mix.a_bytes = 0;  // what stays does not stream
  if (p.stride_b == 0 && p.layout == Layout::strided) mix.b_bytes = 0;
  return traffic;
}

}  // namespace tilewright
