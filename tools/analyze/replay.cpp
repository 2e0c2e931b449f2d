// Reading sweeps, and serving them one evaluation at a time.
#include "analyze/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/estimate.hpp"
#include "core/fields.hpp"
#include "core/input/json_text.hpp"
#include "measure/recorded_file.hpp"
#include "people/refusal.hpp"

namespace tilewright {
namespace {

struct Samples {
  std::vector<double> seconds, joules;
};

class Reader {
 public:
  void take(const nlohmann::json& line) {
    if (line.contains("base")) base_ = line["base"];
    if (line.contains("default_config")) standard_ = line["default_config"];
    if (const auto problem = line.value("problem", problem_); problem != problem_) {
      if (!problem_.empty())
        io_fault("sweep", "the sweep contains '{}' and '{}': only one problem at a time can be replayed",
                 problem_, problem);
      problem_ = problem;
    }
    if (!line.contains("config") || !line["config"].is_object() || !line.contains("seconds") ||
        !line["seconds"].is_number())
      return;
    if (line.value("impl", "tilewright") != "tilewright") return;  // a library that met them has no config
    auto config = base_;
    config.update(line["config"]);
    const auto [at, inserted] = known_.emplace(config.dump(), configs_.size());
    if (inserted) {
      configs_.push_back(std::move(config));
      samples_.emplace_back();
    }
    samples_[at->second].seconds.push_back(line["seconds"].get<double>());
    if (const auto joules = line.find("joules"); joules != line.end() && joules->is_number())
      samples_[at->second].joules.push_back(joules->get<double>());
  }

  Replay replay() && {
    std::vector<Metrics> metrics;
    for (const Samples& samples : samples_) {
      Metrics point{estimate(samples.seconds).centre, std::nullopt};
      if (!samples.joules.empty()) point.joules = estimate(samples.joules).centre;
      metrics.push_back(point);
    }
    auto standard = base_;
    standard.update(standard_);
    const auto start = known_.find(standard.dump());
    return Replay(std::move(configs_), std::move(metrics), start == known_.end() ? 0 : start->second);
  }

 private:
  std::string problem_;
  nlohmann::json base_ = nlohmann::json::object();
  nlohmann::json standard_ = nlohmann::json::object();
  std::map<std::string, std::size_t> known_;
  std::vector<nlohmann::json> configs_;
  std::vector<Samples> samples_;
};

}  // namespace

Replay::Replay(std::vector<nlohmann::json> configs, std::vector<Metrics> metrics, std::size_t start)
    : configs_(std::move(configs)), metrics_(std::move(metrics)), points_(configs_), start_(start) {}

Replay Replay::read(const std::string& path) {
  std::istringstream file = read_recorded(path, "sweep", ErrorCode::io);
  Reader reader;
  int number = 0;
  for (std::string line; next_line(file, line);) {
    ++number;
    visit_json(
        line, [&](const nlohmann::json& object) { reader.take(object); },
        [&](const std::string& why) {
          io_fault("sweep", "sweep = '{}': line {} is invalid ({})", path, number, why);
        });
  }
  Replay replay = std::move(reader).replay();
  if (replay.configs().empty()) io_fault("sweep", "sweep = '{}' contains no measured config", path);
  return replay;
}

ReplayEvaluator::ReplayEvaluator(const Replay& replay, const TuneObjective& objective, std::size_t limit)
    : Evaluator(replay.points().size()),
      replay_(replay),
      objective_(objective),
      limit_(std::min(limit, replay.points().size())),
      anchor_(replay.metrics()[replay.start()]) {}

double ReplayEvaluator::measure(std::size_t point) {
  const auto& metrics = replay_.metrics();
  if (objective_.goal() == Objective::energy_within && metrics[point].seconds < anchor_.seconds)
    anchor_ = metrics[point];
  const double cost = objective_.cost(metrics[point], anchor_);
  const bool better = best_after_.empty() || cost < objective_.cost(metrics[best_after_.back()], anchor_);
  best_after_.push_back(better ? point : best_after_.back());
  return cost;
}

}  // namespace tilewright
