// Looks up NVRTC's functions at run time, and compiles source text to cubin.
#include "device/gpu/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include "device/loaded_function.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

struct Nvrtc::Functions {
  std::string path;
  void* library;
  decltype(&nvrtcVersion) version = find("nvrtcVersion");
  decltype(&nvrtcCreateProgram) create = find("nvrtcCreateProgram");
  decltype(&nvrtcDestroyProgram) destroy = find("nvrtcDestroyProgram");
  decltype(&nvrtcAddNameExpression) add_expression = find("nvrtcAddNameExpression");
  decltype(&nvrtcCompileProgram) compile = find("nvrtcCompileProgram");
  decltype(&nvrtcGetProgramLogSize) log_size = find("nvrtcGetProgramLogSize");
  decltype(&nvrtcGetProgramLog) log = find("nvrtcGetProgramLog");
  decltype(&nvrtcGetCUBINSize) cubin_size = find("nvrtcGetCUBINSize");
  decltype(&nvrtcGetCUBIN) cubin = find("nvrtcGetCUBIN");
  decltype(&nvrtcGetLoweredName) lowered_name = find("nvrtcGetLoweredName");
  decltype(&nvrtcGetErrorString) error_text = find("nvrtcGetErrorString");

  LoadedFunction find(const char* name) const {
    const LoadedFunction found(library, name);
    if (found.address != nullptr) return found;
    throw Error(ErrorCode::unsupported, "nvrtc", fmt::format("'{}' is too old: it has no {}", path, name));
  }
  void check(nvrtcResult result, const char* call) const {
    if (result != NVRTC_SUCCESS)
      throw Error(ErrorCode::internal, "nvrtc", fmt::format("{} failed: {}", call, error_text(result)));
  }
};

namespace {

void* open_library(const std::string& path, std::string& opened) {
  std::vector<std::string> names = {path};
  if (path.empty())
    names = {"libnvrtc.so.13",
             "libnvrtc.so.12",
             "libnvrtc.so",
             "/usr/local/cuda/lib64/libnvrtc.so",
             "/usr/local/cuda/lib/libnvrtc.so",
             "/opt/cuda/lib64/libnvrtc.so"};
  std::string tried;
  for (const auto& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      opened = name;
      return library;
    }
    tried += (tried.empty() ? "" : ", ") + name;
  }
  throw Error(ErrorCode::unsupported, "nvrtc",
              fmt::format("no GPU compiler was found (tried {}; name one in TILEWRIGHT_NVRTC)", tried));
}

// Destroys the program however its compilation ends.
class Program {
 public:
  Program(decltype(&nvrtcDestroyProgram) destroy, nvrtcProgram program)
      : destroy_(destroy), program_(program) {}
  ~Program() { destroy_(&program_); }
  Program& operator=(Program&&) = delete;
  nvrtcProgram get() const { return program_; }

 private:
  decltype(&nvrtcDestroyProgram) destroy_;
  nvrtcProgram program_;
};

}  // namespace

Nvrtc::Nvrtc(const std::string& path) {
  void* library = open_library(path, path_);
  auto functions = std::make_shared<const Functions>(Functions{path_, library});
  int major = 0, minor = 0;
  functions->check(functions->version(&major, &minor), "nvrtcVersion");
  version_ = fmt::format("nvrtc {}.{}", major, minor);
  functions_ = std::move(functions);
}

JitBinary Nvrtc::compile(const NvrtcSource& source) const {
  const Functions& f = *functions_;
  nvrtcProgram handle = nullptr;
  f.check(f.create(&handle, source.text.c_str(), source.name.c_str(), 0, nullptr, nullptr),
          "nvrtcCreateProgram");
  const Program program(f.destroy, handle);
  for (const auto& expression : source.expressions)
    f.check(f.add_expression(program.get(), expression.c_str()), "nvrtcAddNameExpression");
  std::vector<const char*> options;
  for (const auto& option : source.options) options.push_back(option.c_str());
  const nvrtcResult compiled = f.compile(program.get(), int(options.size()), options.data());
  JitBinary result;
  std::size_t size = 0;
  f.check(f.log_size(program.get(), &size), "nvrtcGetProgramLogSize");
  result.log.resize(size);
  f.check(f.log(program.get(), result.log.data()), "nvrtcGetProgramLog");
  while (!result.log.empty() && result.log.back() == '\0') result.log.pop_back();
  if (compiled != NVRTC_SUCCESS)
    throw Error(ErrorCode::internal, "config",
                fmt::format("{} does not compile: {}\n{}", source.expressions.front(), f.error_text(compiled),
                            result.log));
  f.check(f.cubin_size(program.get(), &size), "nvrtcGetCUBINSize");
  result.code.resize(size);
  f.check(f.cubin(program.get(), result.code.data()), "nvrtcGetCUBIN");
  for (const auto& expression : source.expressions) {
    const char* lowered = nullptr;
    f.check(f.lowered_name(program.get(), expression.c_str(), &lowered), "nvrtcGetLoweredName");
    result.functions.emplace_back(lowered);
  }
  return result;
}

}  // namespace tilewright
