// Did an implementation compute the right numbers? Some problems of a batch are computed again in extended
// precision and compared with what it wrote, element by element, against a rounding bound; gaps and
// surroundings of C must be untouched. Every implementation passes this before its time counts.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>

#include "core/problem.hpp"

namespace tilewright {

struct Accuracy {
  double error = 0;  // |computed - exact| of the element closest to or furthest beyond its bound
  double bound = 0;  // of the same element: (k + 4) eps (|alpha| |A| |B| + |beta C|), doubled for complex
  std::int64_t problem_index = -1;
  bool gaps_intact = true;  // the padding below each column of C
  double rms = 0;           // root mean square of error over bound, of all elements that were looked at
  bool passed() const { return error <= bound && gaps_intact; }  // false for NaN
};

// How many times as much `ours` errs as `peer` on the same problem, by root mean squares: of thousands of
// elements they repeat within some percent, where the largest moves by more with the order of a sum alone. 1
// where neither errs, infinite where ours alone does.
double error_ratio(const Accuracy& ours, const Accuracy& peer);

class AccuracyCheck {
 public:
  // Chooses problems of the batch (the first, the last and some between, as many as a fixed amount of work
  // allows), keeps their C and computes what must come out. The operands must stay where they are.
  AccuracyCheck(const GemmProblem& problem, const Operands& operands, std::complex<double> alpha,
                std::complex<double> beta);
  ~AccuracyCheck();
  AccuracyCheck(AccuracyCheck&&) noexcept;

  // Puts the first contents of C back into the chosen problems, or NaN where beta = 0 forbids reading them.
  void restore() const;
  // Compares the chosen problems; then call restore() again before the next implementation.
  Accuracy compare() const;
  // Puts ordinary numbers back, so that nothing timed later meets NaN.
  void finish() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
  bool reads_c_ = true;
};

}  // namespace tilewright
