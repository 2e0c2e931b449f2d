// Refuses problems that mean nothing: negative sizes, leading dimensions smaller than the rows, overlapping
// C, spans beyond 64 bits. It sees the description only; pointers are checked where the operands are known.
#pragma once

#include <optional>

#include "core/problem.hpp"

namespace tilewright {

// The first bad field of a problem: its name, its number in the BLAS argument list (BatchInfo), and what is
// wrong.
struct Fault {
  const char* argument;
  int blas_number;
  std::string message;
};

// Numbers of the BLAS xGEMM arguments, which info codes refer to (Dongarra 2017).
namespace blas_number {
inline constexpr int op_a = 1, op_b = 2, m = 3, n = 4, k = 5, alpha = 6, a = 7, lda = 8, b = 9, ldb = 10,
                     beta = 11, c = 12, ldc = 13;
}

// Products are written while A and B are still read.
inline constexpr const char* in_place_reason = "C must not share elements with A or B";

// Sizes and leading dimensions of one matrix multiplication; what every problem of a batch has in common.
std::optional<Fault> find_shape_fault(const GemmProblem& problem);

// All fields, strides, blocks and counts included.
std::optional<Fault> find_fault(const GemmProblem& problem);

// Throws Error(invalid_argument) with the first fault, if any.
void validate(const GemmProblem& problem);

}  // namespace tilewright
