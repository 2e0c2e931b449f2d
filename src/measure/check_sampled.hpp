// Checks products of any size against sums in a wider type, computed once for all implementations: whole
// small problems, or elements at crossings of some rows and columns. check_small checks guards.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/problem.hpp"
#include "measure/accuracy.hpp"
#include "measure/operands.hpp"

namespace tilewright {

// Elements of matrix q of operand 0 (A), 1 (B) or 2 (C) as stored, from (i, j) on, down or across.
struct Stretch {
  int operand = 0;
  std::int64_t q = 0, i = 0, j = 0, count = 0;
  bool across = false;
};

class CheckedOperands {
 public:
  virtual ~CheckedOperands() = default;
  // Reads the elements as they were before any multiplication.
  virtual void before(const Stretch& stretch, void* to) const = 0;
  // Reads the current elements of C.
  virtual void read(const Stretch& stretch, void* to) const = 0;
  virtual void write(const Stretch& stretch, const void* from) const = 0;
  // Waits for queued work.
  virtual void synchronize() const {}
};

// An operand in host memory; `by_pointer`: an array of the addresses of its matrices.
struct HostArray {
  StoredOperand stored;
  const void* data = nullptr;
  bool by_pointer = false;
};
// `c_before` may be another array than `c`; only `c` is written.
std::unique_ptr<CheckedOperands> host_operands(DType dtype, const HostArray& a, const HostArray& b,
                                               const HostArray& c_before, const HostArray& c);

// The checked elements: the same rows and columns of some problems, ascending.
struct Sample {
  std::vector<std::int64_t> problems, rows, columns;
};
// Chooses about `count` of 0 ... size - 1: both ends, in samples of a dozen or more those beside common tile
// edges, and others at random.
std::vector<std::int64_t> places(std::int64_t size, std::int64_t count);
// Samples all elements of up to `most_problems` small problems, spread over the batch with neighbours at both
// ends, or thousands of elements of the first and the last large one.
Sample sample_of(const GemmProblem& problem, std::int64_t most_problems = 64);

class SampledCheck {
 public:
  // Saves C at the sampled places and computes the exact results. The operands must stay where they are.
  SampledCheck(const GemmProblem& problem, std::unique_ptr<CheckedOperands> operands, const Sample& sample,
               std::complex<double> alpha, std::complex<double> beta);
  // Checks operands in host memory.
  SampledCheck(const GemmProblem& problem, const Operands& operands, std::complex<double> alpha,
               std::complex<double> beta);
  ~SampledCheck();
  SampledCheck(SampledCheck&&) noexcept;

  // Restores C in the sampled columns, with NaN if beta = 0 forbids reading it, runs once, compares the
  // sampled elements and the gaps below them, and restores C again for timings. Throws as `run`.
  Accuracy check(const std::function<void()>& run) const;

  struct State;

 private:
  std::unique_ptr<const State> state_;
};

// Compares an existing C with the product of m, n, k, operations and type as in `problem`, without storing
// the exact results: for samples of any size. Rows are consecutive.
Accuracy check_once(const GemmProblem& problem, const CheckedOperands& operands, const Sample& sample,
                    std::complex<double> alpha, std::complex<double> beta, int threads);

}  // namespace tilewright
