// Compiles device code at run time with NVRTC, opened when first needed; no GPU is required. The sources and
// the cache of results belong to kernel/. No vendor header is needed to include this file.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

struct NvrtcSource {
  std::string text;
  std::string name;  // shown in messages
  // Each names a kernel, e.g. an instance of a template.
  std::vector<std::string> expressions;
  std::vector<std::string> options;  // of the compiler, architecture included
};

struct NvrtcResult {
  std::string cubin;
  std::vector<std::string> functions;  // the kernels' names inside the cubin, in the order of the expressions
  std::string log;                     // with --ptxas-options=-v also registers and spills
};

class Nvrtc {
 public:
  // `path` names the library; "" takes the first found: by the loader's path, then in the toolkit's folders.
  // Throws Error(unsupported) naming the paths tried.
  explicit Nvrtc(const std::string& path = {});

  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }

  // Throws Error(internal) with the first expression and the compiler's log.
  NvrtcResult compile(const NvrtcSource& source) const;

 private:
  struct Functions;
  std::shared_ptr<const Functions> functions_;
  std::string version_;
  std::string path_;
};

}  // namespace tilewright
