// The loaded kernels of systems with an LU in device memory, of one type. They validate nothing and wait for
// nothing.
#pragma once

#include "kernel/lu_rows/loader.hpp"

namespace tilewright {

class GpuLuSystem {
 public:
  GpuLuSystem(const Gpu& gpu, const StencilCompiler& compiler, DType dtype);
  // Returns the requests of its kernels: order, take, invert, divide.
  static std::vector<StencilRequest> requests(DType dtype, int capability);

  // Fills order[i] with the row that the swaps bring to row i, for n <= 2^31 - 1.
  void order(const long long* pivots, std::int64_t n, int* order, CUstream_st* stream) const;
  // Copies row order[i] of `from` to row i of `to`, or with `back` the reverse.
  void take(const LuBlock& from, const LuBlock& to, std::int64_t n, std::int64_t columns, const int* order,
            bool back, CUstream_st* stream) const;
  // Inverts the diagonal blocks of nb, at most most_inverted: inverses of L, one after the other, then of U.
  // must_divide receives the input of divide(), lu_inverse_groups(nb) numbers for each block of U.
  void invert(const LuBlock& lu, std::int64_t n, std::int64_t nb, void* inverses, int* must_divide,
              CUstream_st* stream) const;
  // Computes x = inv(op(U)) b by division if a product with the inverse is not accurate enough; else does
  // nothing.
  void divide(Op op, const LuBlock& u, std::int64_t n, std::int64_t columns, const LuBlock& b,
              const LuBlock& x, const int* must_divide, std::int64_t nb, CUstream_st* stream) const;
  static constexpr int most_inverted = 256;

 private:
  const Gpu* gpu_;
  DType dtype_;
  std::vector<GpuModule> modules_;
  GpuFunction order_, take_, invert_, divide_;
  int most_order_bytes_;
};

}  // namespace tilewright
