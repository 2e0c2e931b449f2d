// Strides and scalars of a direct kernel call.
#include "tune/prepared_call.hpp"

#include <cstring>

#include "core/dispatch.hpp"

namespace tilewright {
namespace {

// From one problem to the next, or for interleaved layouts from one block to the next.
std::int64_t stride_bytes(const GemmProblem& problem, std::int64_t stride, std::int64_t ld,
                          std::int64_t columns) {
  const std::int64_t size = size_bytes(problem.dtype);
  return is_interleaved(problem.layout) ? problem.block * ld * columns * size : stride * size;
}

template <class T>
T scalar_as(std::complex<double> value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value.real());
  else
    return static_cast<T>(value);
}

}  // namespace

std::complex<double> representative(Scalar kind) {
  switch (kind) {
    case Scalar::zero:
      return 0;
    case Scalar::one:
      return 1;
    case Scalar::general:
      return -0.75;
  }
  return 0;
}

PreparedCall::PreparedCall(const GemmProblem& problem) {
  call_.strided(
      problem.batch_count, stride_bytes(problem, problem.stride_a, problem.lda, problem.a_cols()),
      stride_bytes(problem, problem.stride_b, problem.ldb, problem.b_cols()),
      problem.sums == Sums::none ? stride_bytes(problem, problem.stride_c, problem.ldc, problem.n) : 0);
  dispatch(problem.dtype, [&]<class T>() {
    const T alpha = scalar_as<T>(representative(problem.alpha));
    const T beta = scalar_as<T>(representative(problem.beta));
    std::memcpy(alpha_.data(), &alpha, sizeof alpha);
    std::memcpy(beta_.data(), &beta, sizeof beta);
  });
}

}  // namespace tilewright
