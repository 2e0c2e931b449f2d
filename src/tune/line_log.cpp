// Opening, reading back and appending.
#include "tune/line_log.hpp"

#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/host/host_state.hpp"
#include "core/input/failure.hpp"
#include "core/input/json_text.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

namespace fs = std::filesystem;

// A log begins with what its run was asked for; any other file is somebody's and stays as it is.
void refuse_foreign_file(const std::string& path, const LineLogRules& rules) {
  std::error_code none;
  if (const auto size = fs::file_size(path, none); none || size == 0) return;
  const std::string opening = fmt::format("{{\"{}\"", rules.opening);
  std::string first;
  std::ifstream file(path);
  next_line(file, first);
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "--" + rules.argument,
                fmt::format("--{} = '{}' exists and {}", rules.argument, path, what));
  };
  if (!first.starts_with(opening) &&
      !opening.starts_with(first))  // the latter: a run that ended in its first word
    refuse(fmt::format("is no {}", rules.what));
  if (rules.kind.empty()) return;
  const auto head = parse_json_or_discard(first);
  if (head.is_object() && !head.contains(rules.kind))
    refuse(fmt::format("is of another kind: its first line has no '{}'", rules.kind));
}

LineLog::LineLog(const std::string& path, const LineLogRules& rules) : path_(path), rules_(rules) {
  open();
  refuse_foreign_file(path_, rules);
  if (rules_.resume) {
    drop_torn_line();
    read();
  } else if (fs::file_size(path_) > 0) {
    keep_aside();
    fs::resize_file(path_, 0);
  }
}

// And keeps it locked.
void LineLog::open() {
  constexpr int most_runs = 100;
  const fs::path wanted = path_;
  for (int number = 2;; ++number) {
    file_.reset(std::fopen(path_.c_str(), "a"));
    if (!file_) fail(fmt::format("cannot be written: {}", system_error_text(errno)));
    if (uninterrupted([&] { return ::flock(::fileno(file_.get()), LOCK_EX | LOCK_NB); }) == 0) return;
    if (!rules_.evades || number > most_runs)
      fail(fmt::format("is being written by another run: name another with --{}", rules_.argument));
    const std::string name =
        fmt::format("{}.{}{}", wanted.stem().string(), number, wanted.extension().string());
    path_ = (wanted.parent_path() / name).string();
  }
}

void LineLog::fail(const std::string& what) const {
  throw Error(ErrorCode::io, rules_.argument, fmt::format("{} = '{}' {}", rules_.argument, path_, what));
}

// Whoever forgot to resume finds the earlier measurements beside the new ones, and those of the time before.
void LineLog::keep_aside() const {
  std::string aside = path_ + ".before";
  for (int number = 2; rules_.keep_all && fs::exists(aside) && fs::file_size(aside) > 0; ++number)
    aside = fmt::format("{}.before.{}", path_, number);
  fs::copy_file(path_, aside, fs::copy_options::overwrite_existing);
}

// Cuts a line off that was being written when the run ended.
void LineLog::drop_torn_line() const {
  std::ifstream file(path_, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t last = text.rfind('\n');
  fs::resize_file(path_, last == std::string::npos ? 0 : last + 1);
}

void LineLog::read() {
  std::ifstream file(path_);
  for (std::string text; next_line(file, text);) {
    auto line = parse_json_or_discard(text);
    if (!line.is_object())
      fail(fmt::format("is no {}: line {} cannot be read", rules_.what, kept_.size() + 1));
    kept_.push_back(std::move(line));
  }
}

void LineLog::refuse_other_run(const nlohmann::json& before, const nlohmann::json& now) const {
  if (!before.is_object())
    fail(fmt::format("is no {}: its first line does not say what was asked for", rules_.what));
  for (const auto& item : now.items())
    if (const auto was = before.value(item.key(), nlohmann::json()); was != item.value())
      throw Error(ErrorCode::invalid_argument, "--resume",
                  fmt::format("--resume: '{}' was begun with {} = {}, and now it is {}", path_, item.key(),
                              was.dump(), item.value().dump()));
}

void LineLog::write(const nlohmann::json& line) {
  const std::string text = json_line(line) + '\n';
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0)
    fail(fmt::format("cannot be written: {}", system_error_text(errno)));
}

}  // namespace tilewright
