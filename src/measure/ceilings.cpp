// Each ceiling is the best kind of loop by median; the kinds are timed alternately within each repetition.
#include "measure/ceilings.hpp"

#include <algorithm>
#include <vector>

#include "core/estimate.hpp"
#include "device/cpu.hpp"
#include "measure/clock.hpp"
#include "measure/streaming.hpp"

namespace tilewright {
namespace {

constexpr int repetitions = 9;
constexpr std::int64_t arena_bytes = std::int64_t{1} << 30;
constexpr std::int64_t memory_slice = std::int64_t{48} << 20;  // a few milliseconds
constexpr std::int64_t l2_loop_bytes = std::int64_t{480} << 10;

// Returns the GFLOP/s of all threads: the sum of the rates that each reached while all ran.
double multiply_add_gflops(DType dtype, std::int64_t vector_bits, int threads) {
  if (vector_bits > widest_vector_bits()) return 0;
  std::vector<double> rates;
  for (int r = 0; r < repetitions; ++r) {
    double rate = 0;
#pragma omp parallel num_threads(threads) reduction(+ : rate)
    {
      run_multiply_adds(dtype, vector_bits, 10000);  // raises the clock to the level of these vectors
#pragma omp barrier
      const double begin = measure_seconds(threads);
      const double work = run_multiply_adds(dtype, vector_bits, 50000);
      rate += 1e-9 * work / (measure_seconds(threads) - begin);
    }
    rates.push_back(rate);
  }
  return estimate(rates).centre;
}

// Returns the best GB/s of `kinds` over slices that advance through the arena, so that none is in a cache.
double memory_gbytes(const Arena& arena, bool use_c, bool read_c, int threads) {
  const std::int64_t stream_count = use_c ? 3 : 2;
  const std::int64_t part = memory_slice / stream_count / 64 * 64;
  const std::int64_t input_slices = arena_bytes / (2 * part);
  const std::int64_t output_slices = arena_bytes / 2 / part;
  const double moved = double(part) * (2 + (use_c ? (read_c ? 2 : 1) : 0));
  const std::vector<Stream> kinds = use_c ? stream_kinds(read_c) : stream_kinds(true);
  std::vector<std::vector<double>> seconds(kinds.size());
  std::int64_t slice = 0;
  for (int r = 0; r < repetitions; ++r)
    for (std::size_t i = 0; i < kinds.size(); ++i, ++slice) {
      const std::byte* inputs = arena.inputs() + (slice % input_slices) * 2 * part;
      std::byte* output = arena.outputs() + (slice % output_slices) * part;
      const StreamOperands operands{inputs, part, inputs + part, part, output, use_c ? part : 0, read_c};
      const double begin = measure_seconds(threads);
      stream(operands, kinds[i], threads);
      seconds[i].push_back(measure_seconds(threads) - begin);
    }
  double best = 0;
  for (const auto& samples : seconds) best = std::max(best, 1e-9 * moved / estimate(samples).centre);
  return best;
}

// Returns the GB/s of plain loops over equal parts that fit L2 together; every thread has its own.
double l2_gbytes(const Arena& arena, bool read_c, int threads) {
  const std::int64_t part = l2_loop_bytes / 3 / 64 * 64;
  constexpr int passes = 200;
  std::vector<double> rates;
  for (int r = 0; r < repetitions; ++r) {
    double rate = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : rate)
    for (int index = 0; index < threads; ++index) {
      const std::byte* inputs = arena.inputs() + index * 2 * part;
      const StreamOperands operands{inputs, part,  inputs + part, part, arena.outputs() + index * part,
                                    part,   read_c};
      stream(operands, Stream::plain, 1);
      const double begin = measure_seconds(threads);
      for (int pass = 0; pass < passes; ++pass) stream(operands, Stream::plain, 1);
      rate += 1e-9 * passes * double(part) * (read_c ? 4 : 3) / (measure_seconds(threads) - begin);
    }
    rates.push_back(rate);
  }
  return estimate(rates).centre;
}

}  // namespace

Ceilings measure_ceilings(int threads, Arena& arena) {
  arena.prepare(arena_bytes, arena_bytes / 2, DType::f64, Data::uniform);
  Ceilings ceilings;
  ceilings.device = cpu_info().device;
  ceilings.threads = threads;
  ceilings.fma_f64_256 = multiply_add_gflops(DType::f64, 256, threads);
  ceilings.fma_f64_512 = multiply_add_gflops(DType::f64, 512, threads);
  ceilings.fma_f32_256 = multiply_add_gflops(DType::f32, 256, threads);
  ceilings.fma_f32_512 = multiply_add_gflops(DType::f32, 512, threads);
  ceilings.memory_read = memory_gbytes(arena, false, false, threads);
  ceilings.memory_update = memory_gbytes(arena, true, true, threads);
  ceilings.memory_write = memory_gbytes(arena, true, false, threads);
  ceilings.l2_update = l2_gbytes(arena, true, threads);
  ceilings.l2_write = l2_gbytes(arena, false, threads);
  ceilings.time = time_now();
  return ceilings;
}

}  // namespace tilewright
