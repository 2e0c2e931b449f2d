// Merges runs into a record: read under a lock, replaced by renaming a new file over the old.
#include "core/record_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>

#include "core/host/host_state.hpp"
#include "core/input/checked.hpp"
#include "core/input/json_text.hpp"
#include "core/new_file.hpp"
#include "core/problem.hpp"
#include "core/refuse.hpp"

namespace tilewright {

namespace {

OutputName name_of(const std::string& path) { return {"record", path, ErrorCode::io}; }

// Locks the file that has the name now: if it was replaced during the wait, the new one.
class Lock {
 public:
  Lock(const std::string& path, std::chrono::milliseconds wait) {
    do {
      file_.emplace(name_of(path));
      if (file_->is_stream()) name_of(path).refuse("exists and is not a file");
      if (!lock_file(file_->open_itself(O_RDWR), wait)) throw RecordLocked(path);
    } while (!file_->is_in_place());
  }
  // Removes a file made only to be locked that stayed empty. Waiting writers open the name anew.
  ~Lock() {
    if (!is_done_) file_->remove_if_made();
  }
  Lock& operator=(Lock&&) = delete;
  void write(const std::string& text) {
    file_->write(text);
    is_done_ = true;
  }

 private:
  std::optional<OutputFile> file_;
  bool is_done_ = false;
};

// The problem without its residency, and the residency as a key of its own.
struct Key {
  std::string problem, residency;
  explicit Key(const GemmProblem& problem_of_run) : residency(to_string(problem_of_run.residency)) {
    GemmProblem plain = problem_of_run;
    plain.residency = Residency::automatic;
    problem = to_string(plain);
  }
  Key(std::string text, std::string expected) : problem(std::move(text)), residency(std::move(expected)) {}
  std::string text() const { return problem + ' ' + residency; }
};

void check_sums(std::int64_t count, double seconds) {
  refuse_negative("count", count);
  if (!(seconds >= 0 && seconds <= std::numeric_limits<double>::max()))
    refuse_argument("seconds", fmt::format("seconds = {} must be finite and not negative", seconds));
}

// The lines of a file, kept as they are, so that additions of other versions survive.
class Lines {
 public:
  explicit Lines(const std::string& path) {
    std::ifstream stream(path);
    std::string line;
    for (int number = 1; next_line(stream, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      try {
        auto json = parse_json(line);
        const Key key(json.at("problem").get<std::string>(), json.value("residency", ""));
        check_sums(json_number<std::int64_t>(json, "count"), json_number<double>(json, "seconds"));
        positions_.emplace(key.text(), lines_.size());
        lines_.push_back(std::move(json));
      } catch (const std::exception& error) {
        throw Error(ErrorCode::io, "record",
                    fmt::format("record = '{}' is not a record: line {} is invalid ({})", path, number,
                                json_fault(error)));
      }
    }
  }

  void add(const RecordedRuns& runs) {
    const Key key(runs.problem);
    const auto [place, is_new] = positions_.emplace(key.text(), lines_.size());
    if (is_new)
      lines_.push_back(
          {{"problem", key.problem}, {"count", 0}, {"seconds", 0.0}, {"residency", key.residency}});
    nlohmann::json& line = lines_[place->second];
    // A sum that JSON cannot hold would make the file unreadable, so it saturates.
    line["count"] = saturating_sum(line["count"].get<std::int64_t>(), runs.count);
    line["seconds"] = saturating_sum(line["seconds"].get<double>(), runs.seconds);
  }

  // Returns the lines in their order; if there are more than a file keeps, those that took longest.
  std::string text() {
    if (lines_.size() > most_recorded) {
      std::vector<double> seconds;
      for (const auto& line : lines_) seconds.push_back(line["seconds"].get<double>());
      std::nth_element(seconds.begin(), seconds.begin() + most_recorded - 1, seconds.end(), std::greater<>());
      const double least = seconds[most_recorded - 1];
      std::erase_if(lines_, [&](const auto& line) { return line["seconds"].template get<double>() < least; });
      if (lines_.size() > most_recorded) lines_.resize(most_recorded);
    }
    std::string text;
    for (const auto& line : lines_) text += json_line(line) + '\n';
    return text;
  }

  const std::vector<nlohmann::json>& all() const { return lines_; }

 private:
  std::vector<nlohmann::json> lines_;
  std::unordered_map<std::string, std::size_t> positions_;
};

}  // namespace

RecordLocked::RecordLocked(const std::string& path)
    : Error(ErrorCode::io, "record", fmt::format("record = '{}' is locked by another process", path)) {}

void check_record(const std::string& path) {
  const OutputFile file(name_of(path));
  if (file.is_stream()) name_of(path).refuse("exists and is not a file");
  const auto folder = std::filesystem::path(file.path()).parent_path();
  const bool is_open = file.exists() ? ::access(file.path().c_str(), R_OK | W_OK) == 0
                                     : ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
  if (!is_open) name_of(path).fail(file.exists() ? "cannot be opened" : "cannot be created", errno);
}

void record_run(const std::string& path, const GemmProblem& problem, double seconds) {
  const RecordedRuns run{problem, 1, seconds};
  record_runs(path, {&run, 1});
}

void record_runs(const std::string& path, std::span<const RecordedRuns> runs,
                 std::chrono::milliseconds wait) {
  for (const RecordedRuns& each : runs) check_sums(each.count, each.seconds);
  Lock lock(path, wait);
  Lines lines(path);
  for (const RecordedRuns& each : runs) lines.add(each);
  lock.write(lines.text());
}

std::vector<RecordedRuns> read_record(const std::string& path) {
  if (!std::ifstream(path)) name_of(path).fail("cannot be read", errno);
  if (std::filesystem::is_directory(path)) name_of(path).fail("cannot be read", EISDIR);
  const Lines lines(path);
  std::vector<RecordedRuns> runs;
  for (const nlohmann::json& line : lines.all()) try {
      RecordedRuns one{parse_problem(line["problem"].get<std::string>()), line["count"].get<std::int64_t>(),
                       line["seconds"].get<double>()};
      const std::string residency = line.value("residency", "");
      if (!residency.empty()) one.problem.residency = enum_from_string<Residency>(residency, "residency");
      runs.push_back(one);
    } catch (const Error& error) {
      throw Error(ErrorCode::io, "record",
                  fmt::format("record = '{}' is not a record: {}", path, error.what()));
    }
  return runs;
}

}  // namespace tilewright
