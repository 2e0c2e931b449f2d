// Takes the best of a few times of each.
#include "bench/hybrid_bound.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright::bench {
namespace {

constexpr std::int64_t most_bytes = std::int64_t(256) << 20;  // for one timed transfer
constexpr double most_products = 4e11;                        // for one timed product

double transfer_s(CalibrationMachine& machine, TimedWork work, double bytes) {
  if (bytes <= 0) return 0;
  Experiment e;
  e.work = work, e.gpu = 0, e.bytes = std::int64_t(std::min(bytes, double(most_bytes)));
  return best_seconds(machine, e) * bytes / double(e.bytes);
}

// Bounds a batch by its transfers: products of small matrices overlap the transfers of others.
HybridBound batch_bound(CalibrationMachine& machine, const GemmProblem& p, int gpus) {
  HybridBound bound;
  const double es = double(size_bytes(p.dtype)), count = double(p.batch_count) / gpus;
  const double c = double(p.m) * double(p.n) * es * count;
  const auto operand = [&](std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    const bool shared = p.layout == Layout::strided && stride == 0;
    return double(rows) * double(cols) * es * (shared ? 1 : count);
  };
  const double in = operand(p.a_rows(), p.a_cols(), p.stride_a) +
                    operand(p.b_rows(), p.b_cols(), p.stride_b) + (p.beta != Scalar::zero ? c : 0);
  bound.transfer_s =
      std::max(transfer_s(machine, TimedWork::to_device, in), transfer_s(machine, TimedWork::to_host, c));
  return bound;
}

}  // namespace

double best_seconds(CalibrationMachine& machine, const Experiment& experiment) {
  double best = machine.seconds(experiment);
  for (int i = 0; i < 4; ++i) best = std::min(best, machine.seconds(experiment));
  return best;
}

HybridBound measure_hybrid_bound(CalibrationMachine& machine, const GemmProblem& p, int gpus) {
  const double es = double(size_bytes(p.dtype)), m = double(p.m), n = double(p.n), k = double(p.k);
  HybridBound bound;
  if (p.layout != Layout::single) return batch_bound(machine, p, gpus);
  // Every link carries all of A if GPUs cannot pass it on, and a share of it if they can.
  const double c = m * n * es / gpus, b = k * n * es / gpus;
  const double a = m * k * es / (gpus > 1 && machine.reaches(1, 0) ? gpus : 1);
  const double in = transfer_s(machine, TimedWork::to_device, a + b + (p.beta != Scalar::zero ? c : 0));
  bound.transfer_s = std::max(in, transfer_s(machine, TimedWork::to_host, c));
  Experiment e;
  e.work = TimedWork::device_gemm, e.gpu = 0, e.dtype = p.dtype;
  e.m = p.m, e.k = p.k;
  e.n = std::clamp<std::int64_t>(std::int64_t(most_products / (m * k)), 1, p.n);
  machine.prepare({e});
  bound.compute_s = best_seconds(machine, e) * n / double(e.n) / gpus;
  return bound;
}

}  // namespace tilewright::bench
