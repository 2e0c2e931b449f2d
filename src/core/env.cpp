// The one table of environment variables: those read into an Environment, those that other parts read by
// rules of their own, and foreign variables that affect this library. The table gives them no meaning: the
// code that uses a variable validates it and names it in the error.
#include "core/env.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/host/fork_gate.hpp"

namespace tilewright {
namespace {

std::string variable(const char* name) {
  const char* value =
      ::secure_getenv(name);  // returns null in a program with more rights than its caller (set-user-ID)
  return value == nullptr ? std::string() : std::string(value);
}

struct Entry {
  EnvironmentVariable variable;
  std::string Environment::*read = nullptr;  // null: read elsewhere, where it is needed
};

constexpr Entry entries[] = {
    {{"TILEWRIGHT_CPU", "",
      "forces the CPU kernels: portable, avx2 or avx512; empty: the best the machine has"},
     &Environment::cpu},
    {{"TILEWRIGHT_WISDOM", "",
      "the user's wisdom, a database or, read-only, JSON lines, read before the shipped files; empty: "
      "tilewright/wisdom.sqlite in $XDG_DATA_HOME or ~/.local/share"},
     &Environment::wisdom},
    {{"TILEWRIGHT_NOTICES", "on",
      "one notice for each problem without an exact record: on or off; in Python only where it is set"},
     &Environment::notices},
    {{"TILEWRIGHT_SHARE", "", "folder that holds wisdom/ and kernel/; empty: beside the library"},
     &Environment::share},
    {{"TILEWRIGHT_CACHE", "",
      "folder for compiled GPU kernels and logs of searches; empty: $XDG_CACHE_HOME or ~/.cache"},
     &Environment::cache},
    {{"TILEWRIGHT_CBLAS", "",
      "CBLAS library for matrices above the small sizes; none: do without; empty: the first one found"},
     &Environment::cblas},
    {{"TILEWRIGHT_NVRTC", "", "run-time compiler library for GPU kernels; empty: the first one found"},
     &Environment::nvrtc},
    {{"TILEWRIGHT_NVRTC_FLAGS", "",
      "what else that compiler is told, separated by spaces, such as -lineinfo for a profiler"},
     &Environment::nvrtc_flags},
    {{"TILEWRIGHT_CUBLASMP", "", "distributed BLAS library for GPUs, cuBLASMp; empty: the first one found"},
     &Environment::cublasmp},
    {{"TILEWRIGHT_JIT", "on",
      "on, or off: no call compiles a GPU kernel, only prepare() does; others use what is kept"},
     &Environment::jit},
    {{"TILEWRIGHT_TEAM", "auto",
      "whose threads share a call out: own, the library's; openmp; auto: OpenMP's where the program has "
      "them at work, or tells them where to stay or how to wait, else own"},
     &Environment::team},
    {{"TILEWRIGHT_GPUS", "",
      "which GPUs products of host operands may use: how many, or a list such as 0,2; empty: all, of which "
      "each of several ranks of MPI on one node has its part"},
     &Environment::gpus},
    {{"TILEWRIGHT_GPU_MEMORY", "",
      "how much of each GPU's memory they may use, such as 8GiB; empty: what is free, or an equal part of a "
      "GPU that several ranks have"},
     &Environment::gpu_memory},
    {{"TILEWRIGHT_LOG", "warn", "what is logged to stderr: off, warn, info or debug"}, &Environment::log},
    {{"TILEWRIGHT_BLAS", "auto",
      "which calls of BLAS names libtilewright_blas serves itself: auto, those that win; off, none; all"},
     &Environment::blas},
    {{"TILEWRIGHT_VERBOSE", "0",
      "what libtilewright_blas says on stderr: 1 a summary at exit, 2 each new shape too, 3 each call; from "
      "1 on libtilewright_scalapack says what its factorizations spent"},
     &Environment::verbose},
    {{"TILEWRIGHT_RECORD", "",
      "file in which libtilewright_blas records the problems of BLAS calls; %p stands for the process"},
     &Environment::record},
    {{"TILEWRIGHT_SCALAPACK_BLOCK", "256",
      "depth of the products that PBLAS makes of a larger one under libtilewright_scalapack, the same on "
      "all ranks: 1 to 1048576"}},
    {{"XDG_DATA_HOME", "", "absolute path that the user's wisdom lies in; empty: ~/.local/share"}},
    {{"XDG_CACHE_HOME", "", "absolute path that logs and compiled kernels lie in; empty: ~/.cache"}},
    {{"HOME", "", "absolute path that stands for ~ in the two before; empty: nothing is kept"}},
    {{"OMP_NUM_THREADS", "",
      "how many threads a call has unless its options say; empty: OpenMP's default, the CPUs it may use"}},
    {{"OMP_STACKSIZE", "",
      "stack of the library's threads, such as 512K; empty: GOMP_STACKSIZE, else the system's default"}},
    {{"GOMP_STACKSIZE", "", "the same, where OMP_STACKSIZE is empty"}},
    {{"OMP_WAIT_POLICY", "", "set: TILEWRIGHT_TEAM=auto shares calls out among OpenMP's threads"}},
    {{"GOMP_SPINCOUNT", "", "the same"}},
    {{"CONDA_PREFIX", "", "its lib/ is searched for cuBLASMp"}},
    {{"CUDA_HOME", "", "its lib64/ is searched for cuBLASMp"}},
    {{"CUDA_PATH", "", "the same, after CUDA_HOME"}},
    {{"OMPI_COMM_WORLD_LOCAL_RANK", "",
      "with OMPI_COMM_WORLD_LOCAL_SIZE this rank's place on its node, which says whose GPUs are its part; so "
      "do MPI_LOCALRANKID with MPI_LOCALNRANKS, MV2_COMM_WORLD_LOCAL_RANK with MV2_COMM_WORLD_LOCAL_SIZE, "
      "and "
      "SLURM_LOCALID with SLURM_STEP_TASKS_PER_NODE"}},
    {{"MKLROOT", "", "of the tool: its lib/ is searched for MKL, one of bench's peers"}}};

// Returns a folder of the user. A relative path in the variable is ignored (XDG Base Directory
// Specification); otherwise code would be loaded from whatever folder a program happens to run in.
std::string user_folder(const char* name, const char* below_home) {
  if (const std::string folder = variable(name); folder.starts_with('/')) return folder + "/tilewright";
  const std::string home = variable("HOME");
  return home.starts_with('/') ? home + below_home + "/tilewright" : "";
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::string absolute = path.empty() ? "" : std::filesystem::absolute(path, error).string();
  return error ? path : absolute;
}

Environment Environment::read() {
  Environment environment;
  for (const Entry& entry : entries)
    if (entry.read != nullptr) environment.*entry.read = variable(entry.variable.name);
  // Relative paths refer to the folder that the program is in now: daemons and other programs may change it.
  for (auto path : {&Environment::wisdom, &Environment::share, &Environment::cache, &Environment::record})
    environment.*path = absolute_path(environment.*path);
  environment.local = local_rank();
  return environment;
}

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
    std::vector<EnvironmentVariable> all;
    for (const Entry& entry : entries) all.push_back(entry.variable);
    return all;
  });
}

}  // namespace tilewright
