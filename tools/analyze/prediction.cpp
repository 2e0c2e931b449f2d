// Draws random parts, trains the surrogate, and computes the errors of its predictions of the rest.
#include "analyze/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "analyze/analysis.hpp"
#include "measure/estimate.hpp"
#include "tune/strategy/surrogate.hpp"

namespace tilewright {
namespace {

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * double(values.size())))];
}

Prediction one_round(const PointSet& points, const std::vector<double>& costs,
                     const std::vector<std::size_t>& order, std::size_t trained) {
  Surrogate surrogate(points);
  double sum = 0;
  for (std::size_t i = 0; i < trained; ++i) {
    surrogate.add(order[i], std::log(costs[order[i]]));
    sum += std::log(costs[order[i]]);
  }
  surrogate.refit();
  const double mean = std::exp(sum / double(trained));
  std::vector<double> errors, mean_errors, predicted, measured;
  std::size_t best = order[trained];
  double least = costs[best];
  for (std::size_t i = trained; i < order.size(); ++i) {
    const std::size_t at = order[i];
    const double guess = std::exp(surrogate.mean(at));
    predicted.push_back(guess);
    measured.push_back(costs[at]);
    errors.push_back(std::abs(guess / costs[at] - 1));
    mean_errors.push_back(std::abs(mean / costs[at] - 1));
    if (surrogate.mean(at) < surrogate.mean(best)) best = at;
    least = std::min(least, costs[at]);
  }
  return {trained,
          errors.size(),
          quantile(errors, 0.5),
          quantile(errors, 0.9),
          quantile(mean_errors, 0.5),
          spearman(predicted, measured),
          costs[best] / least - 1};
}

std::vector<std::size_t> shuffled(std::size_t count, unsigned seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

}  // namespace

std::vector<Prediction> predict_unseen(const std::vector<nlohmann::json>& configs,
                                       const std::vector<double>& costs, const PredictionFlags& flags) {
  const PointSet points(configs);
  std::vector<Prediction> list;
  for (const double share : flags.shares) {
    const auto trained = std::min(flags.most, static_cast<std::size_t>(share * double(configs.size())));
    if (trained < 5 || trained + 5 > configs.size()) continue;
    if (!list.empty() && list.back().trained == trained) continue;  // reached the limit again
    std::vector<Prediction> rounds(static_cast<std::size_t>(flags.rounds));
#pragma omp parallel for schedule(dynamic)
    for (std::size_t round = 0; round < rounds.size(); ++round)
      rounds[round] =
          one_round(points, costs, shuffled(configs.size(), flags.seed + unsigned(round)), trained);
    const auto centre = [&](double Prediction::*member) {
      std::vector<double> values;
      for (const Prediction& one : rounds) values.push_back(one.*member);
      return estimate(values).centre;
    };
    list.push_back({trained, configs.size() - trained, centre(&Prediction::median_error),
                    centre(&Prediction::high_error), centre(&Prediction::mean_error),
                    centre(&Prediction::rank), centre(&Prediction::regret)});
    if (flags.progress) flags.progress(list.size(), flags.shares.size());
  }
  return list;
}

}  // namespace tilewright
