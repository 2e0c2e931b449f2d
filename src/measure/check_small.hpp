// Checks a kernel: every element of a small batch in any layout is compared with plain loops in a wider type.
// All other memory is NaN: guards, gaps, a C that beta = 0 and inputs that alpha = 0 must not read. Nothing
// outside C may change, and faulty problems get their codes and affect no other.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "core/problem.hpp"
#include "measure/accuracy.hpp"
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

// A batch of small problems as it lies in memory, whatever its layout. It holds no elements.
class CheckedBatch {
 public:
  CheckedBatch(const SmallCase& one, std::int64_t count, std::mt19937& random);

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
  // The number of problems whose matrices are stored: the last block of an interleaved batch is stored whole.
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

// Memory that a kernel reads and writes, on the host or on a device.
class CheckMemory {
 public:
  virtual ~CheckMemory() = default;
  // Copies these bytes to an address that is a multiple of 256.
  virtual std::shared_ptr<std::byte> place(const void* from, std::size_t bytes) const = 0;
  // Reads bytes after waiting for the work that writes them.
  virtual void read(void* to, const std::byte* from, std::size_t bytes) const = 0;
};

class HostMemory : public CheckMemory {
 public:
  std::shared_ptr<std::byte> place(const void* from, std::size_t bytes) const override;
  void read(void* to, const std::byte* from, std::size_t bytes) const override;
};

struct CheckResult {
  std::string fault;  // "" = none, else where and what is wrong
  Accuracy accuracy;
};

class SmallCheck {
 public:
  // Prepares `count` problems of the case and their exact results, once for all kernels.
  SmallCheck(const SmallCase& one, std::int64_t count, unsigned seed = 12345);
  // Checks the problem with its own batch count.
  explicit SmallCheck(const GemmProblem& problem) : SmallCheck({.problem = problem}, problem.batch_count) {}
  ~SmallCheck();
  SmallCheck(SmallCheck&&) noexcept;
  SmallCheck& operator=(SmallCheck&&) noexcept;

  const CheckedBatch& batch() const;
  // `run` multiplies, or queues the multiplication on the default stream. alpha and beta lie on the host;
  // per-problem scalars, sizes and codes lie in `memory` like everything else.
  CheckResult run(const CheckMemory& memory, const std::function<void(const Operands&)>& run) const;

  struct State;

 private:
  std::unique_ptr<const State> state_;
};

}  // namespace tilewright
