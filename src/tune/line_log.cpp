// Opens, reads and appends.
#include "tune/line_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/host/host_state.hpp"
#include "core/input/failure.hpp"
#include "core/input/json_text.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

namespace fs = std::filesystem;

// A log begins with the description of its run.
void refuse_foreign_file(const std::string& path, const LineLogRules& rules) {
  std::error_code none;
  if (const auto size = fs::file_size(path, none); none || size == 0) return;
  const std::string opening = fmt::format("{{\"{}\"", rules.opening);
  std::string first;
  std::ifstream file(path);
  next_line(file, first);
  const auto refuse = [&](const std::string& what) {
    const std::string name = rules.dashes + rules.argument;
    throw Error(ErrorCode::invalid_argument, name, fmt::format("{} = '{}' exists and {}", name, path, what));
  };
  if (!first.starts_with(opening) &&
      !opening.starts_with(first))  // the latter: a run that was killed in its first word
    refuse(fmt::format("is not a {}", rules.what));
  if (rules.kind.empty()) return;
  const auto head = parse_json_or_discard(first);
  if (head.is_object() && !head.contains(rules.kind))
    refuse(fmt::format("is a log of another kind: its first line has no '{}'", rules.kind));
}

LineLog::LineLog(const std::string& path, const LineLogRules& rules) : path_(path), rules_(rules) {
  open();
  refuse_foreign_file(path_, rules);
  if (rules_.resume) {
    drop_torn_line();
    read();
  } else if (fs::file_size(path_) > 0) {
    keep_aside();
    cut(0);
  }
}

// Keeps the file locked, if the file system has locks.
void LineLog::open() {
  constexpr int most_runs = 100;
  const fs::path wanted = path_;
  for (int number = 2;; ++number) {
    const OutputName output{rules_.argument, path_, ErrorCode::io};
    file_ = std::make_unique<OutputFile>(output);
    if (file_->is_stream()) output.refuse("exists and is not a file");
    descriptor_ = file_->open_itself(O_RDWR | O_APPEND);
    if (lock_file(descriptor_, {})) return;
    if (!rules_.evades || number > most_runs)
      fail(fmt::format("is in use by another run: choose another file by {}{}", rules_.dashes,
                       rules_.argument));
    const std::string name =
        fmt::format("{}.{}{}", wanted.stem().string(), number, wanted.extension().string());
    path_ = (wanted.parent_path() / name).string();
  }
}

void LineLog::fail(const std::string& what) const {
  throw Error(ErrorCode::io, rules_.argument, fmt::format("{} = '{}' {}", rules_.argument, path_, what));
}

// Keeps the earlier measurements, in case the user forgot to resume.
void LineLog::keep_aside() const {
  std::string aside = file_->path() + ".before";
  for (int number = 2; rules_.keep_all && fs::exists(aside) && fs::file_size(aside) > 0; ++number)
    aside = fmt::format("{}.before.{}", file_->path(), number);
  OutputFile kept({rules_.argument, aside, ErrorCode::io});
  if (const int error = copy_whole(descriptor_, kept.make()); error != 0)
    fail(fmt::format("cannot be kept as '{}': {}", aside, system_error_text(error)));
  kept.commit();
}

// Cuts off a torn last line.
void LineLog::drop_torn_line() const {
  std::ifstream file(path_, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t last = text.rfind('\n');
  cut(last == std::string::npos ? 0 : last + 1);
}

void LineLog::cut(std::size_t bytes) const {
  if (::ftruncate(descriptor_, off_t(bytes)) != 0)
    fail(fmt::format("cannot be cut: {}", system_error_text(errno)));
}

void LineLog::read() {
  std::ifstream file(path_);
  for (std::string text; next_line(file, text);) {
    auto line = parse_json_or_discard(text);
    if (!line.is_object())
      fail(fmt::format("is not a {}: line {} is invalid", rules_.what, kept_.size() + 1));
    kept_.push_back(std::move(line));
  }
}

void LineLog::refuse_other_run(const nlohmann::json& before, const nlohmann::json& now) const {
  if (!before.is_object())
    fail(fmt::format("is not a {}: its first line does not describe the run", rules_.what));
  for (const auto& item : now.items())
    if (const auto was = before.value(item.key(), nlohmann::json()); was != item.value())
      throw Error(ErrorCode::invalid_argument, rules_.dashes + "resume",
                  fmt::format("{}resume: '{}' was started with {} = {}, but now it is {}", rules_.dashes,
                              path_, item.key(), was.dump(), item.value().dump()));
}

void LineLog::write(const nlohmann::json& line) {
  if (const int error = write_whole(descriptor_, json_line(line) + '\n'); error != 0)
    fail(fmt::format("cannot be written: {}", system_error_text(error)));
}

}  // namespace tilewright
