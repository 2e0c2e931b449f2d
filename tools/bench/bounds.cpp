// Takes the best of a few times of each: transfers, square products on the host and deep ones on GPUs.
#include "bench/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dispatch.hpp"
#include "core/problem.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"

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

// All bytes pass the threads that copy, whichever way they go.
double copy_s(CalibrationMachine& machine, const GemmProblem& p, int threads) {
  if (threads == 0) return 0;
  const double all = bytes(p);
  Experiment e;
  e.work = TimedWork::host_copy, e.threads = threads;
  e.bytes = std::int64_t(std::clamp(all, 1.0, double(most_bytes)));
  return best_seconds(machine, e) * all / double(e.bytes);
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

// Times square products on the host and deep ones on GPUs.

constexpr int turns = 5;

// Returns the operations of one product, counted like flops() of a factorization.
double operations(DType dtype, double m, double n, double k) {
  return (is_complex(dtype) ? 8 : 2) * m * n * k;
}

double host_speed(Context& context, const Case& c) {
  const std::int64_t n = std::clamp<std::int64_t>(std::max(c.problem.m, c.problem.n), 64, 1536);
  return dispatch(c.problem.dtype, [&]<class T>() {
    const AlignedBuffer memory(3 * n * n * std::int64_t(sizeof(T)));
    T* const a = reinterpret_cast<T*>(memory.data());
    fill(a, 3 * n * n, c.problem.dtype, Data::uniform, 1);
    GemmOptions options;
    options.target = Target::cpu, options.threads = c.threads;
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < turns; ++i) {
      const double begin = wall_seconds();
      gemm<T>(context, Op::none, Op::none, T(1), {a, n, n, n}, {a + n * n, n, n, n}, T(0),
              {a + 2 * n * n, n, n, n}, options);
      best = std::min(best, wall_seconds() - begin);
    }
    return operations(c.problem.dtype, double(n), double(n), double(n)) / best;
  });
}

double device_speed(CalibrationMachine& machine, int gpu, const Case& c) {
  Experiment e;
  e.work = TimedWork::device_gemm, e.gpu = gpu, e.dtype = c.problem.dtype;
  e.m = std::min<std::int64_t>(c.problem.m, 8192), e.n = std::min<std::int64_t>(c.problem.n, 8192);
  e.k = std::min<std::int64_t>(std::min(e.m, e.n), 1024);
  machine.prepare({e});
  return operations(e.dtype, double(e.m), double(e.n), double(e.k)) / best_seconds(machine, e);
}

}  // namespace

double best_seconds(CalibrationMachine& machine, const Experiment& experiment) {
  double best = machine.seconds(experiment);
  for (int i = 0; i < 4; ++i) best = std::min(best, machine.seconds(experiment));
  return best;
}

HybridBound measure_hybrid_bound(CalibrationMachine& machine, const GemmProblem& p, int gpus,
                                 int copying_threads) {
  const double es = double(size_bytes(p.dtype)), m = double(p.m), n = double(p.n), k = double(p.k);
  HybridBound bound;
  if (p.layout != Layout::single) bound = batch_bound(machine, p, gpus);
  bound.copy_s = copy_s(machine, p, copying_threads);
  if (p.layout != Layout::single) return bound;
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

double product_speed(Context& context, CalibrationMachine* gpus, const Case& c) {
  double speed = host_speed(context, c);
  for (std::size_t i = 0; gpus != nullptr && i < gpus->gpus().size(); ++i)
    speed += device_speed(*gpus, int(i), c);
  return speed;
}

}  // namespace tilewright::bench
