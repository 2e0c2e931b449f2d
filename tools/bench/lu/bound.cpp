// Times square products on the host and deep ones on GPUs.
#include "bench/lu/bound.hpp"

#include <algorithm>
#include <limits>

#include "bench/hybrid_bound.hpp"
#include "core/dispatch.hpp"
#include "core/problem.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"

namespace tilewright::bench {
namespace {

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

double product_speed(Context& context, CalibrationMachine* gpus, const Case& c) {
  double speed = host_speed(context, c);
  for (std::size_t i = 0; gpus != nullptr && i < gpus->gpus().size(); ++i)
    speed += device_speed(*gpus, int(i), c);
  return speed;
}

}  // namespace tilewright::bench
