// Compiled kernels on disk, shared by a user's processes only. An entry is found by everything its code
// depends on, written aside and renamed, and rebuilt if anything is wrong with it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/gpu/nvrtc.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

// Thrown for a kernel that is not cached when nothing may be compiled.
class NotCompiled : public Error {
 public:
  explicit NotCompiled(const std::string& message) : Error(ErrorCode::unsupported, "no_jit", message) {}
};

// The inputs that the code of a kernel depends on.
struct JitKey {
  std::string source;
  std::vector<std::pair<std::string, std::string>> headers;  // name and text of all included ones
  std::vector<std::string> options;                          // architecture included
  std::string compiler;                                      // name and version

  // Returns the whole key as one text; equal texts mean equal code.
  std::string text() const;
  // Returns the same text without the compiler.
  std::string text_for_any_compiler() const;
  // Returns the key that has this text; nothing if no key has.
  static std::optional<JitKey> parse(const std::string& text);
};

class JitCache {
 public:
  // "" disables caching: every request is built.
  explicit JitCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Returns the cached binary, or caches and returns the result of `build`; then files that killed processes
  // left an hour ago are removed. If the folder cannot be written, nothing is cached.
  JitBinary get(const JitKey& key, const std::function<JitBinary()>& build) const;

  // Returns the cached binary, if there is one. A key without a compiler matches entries of any compiler.
  std::optional<JitBinary> find(const JitKey& key) const;

  const std::filesystem::path& folder() const { return folder_; }
  // Returns why the folder is not used (another user could have written it); "" if it is used or missing.
  std::string distrust() const;

  // Returns the folder of the entry of `key`.
  std::filesystem::path entry(const JitKey& key) const;

 private:
  std::filesystem::path folder_;
};

// Returns the texts of the headers that `source` includes in quotes, directly or not, from `root`, in order.
// Others are left out: the compiler does not see them either.
std::vector<std::pair<std::string, std::string>> reachable_headers(const std::string& source,
                                                                   const std::filesystem::path& root);

}  // namespace tilewright
