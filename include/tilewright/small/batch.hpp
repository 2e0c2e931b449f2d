/// @file
/// Batch<T, M, N>: `count` matrices of one compile-time size, owned, one behind the other; and the product of
/// batches. Sizes are part of the type, so a batch of another shape is another type and mismatched products
/// do not compile. small.hpp includes this header.
/// @par Memory A Batch owns its elements; views of it are valid until it is moved from, assigned to or
/// destroyed.
/// @par Threads Different threads may use different Batches, or different matrices of one.
/// @par Errors Constructors throw Error(invalid_argument) for a negative count and std::bad_alloc; products
/// throw
///   as their comment says.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "tilewright/small/multiply.hpp"

namespace tilewright {
namespace small {

template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: containers rebind
  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) raise(std::bad_array_new_length());
    return static_cast<T*>(::operator new(count * sizeof(T), alignment));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, alignment); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

}  // namespace small

/// One column-major M x N matrix of a Batch, packed; T is const in a const batch.
template <class T, std::int64_t M, std::int64_t N>
class BatchItem {
 public:
  static constexpr std::int64_t rows = M;
  static constexpr std::int64_t cols = N;
  static constexpr std::int64_t ld = M;

  /// Makes a view of the matrix at `data`, which data() returns; (i, j) is an element. Nothing is thrown.
  constexpr explicit BatchItem(T* data) : data_(data) {}
  constexpr T* data() const { return data_; }
  constexpr T& operator()(std::int64_t i, std::int64_t j) const { return data_[i + j * M]; }
  constexpr operator MatrixView<T>() const { return {data_, M, N, M}; }

 private:
  T* data_;
};

/// `size()` matrices of M x N elements, packed and column-major, `stride` elements apart, 64-byte aligned.
template <small::Element T, std::int64_t M, std::int64_t N>
class Batch {
 public:
  static_assert(M > 0 && N > 0, "a matrix has rows and columns");
  using value_type = T;
  static constexpr std::int64_t rows = M;
  static constexpr std::int64_t cols = N;
  static constexpr std::int64_t stride = M * N;

  Batch() = default;
  /// Makes `count` matrices of zeros.
  explicit Batch(std::int64_t count) : data_(checked(count)) {}

  /// Return the number of matrices, the address of the first element, and matrix p.
  std::int64_t size() const { return static_cast<std::int64_t>(data_.size()) / stride; }
  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }
  BatchItem<T, M, N> operator[](std::int64_t p) { return BatchItem<T, M, N>(data() + p * stride); }
  BatchItem<const T, M, N> operator[](std::int64_t p) const {
    return BatchItem<const T, M, N>(data() + p * stride);
  }

  /// Converts to a view for the functions of gemm.hpp.
  operator StridedBatch<T>() { return {{data(), M, N, M}, stride, size()}; }
  operator StridedBatch<const T>() const { return {{data(), M, N, M}, stride, size()}; }

 private:
  static std::size_t checked(std::int64_t count) {
    if (count < 0)
      raise(Error(ErrorCode::invalid_argument, "count", "count = " + std::to_string(count) + " is negative"));
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(stride);
  }

  std::vector<T, small::AlignedAllocator<T>> data_;
};

namespace small {

// Problems first .. last - 1; where several tiny problems fill a vector they are multiplied together.
template <int M, int N, int K, Op OpA, Op OpB, class T>
TILEWRIGHT_INLINE void multiply_range(T alpha, const T* a, const T* b, T beta, T* c, std::int64_t first,
                                      std::int64_t last) {
  std::int64_t p = first;
  constexpr Config config = chosen_config<M, N, K, OpA, OpB, T>;
  if constexpr (OpA == Op::none && OpB == Op::none && can_be_flat(shape_of<T, M, N, K>(), native_isa)) {
    using Widest = Flat<T, M, native_isa.vector_bytes / static_cast<int>(sizeof(T))>;
    for (; p + Widest::problems <= last; p += Widest::problems)
      Widest::run(alpha, a + p * M * K, b + p * K * N, beta, c + p * M * N);
  }
  for (; p < last; ++p)
    multiply_as<config, M, N, K, OpA, OpB, T>(alpha, a + p * M * K, OpA == Op::none ? M : K, b + p * K * N,
                                              OpB == Op::none ? K : N, beta, c + p * M * N, M);
}

inline void require_count(const char* name, std::int64_t count, std::int64_t expected) {
  if (count != expected)
    raise(Error(ErrorCode::invalid_argument, name,
                std::string(name) + " has " + std::to_string(count) + " matrices and c has " +
                    std::to_string(expected)));
}

inline void require_threads(int threads) {
  if (threads < 0)
    raise(Error(ErrorCode::invalid_argument, "threads",
                "threads = " + std::to_string(threads) + " is negative"));
}

}  // namespace small

/// C[p] = alpha * op(A[p]) * op(B[p]) + beta * C[p] for every p.
/// @par Threads threads = 1 stays on the calling thread; more, or 0 for OpenMP's default, divide the
/// problems.
/// @throws Error invalid_argument naming a batch whose count differs from C's or a negative `threads`;
///   unsupported for several threads if the caller is compiled without OpenMP.
template <Op OpA = Op::none, Op OpB = Op::none, small::Element T, std::int64_t RowsA, std::int64_t ColsA,
          std::int64_t RowsB, std::int64_t ColsB, std::int64_t M, std::int64_t N>
TILEWRIGHT_INLINE void gemm(std::type_identity_t<T> alpha, const Batch<T, RowsA, ColsA>& a,
                            const Batch<T, RowsB, ColsB>& b, std::type_identity_t<T> beta, Batch<T, M, N>& c,
                            int threads = 1) {
  constexpr std::int64_t K = OpA == Op::none ? ColsA : RowsA;
  static_assert((OpA == Op::none ? RowsA : ColsA) == M, "op(A) has as many rows as C");
  static_assert((OpB == Op::none ? ColsB : RowsB) == N, "op(B) has as many columns as C");
  static_assert((OpB == Op::none ? RowsB : ColsB) == K, "op(A) has as many columns as op(B) has rows");
  small::require_count("a", a.size(), c.size());
  small::require_count("b", b.size(), c.size());
  const std::int64_t count = c.size();
  const T* a_data = a.data();
  const T* b_data = b.data();
  T* c_data = c.data();
  if (alpha == T(0)) {
    for (std::int64_t p = 0; p < count; ++p) small::scale_only<M, N>(beta, c_data + p * M * N, M);
    return;
  }
  if (threads == 1) {
    small::multiply_range<M, N, K, OpA, OpB, T>(alpha, a_data, b_data, beta, c_data, 0, count);
    return;
  }
  small::require_threads(threads);
#if defined(_OPENMP)
  constexpr std::int64_t share =
      256;  // problems per turn: small enough to balance, large enough not to count
  const std::int64_t turns = (count + share - 1) / share;
#pragma omp parallel for schedule(static) num_threads(threads > 0 ? threads : omp_get_max_threads())
  for (std::int64_t turn = 0; turn < turns; ++turn)
    small::multiply_range<M, N, K, OpA, OpB, T>(alpha, a_data, b_data, beta, c_data, turn * share,
                                                (std::min)(count, (turn + 1) * share));
#else
  raise(Error(ErrorCode::unsupported, "threads",
              "threads = " + std::to_string(threads) + " needs a caller compiled with OpenMP"));
#endif
}

}  // namespace tilewright
