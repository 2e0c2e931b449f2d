// A batch of small problems as it lies in memory, whatever its layout: where each matrix begins, its sizes,
// and which problems are deliberately wrong. It holds no elements; check_small fills and compares them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "core/problem.hpp"
#include "measure/operands.hpp"

namespace tilewright {

struct SmallCase {
  GemmProblem problem;         // in a variable batch m, n, k are the largest sizes
  bool scalars_vary = false;   // alpha and beta per problem
  std::int64_t smallest = 1;   // of sizes that vary
  bool square = false;         // sizes that vary are m = n = k
  bool any_alignment = false;  // matrices of pointer batches begin at any element, otherwise at whole sectors
  bool gaps = false;           // leading dimensions of a variable batch may exceed the rows
  bool faults = false;         // some problems of a pointer batch are deliberately wrong
  int shift = 0;               // elements from an aligned address to the beginning of packed operands

  friend bool operator==(const SmallCase&, const SmallCase&) = default;
};

enum class SmallFault : unsigned char { none, null_a, null_b, null_c, bad_m, bad_lda, large_n };

class SmallBatch {
 public:
  SmallBatch(const SmallCase& one, std::int64_t count, std::mt19937& random);

  const SmallCase& one() const { return case_; }
  std::int64_t count() const { return count_; }
  bool by_pointer() const;
  bool sizes_vary() const { return case_.problem.layout == Layout::variable; }

  // Return the first of the problems that share problem q's C, and their number.
  std::int64_t first_of_sum(std::int64_t q) const { return q / run() * run(); }
  std::int64_t products_of_sum(std::int64_t q) const { return std::min(run(), count_ - first_of_sum(q)); }

  // Returns problem q with its own sizes and leading dimensions.
  GemmProblem problem(std::int64_t q) const;
  // Returns the layout of matrix q alone of operand 0 (A), 1 (B) or 2 (C), from the operand's base.
  StoredOperand matrix(int operand, std::int64_t q) const;
  std::int64_t elements(int operand) const { return elements_[operand]; }
  // Returns the number of problems whose matrices are stored: the last block of an interleaved batch is
  // stored whole.
  std::int64_t stored() const;

  SmallFault fault(std::int64_t q) const {
    return faults_.empty() ? SmallFault::none : faults_[std::size_t(q)];
  }
  // Returns an array of sizes as the device reads them: m, n, k, lda, ldb, ldc.
  const std::vector<std::int64_t>& sizes(int which) const { return sizes_[which]; }

 private:
  // Returns how many consecutive problems share one C.
  std::int64_t run() const {
    return case_.problem.sums == Sums::batch_reduce ? std::max<std::int64_t>(1, count_)
                                                    : products_per_c(case_.problem);
  }
  void draw_sizes(std::mt19937& random);
  void scatter();

  SmallCase case_;
  std::int64_t count_;
  std::int64_t elements_[3] = {};
  std::vector<std::int64_t> places_[3];  // of pointer batches
  std::vector<std::int64_t> sizes_[6];   // of variable batches
  std::vector<SmallFault> faults_;
};

}  // namespace tilewright
