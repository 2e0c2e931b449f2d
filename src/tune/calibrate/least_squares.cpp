// Column-pivoted QR of the weighted rows. All sets of the few terms are tried for the best non-negative fit.
#include "tune/calibrate/least_squares.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/estimate.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

constexpr std::size_t most_terms = 8;
// An error below these is explained by the scatter, or small.
constexpr double noise_factor = 2, small_error = 0.02;

struct Weighted {
  Eigen::MatrixXd terms;   // each row divided by its value and multiplied by its weight
  Eigen::VectorXd values;  // likewise: the weights
};

// Rows that scatter more than the median weigh less.
Weighted weighted(const std::vector<LeastSquaresRow>& rows) {
  std::vector<double> spreads;
  for (const LeastSquaresRow& row : rows) spreads.push_back(row.spread);
  const double typical = median(spreads);
  Weighted w{Eigen::MatrixXd(Eigen::Index(rows.size()), Eigen::Index(rows.front().terms.size())),
             Eigen::VectorXd(Eigen::Index(rows.size()))};
  for (Eigen::Index i = 0; i < w.values.size(); ++i) {
    const LeastSquaresRow& row = rows[std::size_t(i)];
    const double weight = row.spread > typical ? typical / row.spread : 1;
    w.values[i] = std::max(weight, 0.1);
    for (Eigen::Index j = 0; j < w.terms.cols(); ++j)
      w.terms(i, j) = row.terms[std::size_t(j)] / row.value * w.values[i];
  }
  return w;
}

struct Solution {
  std::vector<Eigen::Index> columns;
  Eigen::VectorXd coefficients, variances;  // of these columns; variances without the data's own factor
  double error = 0;                         // sum of squares
};

// Least squares over these columns, scaled to length 1: terms of m n k and of 1 differ by twelve orders of
// magnitude. Nullopt if the columns are linearly dependent.
std::optional<Solution> solve(const Weighted& w, const std::vector<Eigen::Index>& columns) {
  Eigen::MatrixXd part(w.terms.rows(), Eigen::Index(columns.size()));
  Eigen::VectorXd lengths(part.cols());
  for (Eigen::Index j = 0; j < part.cols(); ++j) {
    lengths[j] = w.terms.col(columns[std::size_t(j)]).norm();
    if (!(lengths[j] > 0)) return std::nullopt;
    part.col(j) = w.terms.col(columns[std::size_t(j)]) / lengths[j];
  }
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(part.rows(), part.cols());
  qr.setThreshold(1e-10);
  qr.compute(part);
  if (qr.rank() < part.cols()) return std::nullopt;
  const Eigen::VectorXd scaled = qr.solve(w.values);
  // (A^T A)^-1 = P R^-1 R^-T P^T
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(part.cols(), part.cols());
  const Eigen::MatrixXd inverse =
      qr.matrixR().topRows(part.cols()).triangularView<Eigen::Upper>().solve(identity);
  const Eigen::VectorXd variances = qr.colsPermutation() * inverse.rowwise().squaredNorm();
  return Solution{columns, scaled.cwiseQuotient(lengths),
                  variances.cwiseQuotient(lengths.cwiseProduct(lengths)),
                  (part * scaled - w.values).squaredNorm()};
}

std::optional<Solution> best_solution(const Weighted& w, Sign sign) {
  std::optional<Solution> best;
  const unsigned sets = 1u << w.terms.cols();
  for (unsigned set = sets - 1; set > 0; --set) {
    std::vector<Eigen::Index> columns;
    for (Eigen::Index j = 0; j < w.terms.cols(); ++j)
      if (set >> j & 1) columns.push_back(j);
    auto found = solve(w, columns);
    if (!found || (sign == Sign::never_negative && found->coefficients.minCoeff() < 0)) continue;
    if (!best || found->error < best->error) best = std::move(found);
  }
  return best;
}

// Relative errors, and the share of the weighted values' variation that the fit explains.
void judge(const std::vector<LeastSquaresRow>& rows, LeastSquaresFit& fit) {
  double squares = 0, spreads = 0, weights = 0, mean = 0;
  for (const LeastSquaresRow& row : rows) {
    const double error = fit.of(row.terms) / row.value - 1;
    squares += error * error, spreads += row.spread * row.spread;
    fit.worst = std::max(fit.worst, std::abs(error));
    weights += 1 / (row.value * row.value), mean += 1 / row.value;
  }
  mean /= weights;
  double variation = 0;
  for (const LeastSquaresRow& row : rows) variation += std::pow((row.value - mean) / row.value, 2);
  const auto count = double(rows.size());
  fit.residual = std::sqrt(squares / count), fit.noise = std::sqrt(spreads / count);
  fit.r_squared = variation > 0 ? 1 - squares / variation : 1;
}

}  // namespace

double LeastSquaresFit::of(const std::vector<double>& terms) const {
  double sum = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i) sum += coefficients[i] * terms[i];
  return sum;
}

bool LeastSquaresFit::is_worse_than_noise() const {
  return residual > std::max(noise_factor * noise, small_error);
}

LeastSquaresFit least_squares(const std::vector<LeastSquaresRow>& rows, Sign sign) {
  const std::size_t terms = rows.empty() ? 0 : rows.front().terms.size();
  if (rows.size() < std::max<std::size_t>(terms, 1) || terms > most_terms)
    throw Error(ErrorCode::invalid_argument, "rows",
                fmt::format("rows = {} are too few for {} terms (at most {} can be fitted)", rows.size(),
                            terms, most_terms));
  for (const LeastSquaresRow& row : rows)
    if (!(row.value > 0) || !std::isfinite(row.value))
      throw Error(ErrorCode::invalid_argument, "rows",
                  fmt::format("rows contains the value {}: relative errors need positive values", row.value));

  const Weighted w = weighted(rows);
  LeastSquaresFit fit;
  fit.samples = int(rows.size());
  fit.coefficients.assign(terms, 0), fit.standard_errors.assign(terms, 0);
  if (const auto best = best_solution(w, sign)) {
    const double freedom = std::max(1.0, double(rows.size()) - double(best->columns.size()));
    for (std::size_t i = 0; i < best->columns.size(); ++i) {
      const auto column = std::size_t(best->columns[i]);
      fit.coefficients[column] = best->coefficients[Eigen::Index(i)];
      fit.standard_errors[column] = std::sqrt(best->variances[Eigen::Index(i)] * best->error / freedom);
    }
  }
  judge(rows, fit);
  return fit;
}

}  // namespace tilewright
