// Compiles device code with NVRTC, opened at run time. Needs neither a GPU nor the vendor's header.
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

// Compiled kernels.
struct JitBinary {
  std::string code;                    // a cubin
  std::vector<std::string> functions;  // the kernels' names inside, in the order of the expressions
  std::string log;                     // with --ptxas-options=-v also registers and spills

  const std::string& function() const { return functions.front(); }
};

class Nvrtc {
 public:
  // `path` names the library; "": the first found. Throws Error(unsupported) naming the paths tried.
  explicit Nvrtc(const std::string& path = {});

  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }

  // Throws Error(internal) with the first expression and the compiler's log.
  JitBinary compile(const NvrtcSource& source) const;

 private:
  struct Functions;
  std::shared_ptr<const Functions> functions_;
  std::string version_;
  std::string path_;
};

}  // namespace tilewright
