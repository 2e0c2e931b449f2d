// A case and its operands: a GemmProblem laid out in guarded memory with known contents, the expected result,
// and the check of all memory that was and was not to be written. It runs nothing.
#pragma once

#include <string>
#include <vector>

#include "core/problem.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "support/oracle.hpp"
#include "support/pages.hpp"

namespace tilewright::testing {

// exact: small multiples of a power of two, whose sums are exact in every type and compared with ==.
// random: uniform in [-1, 1), compared within the oracle's bound.
enum class Data : std::uint8_t { exact, random };

// The source of the values of alpha or beta. The problem's Scalar class must agree: per_problem is general.
// mixed_zero is per_problem with zeros among the values.
enum class ScalarSource : std::uint8_t { uniform, per_problem, mixed_zero };

struct Case {
  GemmProblem problem;  // strides and leading dimensions filled in
  ScalarSource alpha = ScalarSource::uniform;
  ScalarSource beta = ScalarSource::uniform;
  Data data = Data::exact;
  Edge edge = Edge::end;
  std::uint64_t seed = 1;
};
std::string to_string(const Case& c);

// One operand in memory, with the place of element (i, j) of problem p. Pointer batches get guard pages
// around each matrix.
template <class T>
class Operand {
 public:
  // `strides` of each level of a strided batch, the innermost first.
  Operand(const GemmProblem& problem, std::int64_t rows, std::int64_t cols, std::int64_t ld,
          const std::array<std::int64_t, 3>& strides, Edge edge);

  // Element (i, j) of problem p is column(p, j)[i * row_step()].
  T* column(std::int64_t p, std::int64_t j) const;
  std::int64_t row_step() const { return interleaved() ? block_ : 1; }
  T& at(std::int64_t p, std::int64_t i, std::int64_t j) const { return column(p, j)[i * row_step()]; }

  T* base() const { return reinterpret_cast<T*>(pages_.data()); }
  T** pointers() const { return reinterpret_cast<T**>(pointer_pages_.data()); }

  const GuardedPages& pages() const { return pages_; }
  const GuardedPages& pointer_pages() const { return pointer_pages_; }
  bool interleaved() const { return layout_ == Layout::interleaved || layout_ == Layout::block_interleaved; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  // Returns the number of problems that have memory of their own: 1 if broadcast.
  std::int64_t stored_count() const { return stored_count_; }
  // Returns stored_count plus the unused slots of the last interleaved block.
  std::int64_t slot_count() const {
    return interleaved() ? (stored_count_ + block_ - 1) / block_ * block_ : stored_count_;
  }

 private:
  std::int64_t extent() const;
  // For a strided batch, returns the distance from the first matrix to the p-th.
  std::int64_t distance(std::int64_t p) const;

  Layout layout_;
  std::int64_t rows_, cols_, ld_, block_;
  std::array<std::int64_t, 3> strides_, counts_;
  std::int64_t stored_count_;
  GuardedPages pages_;
  GuardedPages pointer_pages_;
};

template <class T>
class Batch {
 public:
  explicit Batch(const Case& c);

  const GemmProblem& problem() const { return case_.problem; }
  Edge edge() const { return case_.edge; }
  const Operand<T>& a() const { return a_; }
  const Operand<T>& b() const { return b_; }
  const Operand<T>& c() const { return c_; }
  T alpha(std::int64_t p) const { return alpha_[case_.alpha == ScalarSource::uniform ? 0 : p]; }
  T beta(std::int64_t p) const { return beta_[case_.beta == ScalarSource::uniform ? 0 : p]; }
  // Returns null unless values are per problem; otherwise the array ends at an inaccessible page.
  const T* alphas() const { return case_.alpha == ScalarSource::uniform ? nullptr : alpha_; }
  const T* betas() const { return case_.beta == ScalarSource::uniform ? nullptr : beta_; }

  GemmSmallCpuArguments kernel_args(const GemmSmallCpuKernel& kernel) const;
  Operands operands() const;

  // Restores C to its contents before the first run.
  void reset();
  // Returns "" if C is right and nothing else has changed; otherwise one line on the worst element or the
  // first stray byte. Leaves C reset.
  std::string check();
  // Returns the bytes of C's matrices in order, to compare two runs.
  std::vector<std::byte> snapshot() const;
  // Returns the operand that an address lies in or next to; empty if none.
  std::string locate(const void* address) const;

 private:
  void fill_inputs();
  void fill_c();
  void expect();
  std::string check_values() const;
  std::string check_untouched();

  Case case_;
  Operand<T> a_, b_, c_;
  GuardedPages alpha_pages_, beta_pages_;
  T* alpha_ = nullptr;
  T* beta_ = nullptr;
  std::vector<std::byte> pristine_;    // every accessible byte of C's pages
  std::vector<Expected<T>> expected_;  // n * m per problem
};

extern template class Batch<float>;
extern template class Batch<double>;
extern template class Batch<std::complex<float>>;
extern template class Batch<std::complex<double>>;

}  // namespace tilewright::testing
