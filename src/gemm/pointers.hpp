// The addresses of pointer batches: finds invalid problems (null pointers and, in checked mode, matrices C
// that share elements) and gathers the others. Batches without such problems are used in place.
#pragma once

#include <vector>

#include "core/problem.hpp"
#include "core/product/faults.hpp"

namespace tilewright {

// The bytes of one C.
struct Extent {
  const char* begin = nullptr;
  std::int64_t column_bytes = 0;  // without the gap between columns
  std::int64_t ld_bytes = 0;
  std::int64_t cols = 0;
  std::int64_t problem_index = 0;
};
inline Extent extent_of(const void* c, const GemmProblem& p, std::int64_t problem_index) {
  const std::int64_t size = size_bytes(p.dtype);
  return {static_cast<const char*>(c), p.m * size, p.ldc * size, p.n, problem_index};
}

struct Overlap {
  std::int64_t problem_index = 0;  // the later of the two problems
  std::int64_t other_index = 0;
};

// Returns every problem that overlaps one with a lower number; without them no two overlap. Tiles of one
// large matrix interleave in memory without sharing elements and are accepted. O(n log n), with one entry per
// matrix, or one per column if the extents of matrices interleave.
std::vector<Overlap> find_overlaps(const std::vector<Extent>& extents);
Fault overlap_fault(const Overlap& overlap, const ArgumentNames& names);

struct BadProblem {
  std::int64_t index = 0;
  Fault fault;
};

// One fault per bad problem, by index. A and B may be null if not read. `checked` finds overlaps, too.
std::vector<BadProblem> find_bad_problems(const GemmProblem& problem, const Operands& operands, bool checked,
                                          const ArgumentNames& names = argument_names);

// Copies of the pointers, and of alphas and betas per problem, without the bad problems.
class GoodProblems {
 public:
  GoodProblems(const GemmProblem& problem, const Operands& operands, const std::vector<BadProblem>& bad);

  const GemmProblem& problem() const { return problem_; }  // with the count of good problems
  Operands operands() const;

 private:
  GemmProblem problem_;
  Operands source_;
  std::vector<const void*> a_, b_, c_;
  std::vector<char> alpha_, beta_;
};

}  // namespace tilewright
