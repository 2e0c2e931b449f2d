// Runs the kernels of factorizations and solves of any order on the host, one after the other as the library
// queues them.
#pragma once

#include "emulation/factor_gpu.hpp"
#include "kernel/factor_gpu_large/shape.hpp"
#include "kernel/factor_gpu_large/stencil.cuh"

namespace tilewright::emulation {

// A routine for matrices that lie so, by kernels of these configs.
template <class T, LaneShape P, FactorLargeConfig Factor,
          FactorLargeSolveConfig Solve = FactorLargeSolveConfig{.threads = 64, .sides = 4},
          FactorLie LieA = FactorLie{}, FactorLie LieB = LieA>
struct FactorLargeCase {
  using D = typename HostElement<T>::Device;
  static constexpr bool in_place = P.routine == Routine::getri || P.routine == Routine::potri;
  static constexpr FactorLie lie_b = in_place ? LieA : LieB;
  static constexpr FactorGpuShape shape() {
    FactorGpuShape s = factor_gpu_shape(P, LieA.by_rows, lie_b.by_rows, P.routine == Routine::trsm);
    s.a_place = LieA.place;
    if (factor_gpu_has_b(s)) s.b_place = lie_b.place;
    return s;
  }

  static FactorLargeArgs<D> arguments(const FactorGpuArgs<D>& args) {
    FactorLargeArgs<D> large{};
    large.alpha = args.alpha, large.a = args.a, large.b = args.b, large.count = args.count;
    large.m = int(P.m), large.n = int(P.n), large.nrhs = shape().nrhs;
    large.det = args.det, large.pivots = args.pivots, large.info = args.info,
    large.info_step = args.info_step;
    return large;
  }
  static std::string factor(const FactorLargeArgs<D>& args) {
    static constexpr FactorGpuShape first = factor_large_first(shape());
    const auto memory = factor_large_memory(first, Factor, args.m, args.n, int(sizeof(T)));
    const Launch launch{
        .blocks = 2, .threads = unsigned(Factor.threads), .shared_bytes = unsigned(memory.total)};
    return run(launch, [&] { factor_large<D, first, Factor>(args); });
  }
  static std::string solve(const FactorLargeArgs<D>& args) {
    static constexpr FactorGpuShape second = factor_large_second(shape());
    const auto memory = factor_large_solve_memory(Solve, second.exchanges, args.n, int(sizeof(T)));
    const Launch launch{
        .blocks = 3, .threads = unsigned(Solve.threads), .shared_bytes = unsigned(memory.total)};
    return run(launch, [&] { solve_large<D, second, Solve>(args); });
  }

  void expect_right() const {
    static constexpr FactorGpuShape s = shape();
    const int count = 4;
    const auto launch = [](const FactorGpuArgs<D>& small, Copies, const std::vector<Region>&) -> std::string {
      FactorLargeArgs<D> args = arguments(small);
      const auto elements = std::size_t(args.count) * std::size_t(args.m * args.n);
      std::vector<D> factors(elements, from_real<D>(typename HostElement<T>::Real(-55)));
      std::vector<int> pivots(std::size_t(args.count * args.n)), codes(std::size_t(args.count), -3);
      if constexpr (factor_large_factors(s)) {
        args.factors = {factors.data(), nullptr, args.m * args.n, args.m, 1, 1, 0};
        if (factor_gpu_has_b(s)) args.codes = codes.data();
        if (!s.writes_a && s.method == FactorGpuMethod::lu) args.pivots = pivots.data();
        if (const std::string error = factor(args); !error.empty()) return error;
        args.a = args.factors;
      }
      if constexpr (factor_gpu_has_b(s))
        return solve(args);
      else
        return "";
    };
    FactorRun<T>({P, LieA, lie_b, s, count, describe(Factor) + describe(Solve)}, launch).expect_right();
  }
};

}  // namespace tilewright::emulation
