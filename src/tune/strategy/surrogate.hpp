// A Gaussian process over the points of a search: predicts the mean and deviation of every point from the
// costs measured so far. Costs are logarithms, because configs multiply time.
#pragma once

#include <cstddef>
#include <vector>

#include "tune/strategy/strategy.hpp"

namespace tilewright {

class Surrogate {
 public:
  explicit Surrogate(const PointSet& points);

  // A new observation; work proportional to observations x points.
  void add(std::size_t point, double log_cost);
  // Refits the reach of each axis by the likelihood of the observations.
  void refit();

  double mean(std::size_t point) const { return centre_ + scale_ * mean_[point]; }
  double deviation(std::size_t point) const;  // of the value, without noise

 private:
  using Reach = std::vector<double>;  // per axis: decay of likeness with distance; 0: none

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
