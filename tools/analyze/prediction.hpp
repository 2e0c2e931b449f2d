// How well a model that saw a part of a sweep predicts time and energy of the rest (the outlook of Anzt 2015,
// section 4): the tuner's own surrogate, trained on random parts and asked for the configs it did not see.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analyze/data.hpp"

namespace tilewright {

struct Prediction {
  std::size_t trained = 0, asked = 0;  // configs
  double median_error = 0,
         high_error = 0;  // of the unseen ones' energy: shares, the median and the 90th percentile
  double mean_error = 0;  // the median error of always answering the training's geometric mean
  double rank = 0;        // Spearman's coefficient of predicted and measured
  double regret = 0;      // what the config predicted as best costs over the best unseen one, - 1
};

struct PredictionFlags {
  std::vector<double> shares = {0.05, 0.1, 0.2, 0.4};  // of the points that are trained on
  int rounds = 5;                                      // random parts for each share; medians are given
  std::size_t most = 300;                              // training costs the cube of this
  unsigned seed = 1;
  std::function<void(std::size_t done, std::size_t of)> progress = {};  // training takes its time
};
// For each share. `costs` are positive, one for each config; all configs have the same fields.
std::vector<Prediction> predict_unseen(const std::vector<nlohmann::json>& configs,
                                       const std::vector<double>& costs, const PredictionFlags& flags = {});

}  // namespace tilewright
