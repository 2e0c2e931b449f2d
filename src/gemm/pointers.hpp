// The operands of a pointer batch: finds the problems that cannot be run (null pointers and, in checked mode,
// overlapping C) and gathers the others. Batches without such problems are used where they are.
#pragma once

#include <vector>

#include "core/problem.hpp"
#include "core/product/faults.hpp"
#include "gemm/overlap.hpp"

namespace tilewright {

struct BadProblem {
  std::int64_t index = 0;
  Fault fault;
};

// Tells that a problem's C overlaps that of another one.
Fault overlap_fault(const Overlap& overlap, const ArgumentNames& names);

// In order of index, one fault each. A and B may be null where they are not read. `checked` looks for
// overlaps as well.
std::vector<BadProblem> find_bad_problems(const GemmProblem& problem, const Operands& operands, bool checked,
                                          const ArgumentNames& names = argument_names);

// Copies of the pointers, and of the alphas and betas when there is one per problem, without the bad
// problems.
class GoodProblems {
 public:
  GoodProblems(const GemmProblem& problem, const Operands& operands, const std::vector<BadProblem>& bad);

  const GemmProblem& problem() const { return problem_; }  // with the count of what is left
  Operands operands() const;

 private:
  GemmProblem problem_;
  Operands source_;
  std::vector<const void*> a_;
  std::vector<const void*> b_;
  std::vector<const void*> c_;
  std::vector<char> alpha_;
  std::vector<char> beta_;
};

}  // namespace tilewright
