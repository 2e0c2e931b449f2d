// Converts a measured batch between its caller's layout and interleaved blocks. The operands of both are
// given by addresses; the views that the conversions need are built here.
#pragma once

#include "core/problem.hpp"

namespace tilewright {

// Returns the same problems in blocks of `block`, with the same leading dimensions.
GemmProblem interleaved_problem(GemmProblem problem, std::int64_t block);

class BatchConversion {
 public:
  // `from` is a strided or pointer batch, `to` the interleaved_problem() of it.
  BatchConversion(const GemmProblem& from, const GemmProblem& to, int threads)
      : from_(from), to_(to), threads_(threads) {}

  // Converts A, B and, if it is read, C to interleaved blocks.
  void in(const Operands& from, const Operands& to) const;
  // Converts C back to the caller's layout.
  void out(const Operands& to, const Operands& from) const;

 private:
  template <class T, class F>
  void with_view(const void* data, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                 std::int64_t stride, F&& f) const;
  template <class T>
  void matrix_in(const void* from, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                 std::int64_t stride, void* to) const;

  GemmProblem from_, to_;
  int threads_;
};

}  // namespace tilewright
