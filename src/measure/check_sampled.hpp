// Is a product of any size right? Whole problems of a batch of small ones, or the elements where some rows
// and columns of large ones cross, edges and ends among them, are held against sums in a wider type, computed
// once for all implementations. Where the operands lie, on the host or a device, is CheckedOperands' matter;
// guards and NaN around them are check_small's.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/problem.hpp"
#include "measure/accuracy.hpp"
#include "measure/operands.hpp"

namespace tilewright {

// Neighbouring elements of matrix q of operand 0 (A), 1 (B) or 2 (C), as stored: from (i, j) on, down the
// column or across the row.
struct Stretch {
  int operand = 0;
  std::int64_t q = 0, i = 0, j = 0, count = 0;
  bool across = false;
};

class CheckedOperands {
 public:
  virtual ~CheckedOperands() = default;
  // The elements as they were before anybody multiplied.
  virtual void before(const Stretch& stretch, void* to) const = 0;
  // Those of C as they are now.
  virtual void read(const Stretch& stretch, void* to) const = 0;
  virtual void write(const Stretch& stretch, const void* from) const = 0;
  // Waits for what was queued.
  virtual void synchronize() const {}
};

// An operand in host memory; `by_pointer`: an array of addresses of its matrices.
struct HostArray {
  StoredOperand stored;
  const void* data = nullptr;
  bool by_pointer = false;
};
// `c_before` may be another array than `c`, which alone is written.
std::unique_ptr<CheckedOperands> host_operands(DType dtype, const HostArray& a, const HostArray& b,
                                               const HostArray& c_before, const HostArray& c);

// What is looked at: the same rows and columns of some problems, ascending.
struct Sample {
  std::vector<std::int64_t> problems, rows, columns;
};
// About `count` of 0 ... size - 1 or all there are: the first, the last, of a dozen or more those beside
// common tile edges, others at random.
std::vector<std::int64_t> places(std::int64_t size, std::int64_t count);
// All elements of up to `most_problems` small problems, spread over the batch with neighbours at both ends;
// thousands of elements of the first and the last large one, so that errors tell two implementations apart.
Sample sample_of(const GemmProblem& problem, std::int64_t most_problems = 64);

class SampledCheck {
 public:
  // Keeps C at the sampled places and computes what must come out. The operands must stay where they are.
  SampledCheck(const GemmProblem& problem, std::unique_ptr<CheckedOperands> operands, const Sample& sample,
               std::complex<double> alpha, std::complex<double> beta);
  // Of operands in host memory.
  SampledCheck(const GemmProblem& problem, const Operands& operands, std::complex<double> alpha,
               std::complex<double> beta);
  ~SampledCheck();
  SampledCheck(SampledCheck&&) noexcept;

  // Puts the first contents of C back into the sampled columns, or NaN where beta = 0 forbids reading them,
  // runs once, compares the sampled elements and the gaps below them, and leaves the first contents behind,
  // so that nothing timed later meets NaN. Throws what `run` throws.
  Accuracy check(const std::function<void()>& run) const;

  struct State;

 private:
  std::unique_ptr<const State> state_;
};

// Compares a C that is there already with the product of m, n, k, operations and type as in `problem`, and
// keeps nothing: for samples of any size. Rows are neighbours.
Accuracy check_once(const GemmProblem& problem, const CheckedOperands& operands, const Sample& sample,
                    std::complex<double> alpha, std::complex<double> beta, int threads);

}  // namespace tilewright
