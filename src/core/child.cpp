// Input, output and errors of the program are files without names, so that neither side waits for the other.
#include "core/child.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "core/input/failure.hpp"
#include "tilewright/types.hpp"

extern char** environ;

namespace tilewright {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

File scratch(const std::string& program) {
  File file(std::tmpfile());
  if (!file)
    throw Error(ErrorCode::io, program,
                fmt::format("cannot create files for the input and output of '{}': {}", program,
                            system_error_text(errno)));
  return file;
}

std::string text_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char part[65536];
  for (std::size_t got = 0; (got = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, got);
  return text;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const std::string& input) {
  const std::string& program = command.at(0);
  const File in = scratch(program), out = scratch(program), errors = scratch(program);
  if (std::fwrite(input.data(), 1, input.size(), in.get()) != input.size() || std::fflush(in.get()) != 0)
    throw Error(ErrorCode::io, program, fmt::format("the input of '{}' cannot be written", program));
  std::rewind(in.get());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  std::FILE* const ends[] = {in.get(), out.get(), errors.get()};
  for (int end = 0; end < 3; ++end) posix_spawn_file_actions_adddup2(&actions, fileno(ends[end]), end);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int fault = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (fault == ENOENT || fault == EACCES) return {127, "", system_error_text(fault)};
  if (fault != 0)
    throw Error(ErrorCode::io, program,
                fmt::format("'{}' cannot be started: {}", program, system_error_text(fault)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, text_of(out.get()), text_of(errors.get())};
}

}  // namespace tilewright
