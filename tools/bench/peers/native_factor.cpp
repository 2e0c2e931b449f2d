// Eigen's decompositions of many small matrices, built for this processor: with sizes known at compile time
// and with those of run time, one matrix after the other.
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <complex>

#include "native.hpp"

namespace tilewright::peers {
namespace {

template <class T, int N>
using Square = Eigen::Matrix<T, N, N>;

// Calls body(A, B, rows) for each problem.
template <class T, int N, class Body>
void for_each_problem(std::int64_t n, std::int64_t nrhs, void* a, void* b, int* rows, std::int64_t count,
                      const Body& body) {
  using Sides = Eigen::Matrix<T, N, Eigen::Dynamic>;
  for (std::int64_t p = 0; p < count; ++p) {
    Eigen::Map<Square<T, N>> matrix(static_cast<T*>(a) + p * n * n, n, n);
    Eigen::Map<Sides> sides(static_cast<T*>(b) + p * n * nrhs, n, nrhs);
    body(matrix, sides, rows + p * n);
  }
}

template <class T, int N>
void run_potrf(std::int64_t n, std::int64_t nrhs, void* a, void* b, int* rows, std::int64_t count) {
  for_each_problem<T, N>(n, nrhs, a, b, rows, count, [](auto& matrix, auto&, int*) {
    const Eigen::LLT<Square<T, N>> factor(matrix);
    matrix = factor.matrixLLT();
  });
}
template <class T, int N>
void run_getrf(std::int64_t n, std::int64_t nrhs, void* a, void* b, int* rows, std::int64_t count) {
  for_each_problem<T, N>(n, nrhs, a, b, rows, count, [n](auto& matrix, auto&, int* to) {
    const Eigen::PartialPivLU<Square<T, N>> factor(matrix);
    matrix = factor.matrixLU();
    Eigen::Map<Eigen::Matrix<int, N, 1>>(to, n) = factor.permutationP().indices();
  });
}
template <class T, int N>
void run_posv(std::int64_t n, std::int64_t nrhs, void* a, void* b, int* rows, std::int64_t count) {
  for_each_problem<T, N>(n, nrhs, a, b, rows, count, [](auto& matrix, auto& sides, int*) {
    Eigen::LLT<Square<T, N>>(matrix).solveInPlace(sides);
  });
}
template <class T, int N>
void run_gesv(std::int64_t n, std::int64_t nrhs, void* a, void* b, int* rows, std::int64_t count) {
  for_each_problem<T, N>(n, nrhs, a, b, rows, count, [](auto& matrix, auto& sides, int*) {
    sides = Eigen::PartialPivLU<Square<T, N>>(matrix).solve(sides).eval();
  });
}
template <class T, int N>
void run_inv(std::int64_t n, std::int64_t nrhs, void* a, void* b, int* rows, std::int64_t count) {
  for_each_problem<T, N>(n, nrhs, a, b, rows, count,
                         [](auto& matrix, auto&, int*) { matrix = matrix.inverse().eval(); });
}

using Run = decltype(EigenFactor::run);

template <class T, int N>
Run run_of(EigenRoutine routine) {
  switch (routine) {
    case EigenRoutine::potrf:
      return &run_potrf<T, N>;
    case EigenRoutine::getrf:
      return &run_getrf<T, N>;
    case EigenRoutine::posv:
      return &run_posv<T, N>;
    case EigenRoutine::gesv:
      return &run_gesv<T, N>;
    case EigenRoutine::inv:
      return &run_inv<T, N>;
  }
  return nullptr;
}

template <class T>
Run fixed_run(EigenRoutine routine, std::int64_t n) {
  switch (n) {
    case 4:
      return run_of<T, 4>(routine);
    case 8:
      return run_of<T, 8>(routine);
    case 16:
      return run_of<T, 16>(routine);
    default:
      return nullptr;
  }
}

}  // namespace

EigenFactor eigen_factor(EigenRoutine routine, int type, std::int64_t n) {
  constexpr int dynamic = Eigen::Dynamic;
  if (n > 0) {
    const Run run = type == 0   ? fixed_run<float>(routine, n)
                    : type == 1 ? fixed_run<double>(routine, n)
                                : nullptr;
    return {"fixed", run, TILEWRIGHT_BUILT_FOR};
  }
  const Run runs[] = {run_of<float, dynamic>(routine), run_of<double, dynamic>(routine),
                      run_of<std::complex<float>, dynamic>(routine),
                      run_of<std::complex<double>, dynamic>(routine)};
  return {"dynamic", runs[type], TILEWRIGHT_BUILT_FOR};
}

}  // namespace tilewright::peers
