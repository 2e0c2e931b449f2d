// A Gaussian process over the points of a search: from the costs measured so far it predicts mean and
// deviation of every other point. Costs enter as logarithms, since what tuning changes multiplies time. It
// proposes nothing; that is the model strategy's part.
#pragma once

#include <cstddef>
#include <vector>

#include "tune/points.hpp"

namespace tilewright {

class Surrogate {
 public:
  explicit Surrogate(const PointSet& points);

  // A new observation; work proportional to observations x points.
  void add(std::size_t point, double log_cost);
  // Chooses how far each axis reaches by the likelihood of the observations, and starts over with that.
  void refit();

  double mean(std::size_t point) const { return centre_ + scale_ * mean_[point]; }
  double deviation(std::size_t point) const;  // of the value itself, noise left out

 private:
  using Reach = std::vector<double>;  // per axis: how fast likeness is lost with distance; 0 = no matter

  double likeness(std::size_t x, std::size_t y, const Reach& reach) const;
  // Minus the logarithm of the marginal likelihood of the observations.
  double surprise(const Reach& reach) const;
  void restart();
  void append(std::size_t observation);
  void predict();

  const PointSet& points_;
  std::vector<double> coordinates_;  // points x axes, each axis from 0 to 1
  Reach reach_;
  std::vector<std::size_t> observed_;
  std::vector<double> values_;
  double centre_ = 0, scale_ = 1;
  std::vector<std::vector<double>> factor_;  // rows of L, with L L^T the covariance of the observations
  std::vector<std::vector<double>> solved_;  // L^-1 times the covariances with all points, row by row
  std::vector<double> variance_, mean_;
};

}  // namespace tilewright
