// Measures how well a model trained on a part of a sweep predicts time and energy of the rest (the outlook of
// Anzt 2015, section 4): the tuner's own surrogate, trained on random parts and evaluated on unseen configs.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analyze/data.hpp"

namespace tilewright {

struct Prediction {
  std::size_t trained = 0, asked = 0;  // numbers of configs
  double median_error = 0,
         high_error = 0;  // errors of the unseen configs' energy: shares, the median and the 90th percentile
  double mean_error = 0;  // the median error of always predicting the training's geometric mean
  double rank = 0;        // Spearman's coefficient of predicted and measured
  double regret = 0;      // cost of the config predicted as best over the best unseen one, minus 1
};

struct PredictionFlags {
  std::vector<double> shares = {0.05, 0.1, 0.2, 0.4};  // shares of the points used for training
  int rounds = 5;                                      // random parts for each share; medians are reported
  // The most configs in the training, which costs the cube of this.
  std::size_t most = 300;
  unsigned seed = 1;
  // Called during the training, which is slow.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};
// Returns a prediction for each share. `costs` are positive, one for each config; all configs have the same
// fields.
std::vector<Prediction> predict_unseen(const std::vector<nlohmann::json>& configs,
                                       const std::vector<double>& costs, const PredictionFlags& flags = {});

}  // namespace tilewright
