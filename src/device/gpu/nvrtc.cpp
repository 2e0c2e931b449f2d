// Looks up NVRTC's functions at run time, and compiles source text to cubin.
#include "device/gpu/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include "tilewright/types.hpp"

namespace tilewright {

struct Nvrtc::Functions {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcAddNameExpression) add_expression = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetLoweredName) lowered_name = nullptr;
  decltype(&nvrtcGetErrorString) error_text = nullptr;

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
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  nvrtcProgram get() const { return program_; }

 private:
  decltype(&nvrtcDestroyProgram) destroy_;
  nvrtcProgram program_;
};

}  // namespace

Nvrtc::Nvrtc(const std::string& path) {
  void* library = open_library(path, path_);
  auto functions = std::make_shared<Functions>();
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr)
      throw Error(ErrorCode::unsupported, "nvrtc", fmt::format("'{}' is too old: it has no {}", path_, name));
  };
  find("nvrtcVersion", functions->version);
  find("nvrtcCreateProgram", functions->create);
  find("nvrtcDestroyProgram", functions->destroy);
  find("nvrtcAddNameExpression", functions->add_expression);
  find("nvrtcCompileProgram", functions->compile);
  find("nvrtcGetProgramLogSize", functions->log_size);
  find("nvrtcGetProgramLog", functions->log);
  find("nvrtcGetCUBINSize", functions->cubin_size);
  find("nvrtcGetCUBIN", functions->cubin);
  find("nvrtcGetLoweredName", functions->lowered_name);
  find("nvrtcGetErrorString", functions->error_text);
  int major = 0, minor = 0;
  functions->check(functions->version(&major, &minor), "nvrtcVersion");
  version_ = fmt::format("nvrtc {}.{}", major, minor);
  functions_ = std::move(functions);
}

NvrtcResult Nvrtc::compile(const NvrtcSource& source) const {
  const Functions& f = *functions_;
  nvrtcProgram handle = nullptr;
  f.check(f.create(&handle, source.text.c_str(), source.name.c_str(), 0, nullptr, nullptr),
          "nvrtcCreateProgram");
  const Program program(f.destroy, handle);
  for (const auto& expression : source.expressions)
    f.check(f.add_expression(program.get(), expression.c_str()), "nvrtcAddNameExpression");
  std::vector<const char*> options;
  for (const auto& option : source.options) options.push_back(option.c_str());
  const nvrtcResult compiled = f.compile(program.get(), static_cast<int>(options.size()), options.data());
  NvrtcResult result;
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
  result.cubin.resize(size);
  f.check(f.cubin(program.get(), result.cubin.data()), "nvrtcGetCUBIN");
  for (const auto& expression : source.expressions) {
    const char* lowered = nullptr;
    f.check(f.lowered_name(program.get(), expression.c_str(), &lowered), "nvrtcGetLoweredName");
    result.functions.emplace_back(lowered);
  }
  return result;
}

}  // namespace tilewright
