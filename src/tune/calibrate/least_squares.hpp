// Linear least squares as models of time need them: errors are relative, so that a microsecond counts as much
// as a second; coefficients that mean times are never negative; and a fit says how it errs beside how much
// its data scatter. Which terms a model has is the caller's.
#pragma once

#include <string>
#include <vector>

namespace tilewright {

// value = sum of coefficient x term; the spread is the value's own, relative.
struct LeastSquaresRow {
  std::vector<double> terms;
  double value = 0;
  double spread = 0;
};

struct LeastSquaresFit {
  std::vector<double> coefficients;     // 0 where a term was left out
  std::vector<double> standard_errors;  // 0 likewise
  double residual = 0;                  // root of the mean square of relative errors
  double worst = 0;                     // the largest relative error
  double r_squared = 0;                 // of the weighted values
  double noise = 0;                     // root of the mean square of the spreads
  int samples = 0;

  double of(const std::vector<double>& terms) const;
  // Whether the formula misses by more than the scatter of what it was fitted to.
  bool is_worse_than_noise() const;
};

enum class Sign { never_negative, any };

// The coefficients of least weighted error. Terms that would get a negative coefficient, and those that the
// rows cannot tell from others, are left out. Throws Error(invalid_argument) where there are fewer rows than
// terms or a value is not positive.
LeastSquaresFit least_squares(const std::vector<LeastSquaresRow>& rows, Sign sign = Sign::never_negative);

}  // namespace tilewright
