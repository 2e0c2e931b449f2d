// A run-time compiler that keeps the expression, which fake_cuda.cpp runs, instead of compiling it. It
// replaces NVRTC through TILEWRIGHT_NVRTC. Other tests check that kernels compile. It reports spilled
// registers for expressions that contain the text of TILEWRIGHT_FAKE_SPILLS, and more registers than fit for
// those that contain the text of TILEWRIGHT_FAKE_REGISTERS.
#include <nvrtc.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>

#include "fake_kernels.hpp"

struct _nvrtcProgram {
  std::deque<std::string> expressions;  // a deque, so that the texts keep their addresses
  std::string image, log;
};

namespace {

bool is_named_by(const char* variable, const std::string& expression) {
  const char* text = std::getenv(variable);
  return text != nullptr && expression.find(text) != std::string::npos;
}

std::string report_of(const std::string& expression) {
  if (is_named_by("TILEWRIGHT_FAKE_SPILLS", expression))
    return "Used 255 registers, 0 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads";
  return is_named_by("TILEWRIGHT_FAKE_REGISTERS", expression) ? "Used 4000 registers" : "";
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char*, const char*, int, const char* const*,
                               const char* const*) {
  *program = new _nvrtcProgram;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
  program->expressions.push_back(expression);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  std::string all;
  for (const std::string& expression : program->expressions) all += expression + "\n";
  program->image = tilewright::fake_cuda::image_mark + all;
  program->log = report_of(all);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
  *size = program->log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  *size = program->image.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image) {
  std::memcpy(image, program->image.c_str(), program->image.size() + 1);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* wanted, const char** name) {
  for (const std::string& expression : program->expressions)
    if (expression == wanted) {
      *name = expression.c_str();
      return NVRTC_SUCCESS;
    }
  return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}
const char* nvrtcGetErrorString(nvrtcResult) { return "the fake compiler fails"; }

}  // extern "C"
