// Lines are written whole or not at all, if the file can be truncated.
#include "output/json_lines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "core/new_file.hpp"
#include "people/refusal.hpp"
#include "tilewright/types.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright::cli {
namespace {

std::string descriptor_of(const std::string& path) { return path == "-" ? "/dev/stdout" : path; }

// Compares each output with all files named before it, and looks for each file.

bool names_a_file(const std::string& path) { return !path.empty() && path != "-"; }

}  // namespace

JsonLines::JsonLines(const std::string& path, bool keeps) : name_{"json", path}, written_(keeps) {
  if (path.empty()) return;
  if (path == "-" && (::fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
    name_.refuse("is stdout, which is closed");
  output_.emplace(OutputName{name_.argument, descriptor_of(path)});
  is_stdout_ = output_->is_stdout();
  is_stream_ = output_->is_stream();
  // Programs that have the database open would go on writing to it, and its records would be lost.
  if (sqlite::is_database(path)) name_.refuse("is a database, but JSON lines are written: name another file");
  file_ = output_->open_itself(O_WRONLY | O_APPEND);
}

JsonLines::~JsonLines() {
  if (output_ && !written_) output_->remove_if_made();
}

void JsonLines::write(const nlohmann::json& object) {
  for (const auto& line : std::exchange(heads_, {})) write(line);
  if (file_ == -1) return;
  if (is_stdout_) std::fflush(stdout);
  if (!written_ && !is_stream_ && ::ftruncate(file_, 0) != 0) name_.fail("cannot be emptied", errno);
  // Bytes of a path that are not UTF-8 are invalid in JSON: they are written as U+FFFD.
  const std::string line = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  const off_t whole = is_stream_ ? -1 : ::lseek(file_, 0, SEEK_END);
  const int error = write_whole(file_, line);
  written_ = written_ || error == 0;
  if (error == 0) return;
  if (whole >= 0) (void)!::ftruncate(file_, whole);  // removes a partial line
  name_.fail("cannot be written", error);
}

void keep_files_apart(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
  std::vector<NamedFile> before = inputs;
  for (const NamedFile& output : outputs) {
    if (!names_a_file(output.path)) continue;
    for (const NamedFile& other : before)
      if (names_a_file(other.path) && is_same_file(output.path, other.path))
        wrong_use(output.argument, "{} = '{}' is also the file of {}", output.argument, output.path,
                  other.argument);
    before.push_back(output);
  }
}

void require_readable(const std::string& argument, const std::string& path) {
  const OutputName name{argument, path};
  if (::access(path.c_str(), R_OK) != 0) name.fail("cannot be opened", errno);
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) name.fail("cannot be opened", EISDIR);
}

void require_place(const std::string& argument, const std::string& path) {
  if (names_a_file(path)) (void)find_output_place(OutputName{argument, path});
}

}  // namespace tilewright::cli
