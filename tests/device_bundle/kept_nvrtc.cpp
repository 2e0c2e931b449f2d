// Takes the place of NVRTC (TILEWRIGHT_NVRTC) where a bundle brings compiled kernels: it answers with the
// version that made those, so that the cache serves them, and passes every request on to the machine's own
// compiler. What that one had to compile is written to the file that TILEWRIGHT_NOT_KEPT names, a line per
// kernel.
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

void* real() {
  static void* const library = [] {
    void* found = nullptr;
    for (const char* name :
         {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
      if (found == nullptr) found = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return found;
  }();
  return library;
}

template <class F, class... Arguments>
nvrtcResult pass_on(const char* name, Arguments... arguments) {
  const auto function = real() == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(real(), name));
  return function == nullptr ? NVRTC_ERROR_INTERNAL_ERROR : function(arguments...);
}

void note(const char* expression) {
  const char* path = std::getenv("TILEWRIGHT_NOT_KEPT");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "ae");
  if (file == nullptr) return;
  std::fprintf(file, "%s\n", expression);
  std::fclose(file);
}

}  // namespace

#define PASS_ON(function, ...) pass_on<decltype(function)>(#function, __VA_ARGS__)

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = CUDA_VERSION / 1000, *minor = CUDA_VERSION % 1000 / 10;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char* name, int count,
                               const char* const* headers, const char* const* names) {
  return PASS_ON(nvrtcCreateProgram, program, text, name, count, headers, names);
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) { return PASS_ON(nvrtcDestroyProgram, program); }
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
  note(expression);
  return PASS_ON(nvrtcAddNameExpression, program, expression);
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  return PASS_ON(nvrtcCompileProgram, program, count, options);
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
  return PASS_ON(nvrtcGetProgramLogSize, program, size);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  return PASS_ON(nvrtcGetProgramLog, program, log);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  return PASS_ON(nvrtcGetCUBINSize, program, size);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image) {
  return PASS_ON(nvrtcGetCUBIN, program, image);
}
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name) {
  return PASS_ON(nvrtcGetLoweredName, program, expression, name);
}
const char* nvrtcGetErrorString(nvrtcResult result) {
  const auto function =
      real() == nullptr
          ? nullptr
          : reinterpret_cast<decltype(&nvrtcGetErrorString)>(dlsym(real(), "nvrtcGetErrorString"));
  return function == nullptr ? "no NVRTC was found on this machine" : function(result);
}

}  // extern "C"
