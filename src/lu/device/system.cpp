// Blocks of the diagonal one after the other; between them all is products. Where an inverse would overflow,
// blocks of U are solved by division.
#include "lu/device/system.hpp"

#include <algorithm>
#include <limits>

#include "core/dispatch.hpp"
#include "kernel/lu_rows/config.hpp"

namespace tilewright {
namespace {

// cuBLAS takes longer for products with one column than for those with sixteen.
constexpr std::int64_t least_columns = 16, narrow_from = 2000;

}  // namespace

DeviceLuSystem::DeviceLuSystem(std::shared_ptr<LuTools> tools, const LuSystemShape& shape)
    : tools_(std::move(tools)),
      shape_(shape),
      nb_(shape.n <= 2000 ? 128 : GpuLuSystem::most_inverted),
      columns_(shape.n > narrow_from ? std::max(least_columns, shape.nrhs) : shape.nrhs),
      kernels_(tools_->system(shape.dtype)) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  for (const auto& [name, value] : {std::pair("n", shape.n), std::pair("nrhs", shape.nrhs),
                                    std::pair("lda", shape.lda), std::pair("ldb", shape.ldb)})
    if (value > most)
      throw Error(ErrorCode::unsupported, name,
                  fmt::format("{} = {}: cuBLAS counts in 32 bits", name, value));
  const auto take = [&](std::int64_t bytes) {
    return std::exchange(bytes_, bytes_ + (bytes + 255) / 256 * 256);
  };
  order_at_ = take(shape.n * 4);
  inverses_at_ = take(2 * ((shape.n + nb_ - 1) / nb_) * nb_ * nb_ * element_bytes());
  must_divide_at_ = take((shape.n + nb_ - 1) / nb_ * lu_inverse_groups(int(nb_)) * 4);
  copy_at_ = take(shape.n * columns_ * element_bytes());
  if (columns_ > shape.nrhs) wide_at_ = take(shape.n * columns_ * element_bytes());
  blas_at_ = take(LuTools::products_bytes);
}

LuBlock DeviceLuSystem::lu_at(std::int64_t row, std::int64_t column) const {
  auto* const at = static_cast<const char*>(operands_.lu) + (column * shape_.lda + row) * element_bytes();
  return {const_cast<char*>(at), shape_.lda};
}

LuBlock DeviceLuSystem::rows_of(const LuBlock& block, std::int64_t row) const {
  return {static_cast<char*>(block.data) + row * element_bytes(), block.ld};
}

LuBlock DeviceLuSystem::inverse(bool is_lower, std::int64_t block, std::int64_t rows) const {
  const std::int64_t blocks = (shape_.n + nb_ - 1) / nb_;
  return {workspace(inverses_at_ + (block + (is_lower ? 0 : blocks)) * nb_ * nb_ * element_bytes()), rows};
}

int* DeviceLuSystem::must_divide(std::int64_t block) const {
  return reinterpret_cast<int*>(workspace(must_divide_at_)) + block * lu_inverse_groups(int(nb_));
}

void DeviceLuSystem::multiply(Op op, std::int64_t m, std::int64_t k, double alpha, const LuBlock& a,
                              const LuBlock& b, double beta, const LuBlock& c) {
  if (m == 0) return;
  dispatch(shape_.dtype, [&]<class T>() {
    const T alpha_value = T(alpha), beta_value = T(beta);
    GpuBlas::Batch call;
    call.dtype = shape_.dtype;
    call.op_a = op;
    call.m = int(m), call.n = int(columns_), call.k = int(k);
    call.alpha = &alpha_value, call.beta = &beta_value;
    call.a = a.data, call.lda = int(a.ld);
    call.b = b.data, call.ldb = int(b.ld);
    call.c = c.data, call.ldc = int(c.ld);
    tools_->blas(LuLane::panel).gemm(call);
  });
}

void DeviceLuSystem::solve_triangle(bool is_lower, bool forwards, const LuBlock& from, const LuBlock& other,
                                    CUstream_st* stream) {
  const std::int64_t n = shape_.n, blocks = (n + nb_ - 1) / nb_;
  const Op op = shape_.op;
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t block = forwards ? i : blocks - 1 - i;
    const std::int64_t first = block * nb_, rows = std::min(nb_, n - first), end = first + rows;
    multiply(op, rows, rows, 1, inverse(is_lower, block, rows), rows_of(from, first), 0,
             rows_of(other, first));
    if (!is_lower)
      kernels_.divide(op, lu_at(first, first), rows, columns_, rows_of(from, first), rows_of(other, first),
                      must_divide(block), nb_, stream);
    // What is left of the right-hand sides, below or above.
    const std::int64_t at = forwards ? end : 0, left = forwards ? n - end : first;
    const LuBlock a = op == Op::none ? lu_at(at, first) : lu_at(first, at);
    multiply(op, left, rows, -1, a, rows_of(other, first), 1, rows_of(from, at));
  }
}

void DeviceLuSystem::solve(const LuSystemOperands& operands, CUstream_st* stream) {
  if (shape_.n == 0 || shape_.nrhs == 0) return;
  const std::lock_guard lock(tools_->mutex());
  const Gpu::Current current(tools_->gpu());
  operands_ = operands;
  tools_->blas(LuLane::panel).set_stream(stream);
  tools_->blas(LuLane::panel).set_workspace(workspace(blas_at_), LuTools::products_bytes);
  int* const order = reinterpret_cast<int*>(workspace(order_at_));
  const bool is_wide = columns_ > shape_.nrhs;
  const LuBlock given{operands.b, shape_.ldb}, copy{workspace(copy_at_), shape_.n};
  const LuBlock b = is_wide ? LuBlock{workspace(wide_at_), shape_.n} : given;
  if (is_wide) clear(copy, stream);
  kernels_.invert(lu_at(0, 0), shape_.n, nb_, workspace(inverses_at_), must_divide(0), stream);
  kernels_.order(operands.pivots, shape_.n, order, stream);
  const GpuLuRows& rows = tools_->rows(shape_.dtype, LuTools::any_width);
  // With the factors of A, P A = L U: A x = b by L and U, A^T x = b by U^T, L^T and the swaps backwards.
  if (shape_.op == Op::none) {
    kernels_.take(given, copy, shape_.n, shape_.nrhs, order, false, stream);
    solve_triangle(true, true, copy, b, stream);
    solve_triangle(false, false, b, copy, stream);
    rows.copy(copy, given, shape_.n, shape_.nrhs, stream);
  } else {
    rows.copy(given, copy, shape_.n, shape_.nrhs, stream);
    solve_triangle(false, true, copy, b, stream);
    solve_triangle(true, false, b, copy, stream);
    kernels_.take(copy, given, shape_.n, shape_.nrhs, order, true, stream);
  }
}

// Columns beside the right-hand sides, which stay zero.
void DeviceLuSystem::clear(const LuBlock& block, CUstream_st* stream) const {
  const std::uint32_t zero = 0;
  const std::int64_t words =
      shape_.n * (columns_ - shape_.nrhs) * element_bytes() / std::int64_t(sizeof zero);
  tools_->gpu().fill(static_cast<char*>(block.data) + shape_.n * shape_.nrhs * element_bytes(), &zero,
                     sizeof zero, words, stream);
}

}  // namespace tilewright
