// Systems with the factors (LAPACK xGETRS): swap, solve with L, solve with U, or all of it backwards for
// transposed ones.
#include <algorithm>

#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/plan.hpp"
#include "lu/calls.hpp"
#include "lu/solver.hpp"
#include "lu/updates.hpp"
#include "lu/validate.hpp"

namespace tilewright {
namespace {

// Triangles that the CPU solves where GPUs multiply.
constexpr std::int64_t base_beside_gpus = 512;

}  // namespace

LuSolver::LuSolver(Context& context, const LuOptions& options)
    : blas_(context, options.threads),
      options_(product_options(options)),
      cpu_alone_(options.target == Target::cpu ||
                 (options.target == Target::automatic && Access::impl(context).hybrid->gpus().empty())) {}

template <class T>
void LuSolver::solve_triangle(const Triangle& triangle, std::int64_t m, std::int64_t n, const T* a,
                              std::int64_t lda, T* b, std::int64_t ldb) const {
  if (cpu_alone_) return blas_.solve(triangle, m, n, a, lda, b, ldb);
  const RecursiveSolve<T> recursive{
      [this](auto... arguments) { subtract_product<T>(arguments...); },
      [this](const Triangle& t, auto... arguments) { blas_.solve<T>(t, arguments...); }, base_beside_gpus};
  recursive.solve(triangle, m, n, a, lda, b, ldb);
}

template <class T>
void LuSolver::solve(Op op, std::int64_t n, std::int64_t nrhs, const T* lu, std::int64_t lda,
                     const std::int64_t* pivots, T* b, std::int64_t ldb) const {
  if (n == 0 || nrhs == 0) return;
  const Triangle lower{Side::left, Uplo::lower, op, Diag::unit};
  const Triangle upper{Side::left, Uplo::upper, op, Diag::non_unit};
  if (op == Op::none) blas_.swap_rows(nrhs, b, ldb, n, pivots);
  solve_triangle(op == Op::none ? lower : upper, n, nrhs, lu, lda, b, ldb);
  solve_triangle(op == Op::none ? upper : lower, n, nrhs, lu, lda, b, ldb);
  if (op != Op::none) blas_.swap_rows(nrhs, b, ldb, n, pivots, false);
}

void require_products(Context& context, const LuOptions& options, DType dtype, std::int64_t most) {
  if (options.target == Target::cpu || options.target == Target::automatic) return;
  GemmProblem p;
  p.dtype = dtype;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldc = std::max<std::int64_t>(1, most);
  p.alpha = Scalar::general, p.beta = Scalar::one;
  plan(context, p, product_options(options));
}

template <class T>
void lu_solve(Context& context, Op op, std::int64_t n, std::int64_t nrhs, const T* a, std::int64_t lda,
              const std::int64_t* pivots, T* b, std::int64_t ldb, const LuOptions& options) {
  validate_op(op);
  validate_size("n", n);
  validate_size("nrhs", nrhs);
  validate(LuMatrix{"a", a, n, n, "lda", lda, dtype_of<T>});
  validate_pivots(n, pivots);
  validate(LuMatrix{"b", b, n, nrhs, "ldb", ldb, dtype_of<T>});
  validate_apart("b", b, "a", a, n * nrhs);
  validate_host(options);
  require_products(context, options, dtype_of<T>, n);
  LuSolver(context, options).solve(op, n, nrhs, a, lda, pivots, b, ldb);
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                            \
  template void LuSolver::solve_triangle(const Triangle&, std::int64_t, std::int64_t, const T*,              \
                                         std::int64_t, T*, std::int64_t) const;                              \
  template void LuSolver::solve(Op, std::int64_t, std::int64_t, const T*, std::int64_t, const std::int64_t*, \
                                T*, std::int64_t) const;                                                     \
  template void lu_solve(Context&, Op, std::int64_t, std::int64_t, const T*, std::int64_t,                   \
                         const std::int64_t*, T*, std::int64_t, const LuOptions&);
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(std::complex<float>)
TILEWRIGHT_INSTANTIATE(std::complex<double>)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
