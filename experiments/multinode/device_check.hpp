// Checks small products of odd sizes for all types, operations and distributions against sums on the host.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "tilewright/multinode.hpp"

namespace tilewright::distributed {

struct Case {
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t block_m = 1, block_n = 1, block_k = 1;
  std::int64_t source_row = 0, source_col = 0;  // of all three matrices
  double alpha = 1, beta = 0;
};

inline std::vector<Case> check_cases() {
  std::vector<Case> cases;
  for (const Op op_a : {Op::none, Op::trans, Op::conj_trans})
    for (const Op op_b : {Op::none, Op::trans, Op::conj_trans})
      cases.push_back({op_a, op_b, 37, 29, 41, 5, 7, 6, 0, 0, 1.25, -0.5});
  cases.push_back({Op::none, Op::none, 37, 29, 41, 5, 7, 6, 0, 0, 1, 0});
  cases.push_back({Op::trans, Op::none, 37, 29, 41, 5, 7, 6, 0, 0, -1, 0});
  cases.push_back({Op::none, Op::none, 37, 29, 41, 5, 7, 6, 0, 0, 0, 0});
  cases.push_back({Op::none, Op::none, 37, 29, 41, 5, 7, 6, 0, 0, 0, 0.5});
  cases.push_back({Op::none, Op::none, 3, 4, 5, 64, 64, 64, 0, 0, 1, 1});  // one block: others have nothing
  cases.push_back({Op::none, Op::none, 259, 131, 301, 64, 32, 64, 0, 0, 1, 1});
  cases.push_back({Op::trans, Op::trans, 259, 131, 301, 64, 32, 64, 0, 0, 1, 1});
  cases.push_back({Op::none, Op::none, 37, 29, 41, 5, 7, 6, 1, 1, 1, 1});  // another process begins
  return cases;
}

// Returns an element between -1 and 1, always the same for the same indices.
inline double element(std::int64_t seed, std::int64_t i, std::int64_t j) {
  auto x = std::uint64_t(seed) * 0x9E3779B97F4A7C15U + std::uint64_t(i) * 0xBF58476D1CE4E5B9U +
           std::uint64_t(j) * 0x94D049BB133111EBU;
  x = (x ^ (x >> 31)) * 0xD6E8FEB86659FD93U;
  return double((x ^ (x >> 32)) >> 12) * 0x1p-51 - 1;
}
template <class T>
T value(std::int64_t seed, std::int64_t i, std::int64_t j) {
  if constexpr (is_complex(dtype_of<T>)) {
    using R = typename T::value_type;
    return T(R(element(seed, i, j)), R(element(seed + 100, i, j)));
  } else {
    return T(element(seed, i, j));
  }
}

// A process's part of a matrix on the host and on its GPU.
template <class T>
class Part {
 public:
  Part(const Gpu& gpu, const DistributedGemm& member, const ProcessGrid& grid, DistributedMatrix<T> shape)
      : shape_(shape), grid_(grid), row_(member.row()), col_(member.col()), memory_(gpu, bytes_of(shape)) {
    host_.assign(memory_.bytes() / sizeof(T), T(77));
    shape_.ld = ld();
    shape_.data = memory_.template as<T>();
  }
  std::int64_t rows() const {
    return local_extent(shape_.rows, shape_.block_rows, row_, source_row(), grid_.rows);
  }
  std::int64_t cols() const {
    return local_extent(shape_.cols, shape_.block_cols, col_, source_col(), grid_.cols);
  }
  std::int64_t ld() const { return rows() + 3; }
  // Return the place of a local element in the whole matrix.
  std::int64_t row_of(std::int64_t i) const {
    const std::int64_t distance = (row_ - source_row() + grid_.rows) % grid_.rows;
    return (i / shape_.block_rows * grid_.rows + distance) * shape_.block_rows + i % shape_.block_rows;
  }
  std::int64_t col_of(std::int64_t j) const {
    const std::int64_t distance = (col_ - source_col() + grid_.cols) % grid_.cols;
    return (j / shape_.block_cols * grid_.cols + distance) * shape_.block_cols + j % shape_.block_cols;
  }
  T& at(std::int64_t i, std::int64_t j) { return host_[std::size_t(j * ld() + i)]; }
  template <class Value>
  void fill(Value value_at) {
    for (std::int64_t j = 0; j < cols(); ++j)
      for (std::int64_t i = 0; i < rows(); ++i) at(i, j) = value_at(row_of(i), col_of(j));
    memory_.write(host_.data(), memory_.bytes());
  }
  void read() { memory_.read(host_.data(), memory_.bytes()); }
  const DistributedMatrix<T>& view() const { return shape_; }

 private:
  std::int64_t source_row() const { return shape_.source_row; }
  std::int64_t source_col() const { return shape_.source_col; }
  std::size_t bytes_of(const DistributedMatrix<T>& x) {
    shape_ = x;
    return std::size_t(ld() * (cols() + 1)) * sizeof(T);
  }

  DistributedMatrix<T> shape_;
  ProcessGrid grid_;
  std::int64_t row_, col_;
  GpuBuffer memory_;
  std::vector<T> host_;
};

template <class T>
T operand_at(Op op, std::int64_t seed, std::int64_t i, std::int64_t j) {
  if (op == Op::none) return value<T>(seed, i, j);
  const T x = value<T>(seed, j, i);
  if constexpr (is_complex(dtype_of<T>))
    return op == Op::conj_trans ? std::conj(x) : x;
  else
    return x;
}

// Returns "" if this process's part of C is right, else the first wrong element.
template <class T>
std::string fault_of(const Case& x, Part<T>& c) {
  using Wide = std::conditional_t<is_complex(dtype_of<T>), std::complex<double>, double>;
  const bool is_single = sizeof(T) / (is_complex(dtype_of<T>) ? 2 : 1) == sizeof(float);
  const double tolerance = 8 * double(x.k + 4) * (is_single ? 0x1p-24 : 0x1p-53);
  for (std::int64_t j = 0; j < c.cols(); ++j) {
    for (std::int64_t i = 0; i < c.rows(); ++i) {
      const std::int64_t row = c.row_of(i), col = c.col_of(j);
      Wide sum = 0;
      for (std::int64_t l = 0; x.alpha != 0 && l < x.k; ++l)
        sum += Wide(operand_at<T>(x.op_a, 1, row, l)) * Wide(operand_at<T>(x.op_b, 2, l, col));
      const Wide before = x.beta == 0 ? Wide(0) : Wide(value<T>(3, row, col));
      const Wide expected = x.alpha * sum + x.beta * before;
      const double off = std::abs(Wide(c.at(i, j)) - expected);
      if (!(off <= tolerance * 2)) {
        return "C(" + std::to_string(row) + ", " + std::to_string(col) + ") is off by " + std::to_string(off);
      }
    }
    for (std::int64_t i = c.rows(); i < c.ld(); ++i)
      if (c.at(i, j) != T(77)) return "padding behind column " + std::to_string(c.col_of(j)) + " was written";
  }
  return "";
}

// Runs a case; with alpha = 0 or beta = 0, operands that must not be read are NaN.
template <class T>
std::string check_case(const Gpu& gpu, DistributedGemm& member, const ProcessGrid& grid, const Case& x,
                       const GpuStream& stream) {
  const T nan(std::numeric_limits<float>::quiet_NaN());
  const auto shape = [&](Op op, std::int64_t rows, std::int64_t cols, std::int64_t block_rows,
                         std::int64_t block_cols) {
    if (op != Op::none) std::swap(rows, cols), std::swap(block_rows, block_cols);
    return DistributedMatrix<T>{
        nullptr, rows, cols, block_rows, block_cols, 0, x.source_row % grid.rows, x.source_col % grid.cols};
  };
  Part<T> a(gpu, member, grid, shape(x.op_a, x.m, x.k, x.block_m, x.block_k));
  Part<T> b(gpu, member, grid, shape(x.op_b, x.k, x.n, x.block_k, x.block_n));
  Part<T> c(gpu, member, grid, shape(Op::none, x.m, x.n, x.block_m, x.block_n));
  a.fill([&](std::int64_t i, std::int64_t j) { return x.alpha == 0 ? nan : value<T>(1, i, j); });
  b.fill([&](std::int64_t i, std::int64_t j) { return x.alpha == 0 ? nan : value<T>(2, i, j); });
  c.fill([&](std::int64_t i, std::int64_t j) { return x.beta == 0 ? nan : value<T>(3, i, j); });
  using Real = decltype(std::abs(T()));
  try {
    member.gemm<T>(x.op_a, x.op_b, T(Real(x.alpha)), a.view(), b.view(), T(Real(x.beta)), c.view(),
                   stream.get());
    stream.synchronize();
  } catch (const Error& error) {
    return std::string(error.code() == ErrorCode::unsupported ? "unsupported: " : "error: ") + error.what();
  }
  c.read();
  return fault_of(x, c);
}

}  // namespace tilewright::distributed
