// Refuses invalid calls of LU before any write: sizes, leading dimensions, null addresses, pivots, options.
#pragma once

#include <cstdint>

#include "core/refuse.hpp"
#include "lu/candidates.hpp"

namespace tilewright {

// A matrix argument as it was given.
struct LuMatrix {
  const char* name;  // of the address
  const void* data;
  std::int64_t rows, cols;
  const char* ld_name;
  std::int64_t ld;
  DType dtype;
};

// All throw Error(invalid_argument) naming the argument and its value.
void validate(const LuOptions& options);  // except its candidate
// For calls whose operands are in host memory.
void validate_host(const LuOptions& options, std::span<const LuCandidate> candidates = lu_candidates());
// The leading dimension spans the rows, and the matrix at most 2^60 bytes.
void validate_extent(std::int64_t rows, std::int64_t cols, const char* ld_name, std::int64_t ld, DType dtype);
void validate(const LuMatrix& matrix);
void validate(const LuProblem& problem);
// The pivots of a square factorization: pivots[i - 1] is between i and n.
void validate_pivots(std::int64_t n, const std::int64_t* pivots);
void validate_op(Op op);
// The result does not begin at the address of an operand that is read, unless it has no elements.
void validate_apart(const char* written, const void* to, const char* read, const void* from,
                    std::int64_t elements);

}  // namespace tilewright
