// Merging one run into a record: read under a lock, replaced by renaming a new file over the old.
#include "core/record_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/new_file.hpp"
#include "core/problem.hpp"

namespace tilewright {

namespace {

[[noreturn]] void fail(const std::string& path, const char* doing, int error_number) {
  throw Error(ErrorCode::io, "record",
              fmt::format("record = '{}' {}: {}", path, doing, std::strerror(error_number)));
}

// Holds the lock on the file that bears the name now. A writer that waited may hold a file that was replaced
// meanwhile; it must then take the lock on the new one.
class Lock {
 public:
  explicit Lock(const std::string& path) {
    while (true) {
      file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (file_ < 0) fail(path, "cannot be opened", errno);
      if (::flock(file_, LOCK_EX) != 0) fail(path, "cannot be locked", errno);
      struct stat held {
      }, named{};
      const bool same = ::fstat(file_, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
                        held.st_ino == named.st_ino && held.st_dev == named.st_dev;
      if (same) return;
      ::close(file_);
    }
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_ = -1;
};

// True when the line is of this problem and residency; the run is then added to it.
bool merge(nlohmann::json& line, const std::string& problem, const std::string& residency, double seconds) {
  if (line.at("problem").get<std::string>() != problem || line.value("residency", "") != residency)
    return false;
  line["count"] = line.at("count").get<std::int64_t>() + 1;
  line["seconds"] = line.at("seconds").get<double>() + seconds;
  return true;
}

std::string merged_text(const std::string& path, const GemmProblem& problem, double seconds) {
  GemmProblem plain = problem;
  plain.residency = Residency::automatic;  // it has its own key
  const std::string text = to_string(plain), residency = to_string(problem.residency);
  std::ifstream stream(path);
  std::ostringstream merged;
  std::string line;
  bool found = false;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      auto json = nlohmann::json::parse(line);
      if (!found && merge(json, text, residency, seconds)) {
        found = true;
        line = json.dump();
      }
    } catch (const nlohmann::json::exception& error) {
      throw Error(
          ErrorCode::io, "record",
          fmt::format("record = '{}' is no record: line {} cannot be read ({})", path, number, error.what()));
    }
    merged << line << '\n';
  }
  if (!found)
    merged << nlohmann::json{{"problem", text}, {"count", 1}, {"seconds", seconds}, {"residency", residency}}
                  .dump()
           << '\n';
  return merged.str();
}

}  // namespace

void check_record(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode))
      throw Error(ErrorCode::invalid_argument, "record",
                  fmt::format("record = '{}' exists and is not a file", path));
    if (::access(path.c_str(), R_OK | W_OK) != 0) fail(path, "cannot be opened", errno);
    return;
  }
  const auto folder = std::filesystem::path(followed_path(path)).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) fail(path, "cannot be made", errno);
}

void record_run(const std::string& path, const GemmProblem& problem, double seconds) {
  const Lock lock(path);
  if (const int error = replace_file(path, merged_text(path, problem, seconds)); error != 0)
    fail(path, "cannot be written", error);
}

}  // namespace tilewright
