// Systems with the factors of an LU in device memory (LAPACK xGETRS): the triangles on the diagonal are
// inverted all at once, and each solve is then products of blocks. Nothing waits on the host.
#pragma once

#include "lu/device/tools.hpp"

namespace tilewright {

struct LuSystemShape {
  DType dtype = DType::f64;
  Op op = Op::none;
  std::int64_t n = 0, nrhs = 0, lda = 0, ldb = 0;
};

struct LuSystemOperands {
  const void* lu = nullptr;
  const long long* pivots = nullptr;
  void* b = nullptr;
  void* workspace = nullptr;  // workspace_bytes(), at a multiple of 256
};

class DeviceLuSystem {
 public:
  // Compiles missing kernels. Throws Error(unsupported) naming the size that cuBLAS cannot count.
  DeviceLuSystem(std::shared_ptr<LuTools> tools, const LuSystemShape& shape);

  const Gpu& gpu() const { return tools_->gpu(); }
  const LuSystemShape& shape() const { return shape_; }
  std::int64_t workspace_bytes() const { return bytes_; }
  // Overwrites B by X, queued on `stream`. By several threads, one at a time.
  void solve(const LuSystemOperands& operands, CUstream_st* stream);

 private:
  // Solves with op(L) or op(U): `other` receives the solution block by block; overwrites `from`.
  void solve_triangle(bool is_lower, bool forwards, const LuBlock& from, const LuBlock& other,
                      CUstream_st* stream);
  void multiply(Op op, std::int64_t m, std::int64_t k, double alpha, const LuBlock& a, const LuBlock& b,
                double beta, const LuBlock& c) {
    tools_->multiply(LuLane::panel, shape_.dtype, op, m, columns_, k, alpha, a, b, beta, c);
  }
  void clear(const LuBlock& block, CUstream_st* stream) const;
  LuBlock lu_at(std::int64_t row, std::int64_t column) const;
  LuBlock rows_of(const LuBlock& block, std::int64_t row) const;
  LuBlock inverse(bool is_lower, std::int64_t block, std::int64_t rows) const;
  std::int64_t element_bytes() const { return size_bytes(shape_.dtype); }
  char* workspace(std::int64_t offset) const { return static_cast<char*>(operands_.workspace) + offset; }
  // Flags, set by the inversion of a block of U, of the groups that must be divided instead.
  int* must_divide(std::int64_t block) const;

  std::shared_ptr<LuTools> tools_;
  LuSystemShape shape_;
  std::int64_t nb_, columns_;  // multiplied at a time: at least the right-hand sides
  const GpuLuSystem& kernels_;
  std::int64_t order_at_ = 0, inverses_at_ = 0, must_divide_at_ = 0, copy_at_ = 0, wide_at_ = 0, blas_at_ = 0,
               bytes_ = 0;
  LuSystemOperands operands_;  // of the solve that is being queued
};

}  // namespace tilewright
