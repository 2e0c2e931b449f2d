// Reads the environment variables of the project into one value. It gives them no meaning: whoever uses a
// variable validates it and names it in the error.
#include "core/env.hpp"

#include <cstdlib>

#include "core/host/fork_gate.hpp"

namespace tilewright {
namespace {

std::string variable(const char* name) {
  const char* value =
      ::secure_getenv(name);  // of a program with more rights than its caller it tells nothing
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

Environment Environment::read() {
  Environment environment;
  environment.cpu = variable("TILEWRIGHT_CPU");
  environment.wisdom = variable("TILEWRIGHT_WISDOM");
  environment.notices = variable("TILEWRIGHT_NOTICES");
  environment.share = variable("TILEWRIGHT_SHARE");
  environment.cache = variable("TILEWRIGHT_CACHE");
  environment.cblas = variable("TILEWRIGHT_CBLAS");
  environment.nvrtc = variable("TILEWRIGHT_NVRTC");
  environment.nvrtc_flags = variable("TILEWRIGHT_NVRTC_FLAGS");
  environment.cublasmp = variable("TILEWRIGHT_CUBLASMP");
  environment.jit = variable("TILEWRIGHT_JIT");
  environment.team = variable("TILEWRIGHT_TEAM");
  environment.gpus = variable("TILEWRIGHT_GPUS");
  environment.gpu_memory = variable("TILEWRIGHT_GPU_MEMORY");
  environment.log = variable("TILEWRIGHT_LOG");
  environment.blas = variable("TILEWRIGHT_BLAS");
  environment.verbose = variable("TILEWRIGHT_VERBOSE");
  environment.record = variable("TILEWRIGHT_RECORD");
  environment.local = local_rank();
  return environment;
}

namespace {

// A folder of the user's. What is no absolute path says nothing (XDG Base Directory Specification), else code
// would come from whatever folder a program happens to run in.
std::string user_folder(const char* name, const char* below_home) {
  if (const std::string folder = variable(name); folder.starts_with('/')) return folder + "/tilewright";
  const std::string home = variable("HOME");
  return home.starts_with('/') ? home + below_home + "/tilewright" : "";
}

}  // namespace

std::string cache_folder(const Environment& environment) {
  if (!environment.cache.empty()) return environment.cache;
  return user_folder("XDG_CACHE_HOME", "/.cache");
}

std::string cache_file(const Environment& environment, const char* name) {
  const std::string folder = cache_folder(environment);
  return folder.empty() ? "" : folder + "/" + name;
}

std::string data_folder() { return user_folder("XDG_DATA_HOME", "/.local/share"); }

const std::vector<EnvironmentVariable>& environment_variables() {
  static constinit Once<const std::vector<EnvironmentVariable>> once;
  return once.get([] {
    return std::vector<EnvironmentVariable>{
        {"TILEWRIGHT_CPU", "",
         "forces the CPU kernels: portable, avx2 or avx512; empty: the best the machine has"},
        {"TILEWRIGHT_WISDOM", "",
         "the user's wisdom, a database or, read-only, JSON lines, read before the shipped files; empty: "
         "tilewright/wisdom.sqlite in $XDG_DATA_HOME or ~/.local/share"},
        {"TILEWRIGHT_NOTICES", "on", "one notice for each problem without an exact record: on or off"},
        {"TILEWRIGHT_SHARE", "", "folder that holds wisdom/ and kernel/; empty: beside the library"},
        {"TILEWRIGHT_CACHE", "",
         "folder for measured ceilings and compiled GPU kernels; empty: $XDG_CACHE_HOME or ~/.cache"},
        {"TILEWRIGHT_CBLAS", "",
         "CBLAS library for matrices above the small sizes; none: do without; empty: the first one found"},
        {"TILEWRIGHT_NVRTC", "", "run-time compiler library for GPU kernels; empty: the first one found"},
        {"TILEWRIGHT_NVRTC_FLAGS", "",
         "what else that compiler is told, separated by spaces, such as -lineinfo for a profiler"},
        {"TILEWRIGHT_CUBLASMP", "",
         "distributed BLAS library for GPUs, cuBLASMp; empty: the first one found"},
        {"TILEWRIGHT_JIT", "on",
         "on, or off: no call compiles a GPU kernel, only prepare() does; others use what is kept"},
        {"TILEWRIGHT_TEAM", "auto",
         "whose threads share a call out: own, the library's; openmp; auto: OpenMP's where the program has "
         "them at work, or tells them where to stay or how to wait, else own"},
        {"TILEWRIGHT_GPUS", "",
         "which GPUs products of host operands may use: how many, or a list such as 0,2; empty: all, of "
         "which "
         "each of several ranks of MPI on one node has its part"},
        {"TILEWRIGHT_GPU_MEMORY", "",
         "how much of each GPU's memory they may use, such as 8GiB; empty: what is free, or an equal part of "
         "a "
         "GPU that several ranks have"},
        {"TILEWRIGHT_LOG", "warn", "what is logged to stderr: off, warn, info or debug"},
        {"TILEWRIGHT_BLAS", "auto",
         "which calls of BLAS names libtilewright_blas serves itself: auto, those that win; off, none; all"},
        {"TILEWRIGHT_VERBOSE", "0",
         "what libtilewright_blas says on stderr: 1 a summary at exit, 2 each new shape too, 3 each call; "
         "from "
         "1 on libtilewright_scalapack says what its factorizations spent"},
        {"TILEWRIGHT_RECORD", "",
         "file in which libtilewright_blas records the problems of BLAS calls; %p stands for the process"},
    };
  });
}

}  // namespace tilewright
