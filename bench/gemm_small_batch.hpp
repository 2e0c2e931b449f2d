// A batch of small problems as it lies in memory, whatever its layout: where each matrix begins, its sizes,
// and which problems are wrong on purpose. It holds no elements; the check fills and compares them
// (gemm_small_data.hpp), the bench only needs the places.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/problem.hpp"
#include "gemm/device_traffic.hpp"

namespace tilewright::bench {

struct SmallCase {
  GemmProblem problem;        // of a variable batch m, n, k are the largest sizes
  bool scalars_vary = false;  // alpha and beta per problem
  std::int64_t smallest = 1;  // of sizes that vary
  bool square = false;        // sizes that vary are m = n = k
  bool any_alignment =
      false;            // matrices of pointer batches begin at any element, else at multiples of 32 bytes
  bool gaps = false;    // leading dimensions of a variable batch may exceed the rows
  bool faults = false;  // some problems of a pointer batch are wrong
  int shift = 0;        // elements from an aligned address to the begin of packed operands
};

struct SmallMatrix {
  std::int64_t at = 0;                 // of its first element, from the operand's base
  std::int64_t rows = 0, columns = 0;  // as stored
  std::int64_t ld = 0;
  std::int64_t step = 1;  // from one element of a column to the next

  std::int64_t place(std::int64_t i, std::int64_t j) const { return at + (j * ld + i) * step; }
};

enum class SmallFault : unsigned char { none, null_a, null_b, null_c, bad_m, bad_lda, large_n };

class SmallBatch {
 public:
  SmallBatch(const SmallCase& one, std::int64_t count, std::mt19937& random);

  const SmallCase& one() const { return case_; }
  std::int64_t count() const { return count_; }
  bool by_pointer() const;
  bool sizes_vary() const { return case_.problem.layout == Layout::variable; }

  // Problem q with its own sizes and leading dimensions.
  GemmProblem problem(std::int64_t q) const;
  // Operand 0 is A, 1 is B, 2 is C.
  SmallMatrix matrix(int operand, std::int64_t q) const;
  std::int64_t elements(int operand) const { return elements_[operand]; }
  // Problems whose matrices are stored: a last block of an interleaved batch is stored whole.
  std::int64_t stored() const;

  SmallFault fault(std::int64_t q) const {
    return faults_.empty() ? SmallFault::none : faults_[static_cast<std::size_t>(q)];
  }
  // What info receives where alpha is not zero.
  int code(std::int64_t q) const;

  // What must move, in whole sectors of 32 bytes, addresses and sizes included.
  GpuTraffic traffic() const;
  double flop_count() const;

  // Sizes as the device reads them: m, n, k, lda, ldb, ldc.
  const std::vector<std::int64_t>& sizes(int which) const { return sizes_[which]; }

 private:
  void draw_sizes(std::mt19937& random);
  void scatter();

  SmallCase case_;
  std::int64_t count_;
  std::int64_t elements_[3] = {};
  std::vector<std::int64_t> places_[3];  // of pointer batches
  std::vector<std::int64_t> sizes_[6];   // of variable batches
  std::vector<SmallFault> faults_;
};

}  // namespace tilewright::bench
