// Compiled kernels on disk, shared by all processes of a user and by nobody else. An entry is found by
// everything its code depends on; it is written aside and then renamed, keeps its source beside it, and is
// rebuilt when anything about it is wrong. It compiles nothing itself.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright {

// A kernel that is not kept where nothing may be compiled.
class NotCompiled : public Error {
 public:
  explicit NotCompiled(const std::string& message) : Error(ErrorCode::unsupported, "no_jit", message) {}
};

// What the code of a kernel depends on.
struct JitKey {
  std::string source;
  std::vector<std::pair<std::string, std::string>> headers;  // name and text, all that the source reaches
  std::vector<std::string> options;                          // architecture included
  std::string compiler;                                      // name and version

  // All of it as one text; equal texts mean equal code.
  std::string text() const;
  // The same without the compiler.
  std::string text_for_any_compiler() const;
  // The key that has this text; nothing where none has.
  static std::optional<JitKey> parse(const std::string& text);
};

struct JitBinary {
  std::string code;
  std::vector<std::string> functions;  // the kernels' names inside, in the order in which they were asked for
  std::string log;                     // of the compiler

  const std::string& function() const { return functions.front(); }
};

class JitCache {
 public:
  // "" keeps nothing: every request is built.
  explicit JitCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The kept binary, else what `build` returns, which is then kept; with it goes what processes that were
  // killed while they kept theirs left behind an hour ago or earlier. A folder that cannot be written costs
  // the keeping and nothing else.
  JitBinary get(const JitKey& key, const std::function<JitBinary()>& build) const;

  // The kept binary, if there is one. A key that names no compiler finds what any compiler made of the rest.
  std::optional<JitBinary> find(const JitKey& key) const;

  const std::filesystem::path& folder() const { return folder_; }
  // Why nothing in the folder is used: another user could have written it. "" where it is, or does not exist.
  std::string distrust() const;

  // Where the entry of `key` lies.
  std::filesystem::path entry(const JitKey& key) const;

 private:
  std::filesystem::path folder_;
};

// The texts of the headers that `source` includes in quotes, directly or not, looked for under `root`, in the
// order in which they are met. Includes that do not lie there are left out: the compiler does not see them
// either.
std::vector<std::pair<std::string, std::string>> reachable_headers(const std::string& source,
                                                                   const std::filesystem::path& root);

}  // namespace tilewright
