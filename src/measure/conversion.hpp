// A measured batch converted between the layout its caller has it in and interleaved blocks: the operands of
// both are addresses, and the views that the conversions want are made of them here.
#pragma once

#include "core/problem.hpp"

namespace tilewright {

// The same problems in blocks of `block`, with the same leading dimensions.
GemmProblem interleaved_problem(GemmProblem problem, std::int64_t block);

class BatchConversion {
 public:
  // `from` is a strided or pointer batch, `to` what interleaved_problem() makes of it.
  BatchConversion(const GemmProblem& from, const GemmProblem& to, int threads)
      : from_(from), to_(to), threads_(threads) {}

  // A, B and, where it is read, C.
  void in(const Operands& from, const Operands& to) const;
  // C, back to where it came from.
  void out(const Operands& to, const Operands& from) const;

 private:
  template <class T>
  void matrix_in(const void* from, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                 std::int64_t stride, void* to) const;

  GemmProblem from_, to_;
  int threads_;
};

}  // namespace tilewright
