// Linear least squares for models of time: errors are relative, so that a microsecond counts as much as a
// second; coefficients, which mean times, are never negative; fits report error and scatter.
#pragma once

#include <vector>

#include "core/fields.hpp"

namespace tilewright {

// value = sum of coefficient x term; the spread is relative to the value.
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
  // True if the formula errs by more than the scatter of its data.
  bool is_worse_than_noise() const;
};
TILEWRIGHT_FIELDS(LeastSquaresFit, coefficients, standard_errors, residual, worst, r_squared, noise, samples);

enum class Sign { never_negative, any };

// The coefficients of least weighted error. Terms with negative coefficients, and indistinguishable ones, are
// left out. Throws Error(invalid_argument) for fewer rows than terms or a value that is not positive.
LeastSquaresFit least_squares(const std::vector<LeastSquaresRow>& rows, Sign sign = Sign::never_negative);

}  // namespace tilewright
