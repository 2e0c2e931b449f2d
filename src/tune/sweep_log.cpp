// Reading back and appending. Every line reaches the operating system before the next thing is measured, so
// only the line being written can be lost.
#include "tune/sweep_log.hpp"

#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

std::string key(const std::string& problem, const std::string& stage, const std::string& config) {
  return problem + '\n' + stage + '\n' + config;
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::io, "sweep", fmt::format("sweep = '{}' {}", path, what));
}

// Cuts a line off that was being written when the run ended.
void drop_torn_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t last = text.rfind('\n');
  fs::resize_file(path, last == std::string::npos ? 0 : last + 1);
}

// A log begins with what its run was asked for; any other file is somebody's and stays as it is.
void refuse_foreign(const std::string& path) {
  const std::string_view opening = "{\"run\"";
  std::string first;
  std::ifstream file(path);
  std::getline(file, first);
  if (!first.starts_with(opening) &&
      !opening.starts_with(first))  // the latter: a run that ended in its first word
    throw Error(ErrorCode::invalid_argument, "--sweep",
                fmt::format("--sweep = '{}' exists and is no sweep log", path));
}

}  // namespace

SweepLog::SweepLog(const std::string& path, const nlohmann::json& run, bool resume) : path_(path) {
  file_.reset(std::fopen(path.c_str(), "a"));
  if (!file_) fail(path, fmt::format("cannot be written: {}", std::strerror(errno)));
  if (::flock(::fileno(file_.get()), LOCK_EX | LOCK_NB) != 0)
    fail(path, "is being written by another run: name another with --sweep");
  if (fs::file_size(path) > 0) refuse_foreign(path);
  if (resume) {
    drop_torn_line(path);
    read(run);
  } else if (fs::file_size(path) > 0) {
    // Whoever forgot to resume finds the earlier measurements beside the new ones.
    fs::copy_file(path, path + ".before", fs::copy_options::overwrite_existing);
    fs::resize_file(path, 0);
  }
  if (fs::file_size(path) == 0) write({{"run", run}});
}

void SweepLog::read(const nlohmann::json& run) {
  std::ifstream file(path_);
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_object()) fail(path_, fmt::format("is no sweep: line {} cannot be read", number + 1));
    ++number;
    try {
      take_in(line, run, number);
    } catch (const nlohmann::json::exception& error) {
      fail(path_, fmt::format("is no sweep: line {} cannot be read ({})", number, error.what()));
    }
  }
}

void SweepLog::take_in(const nlohmann::json& line, const nlohmann::json& run, int number) {
  if (number == 1) {
    const auto old = line.value("run", nlohmann::json::object());
    for (const auto& item : run.items())
      if (const auto was = old.value(item.key(), nlohmann::json()); was != item.value())
        throw Error(ErrorCode::invalid_argument, "--resume",
                    fmt::format("--resume: '{}' was begun with {} = {}, and now it is {}", path_, item.key(),
                                was.dump(), item.value().dump()));
    return;
  }
  const std::string problem = line.value("problem", "");
  const std::string config = line.value("config", nlohmann::json::object()).dump();
  if (line.contains("result")) results_[problem] = line["result"];
  if (line.contains("failed")) failures_[key(problem, "", config)] = line["failed"].get<std::string>();
  if (const auto at = line.find("passed"); at != line.end())
    passed_[key(problem, "", config)] = {at->at("error").get<double>(), at->at("error_bound").get<double>()};
  if (!line.contains("seconds")) return;
  Metrics metrics{line["seconds"].get<double>(), std::nullopt};
  if (line.contains("joules")) metrics.joules = line["joules"].get<double>();
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

nlohmann::json SweepLog::result(const std::string& problem) const {
  const auto found = results_.find(problem);
  return found == results_.end() ? nlohmann::json() : found->second;
}

void SweepLog::write(const nlohmann::json& line) {
  if (!file_) return;
  const std::string text = line.dump() + '\n';
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0)
    fail(path_, fmt::format("cannot be written: {}", std::strerror(errno)));
}

void SweepLog::add_base(const std::string& problem, const nlohmann::json& base) {
  write({{"problem", problem}, {"base", base}, {"default_config", nlohmann::json::object()}});
}

void SweepLog::add_turn(const std::string& problem, const std::string& stage, const nlohmann::json& config,
                        const Metrics& metrics) {
  nlohmann::json line{
      {"problem", problem}, {"stage", stage}, {"config", config}, {"seconds", metrics.seconds}};
  if (metrics.joules) line["joules"] = *metrics.joules;
  write(line);
}

void SweepLog::add_failure(const std::string& problem, const nlohmann::json& config,
                           const std::string& reason) {
  write({{"problem", problem}, {"config", config}, {"failed", reason}});
}

void SweepLog::add_passed(const std::string& problem, const nlohmann::json& config,
                          const Accuracy& accuracy) {
  write({{"problem", problem},
         {"config", config},
         {"passed", {{"error", accuracy.error}, {"error_bound", accuracy.bound}}}});
}

void SweepLog::add_result(const std::string& problem, const nlohmann::json& result) {
  write({{"problem", problem}, {"result", result}});
}

}  // namespace tilewright
