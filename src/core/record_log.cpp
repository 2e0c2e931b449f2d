// Merging runs into a record: read under a lock, replaced by renaming a new file over the old.
#include "core/record_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <unordered_map>

#include "core/host/host_state.hpp"
#include "core/input/checked.hpp"
#include "core/input/failure.hpp"
#include "core/input/json_text.hpp"
#include "core/new_file.hpp"
#include "core/problem.hpp"
#include "core/refuse.hpp"

namespace tilewright {

namespace {

[[noreturn]] void fail(const std::string& path, const char* doing, int error_number) {
  throw Error(ErrorCode::io, "record",
              fmt::format("record = '{}' {}: {}", path, doing, system_error_text(error_number)));
}

[[noreturn]] void refuse_other(const std::string& path) {
  throw Error(ErrorCode::invalid_argument, "record",
              fmt::format("record = '{}' exists and is not a file", path));
}

// Holds the lock on the file that bears the name now. A writer that waited may hold a file that was replaced
// meanwhile; it must then take the lock on the new one.
class Lock {
 public:
  explicit Lock(const std::string& path) : path_(path) {
    while (true) {
      struct stat before {};
      if (::stat(path.c_str(), &before) == 0 && !S_ISREG(before.st_mode)) refuse_other(path);
      is_new_ = ::access(path.c_str(), F_OK) != 0;
      file_ = uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
      if (file_ < 0) fail(path, "cannot be opened", errno);
      if (uninterrupted([&] { return ::flock(file_, LOCK_EX); }) != 0) fail(path, "cannot be locked", errno);
      struct stat held {
      }, named{};
      const bool same = ::fstat(file_, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
                        held.st_ino == named.st_ino && held.st_dev == named.st_dev;
      if (same) return;
      ::close(file_);
    }
  }
  // Where nothing was put into a file that was made to be locked, none stays. Whoever waits for it looks for
  // the file of that name anew.
  ~Lock() {
    struct stat held {};
    if (is_new_ && !is_done_ && ::fstat(file_, &held) == 0 && held.st_size == 0) ::unlink(path_.c_str());
    ::close(file_);
  }
  void done() { is_done_ = true; }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  const std::string& path_;
  int file_ = -1;
  bool is_new_ = false, is_done_ = false;
};

// The problem without its residency, which has a key of its own, and that.
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

// A file's lines as they are, so that what other versions add to them stays.
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
                    fmt::format("record = '{}' is no record: line {} cannot be read ({})", path, number,
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
    // A sum that cannot be written would make the file unreadable: it stays at the largest that can.
    line["count"] = saturating_sum(line["count"].get<std::int64_t>(), runs.count);
    line["seconds"] = saturating_sum(line["seconds"].get<double>(), runs.seconds);
  }

  // Those that took longest where there are more than a file keeps, in their order.
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

void check_record(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) refuse_other(path);
    if (::access(path.c_str(), R_OK | W_OK) != 0) fail(path, "cannot be opened", errno);
    return;
  }
  const auto folder = std::filesystem::path(followed_path(path)).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) fail(path, "cannot be made", errno);
}

void record_run(const std::string& path, const GemmProblem& problem, double seconds) {
  const RecordedRuns run{problem, 1, seconds};
  record_runs(path, {&run, 1});
}

void record_runs(const std::string& path, std::span<const RecordedRuns> runs) {
  for (const RecordedRuns& each : runs) check_sums(each.count, each.seconds);
  Lock lock(path);
  Lines lines(path);
  for (const RecordedRuns& each : runs) lines.add(each);
  if (const int error = replace_file(path, lines.text()); error != 0) fail(path, "cannot be written", error);
  lock.done();
}

std::vector<RecordedRuns> read_record(const std::string& path) {
  if (!std::ifstream(path)) fail(path, "cannot be read", errno);
  if (std::filesystem::is_directory(path)) fail(path, "cannot be read", EISDIR);
  const Lines lines(path);
  std::vector<RecordedRuns> runs;
  for (const nlohmann::json& line : lines.all()) try {
      RecordedRuns one{parse_problem(line["problem"].get<std::string>()), line["count"].get<std::int64_t>(),
                       line["seconds"].get<double>()};
      const std::string residency = line.value("residency", "");
      if (!residency.empty()) one.problem.residency = enum_from_string<Residency>(residency, "residency");
      runs.push_back(one);
    } catch (const Error& error) {
      throw Error(ErrorCode::io, "record", fmt::format("record = '{}' is no record: {}", path, error.what()));
    }
  return runs;
}

}  // namespace tilewright
