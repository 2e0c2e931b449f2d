// Writes the lines, and reads those of an earlier run.
#include "tune/sweep_log.hpp"

#include <fmt/format.h>

#include <limits>

#include "core/fields.hpp"

namespace tilewright {
namespace {

std::string key(const std::string& problem, const std::string& stage, const std::string& config) {
  return problem + '\n' + stage + '\n' + config;
}

// JSON writes infinity as null.
double number_of(const nlohmann::json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

// Older logs have the winner's record alone, not a list.
std::vector<WisdomRecord> records_in(const nlohmann::json& result) {
  std::vector<WisdomRecord> records;
  for (const nlohmann::json& line : result.is_array() ? result : nlohmann::json::array({result})) {
    auto record = line.is_object() ? record_of_line(line) : std::nullopt;
    if (!record) throw Error(ErrorCode::io, "sweep", "its result is not a record");
    records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace

SweepLog::SweepLog(const std::string& path, const nlohmann::json& run, bool resume, bool keep_all,
                   bool evades, const std::string& argument) {
  LineLogRules rules{.opening = "run", .resume = resume, .keep_all = keep_all, .evades = evades && !resume};
  if (!argument.starts_with(rules.dashes)) rules.dashes.clear();
  rules.argument = argument.substr(rules.dashes.size());
  file_ = std::make_unique<LineLog>(path, rules);
  const auto& lines = file_->kept();
  if (lines.empty()) {
    write({{"run", run}});
    return;
  }
  file_->refuse_other_run(lines.front().value("run", nlohmann::json::object()), run);
  for (std::size_t i = 1; i < lines.size(); ++i) try {
      take_in(lines[i]);
    } catch (const std::exception& error) {
      file_->fail(fmt::format("is not a sweep: line {} is invalid ({})", i + 1, json_fault(error)));
    }
}

void SweepLog::take_in(const nlohmann::json& line) {
  const std::string problem = line.value("problem", "");
  const std::string config = line.value("config", nlohmann::json::object()).dump();
  if (const auto at = line.find("result"); at != line.end()) results_[problem] = records_in(*at);
  if (line.contains("failed")) failures_[key(problem, "", config)] = line["failed"].get<std::string>();
  if (const auto at = line.find("passed"); at != line.end())
    passed_[key(problem, "", config)] = {number_of(at->at("error")), number_of(at->at("error_bound"))};
  if (!line.contains("seconds")) return;
  Metrics metrics{number_of(line["seconds"]), std::nullopt};
  if (line.contains("joules")) metrics.joules = number_of(line["joules"]);
  turns_[key(problem, line.value("stage", ""), config)].push_back(metrics);
  ++kept_;
}

std::optional<Metrics> SweepLog::take(const std::string& problem, const std::string& stage,
                                      const std::string& config) {
  const auto found = turns_.find(key(problem, stage, config));
  if (found == turns_.end() || found->second.empty()) return std::nullopt;
  const Metrics metrics = found->second.front();
  found->second.pop_front();
  return metrics;
}

std::string SweepLog::failure(const std::string& problem, const std::string& config) const {
  const auto found = failures_.find(key(problem, "", config));
  return found == failures_.end() ? "" : found->second;
}

std::optional<Accuracy> SweepLog::passed(const std::string& problem, const std::string& config) const {
  const auto found = passed_.find(key(problem, "", config));
  return found == passed_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<WisdomRecord> SweepLog::result(const std::string& problem) const {
  const auto found = results_.find(problem);
  return found == results_.end() ? std::vector<WisdomRecord>() : found->second;
}

void SweepLog::write(const nlohmann::json& line) {
  if (file_) file_->write(line);
}

void SweepLog::add_base(const std::string& problem, const nlohmann::json& base,
                        const nlohmann::json& origin) {
  nlohmann::json line{{"problem", problem}, {"base", base}, {"default_config", nlohmann::json::object()}};
  line.update(origin);
  write(line);
}

void SweepLog::add_turn(const std::string& problem, const std::string& stage, const nlohmann::json& config,
                        const Metrics& metrics, const std::string& peer) {
  nlohmann::json line{
      {"problem", problem}, {"stage", stage}, {"config", config}, {"seconds", metrics.seconds}};
  if (metrics.joules) line["joules"] = *metrics.joules;
  if (!peer.empty()) line["impl"] = peer;
  write(line);
}

void SweepLog::add_failure(const std::string& problem, const nlohmann::json& config,
                           const std::string& reason, const std::string& peer) {
  nlohmann::json line{{"problem", problem}, {"config", config}, {"failed", reason}};
  if (!peer.empty()) line["impl"] = peer;
  write(line);
}

void SweepLog::add_passed(const std::string& problem, const nlohmann::json& config,
                          const Accuracy& accuracy) {
  write({{"problem", problem},
         {"config", config},
         {"passed", {{"error", accuracy.error}, {"error_bound", accuracy.bound}}}});
}

void SweepLog::add_result(const std::string& problem, const std::vector<WisdomRecord>& records) {
  auto result = nlohmann::json::array();
  for (const WisdomRecord& record : records) result.push_back(to_json(record));
  write({{"problem", problem}, {"result", result}});
}

}  // namespace tilewright
