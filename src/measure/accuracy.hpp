// The error of one element, of all checked elements, and of two implementations in comparison.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>

namespace tilewright {

// Deviation of one element: |computed - exact|, the bound of its rounding error, and their ratio.
struct Deviation {
  double error = 0, bound = 0, share = 0;
  bool not_finite = false;  // correctly NaN, or correctly the same infinity
  bool unbounded = false;   // sums of its size overflow, so nothing is promised or compared
};

struct Accuracy {
  double error = 0;  // of the element with the largest error relative to its bound
  double bound = 0;  // of the same element: (k + 4) eps (|alpha| |A| |B| + |beta C|), doubled for complex
  std::int64_t problem_index = -1;  // the problem of that element
  bool gaps_intact = true;          // true if the padding below each column of C is unchanged
  double rms = 0;                   // root mean square of error over bound, over all checked elements
  std::int64_t row = -1, column = -1;
  std::complex<double> got{}, exact{};
  std::int64_t not_finite = 0,
               unbounded = 0;  // counts of elements that `error` and `bound` exclude (Deviation)

  double share() const { return bound > 0 ? error / bound : 0; }
  // Returns "" if the check passed, else what is wrong.
  std::string fault() const {
    if (!gaps_intact) return "it writes outside C";
    if (passed()) return "";
    return fmt::format("error {:.3g} above bound {:.3g} in problem {}", error, bound, problem_index);
  }
  bool passed() const { return error <= bound && gaps_intact; }  // false for NaN
};

// Accumulates the deviations of elements. The caller sets the position and the values of the worst.
class ErrorTally {
 public:
  // Returns true if this element is the worst so far.
  bool add(const Deviation& d) {
    not_finite_ += d.not_finite, unbounded_ += d.unbounded;
    if (d.not_finite || d.unbounded) return false;
    squares_ += d.share * d.share;
    ++count_;
    if (d.share <= worst_share_) return false;
    worst_share_ = d.share;
    worst.error = d.error, worst.bound = d.bound;
    return true;
  }
  void add(const ErrorTally& other) {
    const bool intact = worst.gaps_intact && other.worst.gaps_intact;
    if (other.worst_share_ > worst_share_) worst = other.worst, worst_share_ = other.worst_share_;
    worst.gaps_intact = intact;
    squares_ += other.squares_, count_ += other.count_;
    not_finite_ += other.not_finite_, unbounded_ += other.unbounded_;
  }
  Accuracy accuracy() const {
    Accuracy result = worst;
    result.not_finite = not_finite_, result.unbounded = unbounded_;
    result.rms = count_ == 0 ? 0 : std::sqrt(squares_ / double(count_));
    return result;
  }

  Accuracy worst;

 private:
  double worst_share_ = -1, squares_ = 0;
  std::int64_t count_ = 0, not_finite_ = 0, unbounded_ = 0;
};

// Returns the worse of two checks of one implementation: the one with the larger error relative to its bound.
inline const Accuracy& worse_of(const Accuracy& x, const Accuracy& y) {
  return x.share() > y.share() ? x : y;
}

// Returns the ratio of the root mean square errors of `own` and `peer` on the same problem, which repeats
// within some percent, whereas the largest error varies with the order of a sum. 1 if neither errs, infinite
// if `own` alone does.
inline double error_ratio(const Accuracy& own, const Accuracy& peer) {
  if (peer.rms > 0) return own.rms / peer.rms;
  return own.rms > 0 ? std::numeric_limits<double>::infinity() : 1;
}

}  // namespace tilewright
