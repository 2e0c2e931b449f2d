// Drawing problems.
#include "gemm_large_check.hpp"

#include <algorithm>

namespace tilewright::bench {

SmallCase any_large(DType dtype, int most, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto size = [&] { return 1 + (below(3) == 0 ? below(40) : below(most)); };
  SmallCase one;
  GemmProblem& p = one.problem;
  p.dtype = dtype;
  p.m = size();
  p.n = size();
  p.k = below(20) == 0 ? 0 : size();
  p.op_a = static_cast<Op>(below(3));
  p.op_b = static_cast<Op>(below(3));
  p.alpha = below(2) == 0 ? Scalar::one : Scalar::general;
  p.beta = static_cast<Scalar>(below(3));
  p.location = Location::device;
  const int kind = below(3);  // aligned, padded at random, shifted
  const int step = std::max(1, 16 / static_cast<int>(size_bytes(dtype)));
  const auto leading = [&](std::int64_t rows) {
    const std::int64_t least = std::max<std::int64_t>(rows, 1);
    return kind == 0 ? (least + step - 1) / step * step + step * below(3) : least + below(6);
  };
  p.lda = leading(p.a_rows());
  p.ldb = leading(p.b_rows());
  p.ldc = leading(p.m);
  one.shift = kind == 2 ? 1 + below(3) : 0;
  return one;
}

GemmLargeShape shape_of(const SmallCase& one) {
  // cuMemAlloc gives multiples of 256 bytes, and the matrices begin 256 elements further.
  const int address = one.shift == 0 ? 256 : one.shift * static_cast<int>(size_bytes(one.problem.dtype));
  return gemm_large_shape(one.problem, {address, address, address});
}

}  // namespace tilewright::bench
