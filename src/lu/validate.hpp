// Refuses calls of LU that mean nothing, before anything is written: sizes, leading dimensions, null
// addresses, pivots that no factorization leaves, options.
#pragma once

#include <cstdint>

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
void validate(const LuOptions& options);  // its candidate left out
// Of calls whose operands are in host memory.
void validate_host(const LuOptions& options, std::span<const LuCandidate> candidates = lu_candidates());
void validate_size(const char* name, std::int64_t size);
// That a leading dimension spans the rows, and the columns a size that can be counted.
void validate_extent(std::int64_t rows, std::int64_t cols, const char* ld_name, std::int64_t ld, DType dtype);
void validate(const LuMatrix& matrix);
void validate(const LuProblem& problem);
// Of a square factorization: pivots[i - 1] is between i and n.
void validate_pivots(std::int64_t n, const std::int64_t* pivots);
void validate_op(Op op);
// That what is written does not begin where an operand that is read does; of no elements nothing is asked.
void validate_apart(const char* written, const void* to, const char* read, const void* from,
                    std::int64_t elements);

}  // namespace tilewright
