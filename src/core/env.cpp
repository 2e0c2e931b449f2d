// The one table of environment variables, foreign ones included. The code that uses one validates it.
#include "core/env.hpp"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/host/fork_gate.hpp"

namespace tilewright {
namespace {

std::string variable(const char* name) {
  // secure_getenv returns null in a program with more rights than its caller (set-user-ID).
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

struct Entry {
  EnvironmentVariable variable;
  std::string Environment::*read = nullptr;  // null: read elsewhere, where it is needed
};

constexpr Entry entries[] = {
    {{"TILEWRIGHT_CPU", "",
      "instruction set of CPU kernels: portable, avx2 or avx512; empty: the best of this machine"},
     &Environment::cpu},
    {{"TILEWRIGHT_WISDOM", "",
      "the user's wisdom, read before the shipped files: a database, or JSON lines, which are only read; "
      "empty: tilewright/wisdom.sqlite in $XDG_DATA_HOME or ~/.local/share"},
     &Environment::wisdom},
    {{"TILEWRIGHT_NOTICES", "",
      "on: print one notice on stderr for each problem without an exact record; off: keep none; empty: "
      "print none"},
     &Environment::notices},
    {{"TILEWRIGHT_SHARE", "", "folder that holds wisdom/ and kernel/; empty: beside the library"},
     &Environment::share},
    {{"TILEWRIGHT_CACHE", "",
      "folder for compiled GPU kernels and logs of searches; empty: $XDG_CACHE_HOME or ~/.cache"},
     &Environment::cache},
    {{"TILEWRIGHT_CBLAS", "",
      "CBLAS library for matrices above the small sizes; none: use no CBLAS; empty: the first one found"},
     &Environment::cblas},
    {{"TILEWRIGHT_NVRTC", "", "run-time compiler library for GPU kernels; empty: the first one found"},
     &Environment::nvrtc},
    {{"TILEWRIGHT_NVRTC_FLAGS", "",
      "further options of that compiler, separated by spaces, such as -lineinfo for a profiler"},
     &Environment::nvrtc_flags},
    {{"TILEWRIGHT_CUBLASMP", "", "distributed BLAS library for GPUs, cuBLASMp; empty: the first one found"},
     &Environment::cublasmp},
    {{"TILEWRIGHT_LEARN", "off",
      "calls: plans without an exact record try their best configs in the program's own calls and keep the "
      "fastest; off: they do not"},
     &Environment::learn},
    {{"TILEWRIGHT_JIT", "on",
      "on or off; off: only prepare() compiles GPU kernels, and calls use the kernels in the cache"},
     &Environment::jit},
    {{"TILEWRIGHT_TEAM", "auto",
      "threads that run a call: own, the library's; openmp; auto: OpenMP's where the program runs them, or "
      "sets their places or how they wait, else own"},
     &Environment::team},
    {{"TILEWRIGHT_ARRIVAL", "back_to_back",
      "idle: calls are isolated and use wisdom of `tune --arrival idle`; back_to_back: they come in loops"},
     &Environment::arrival},
    {{"TILEWRIGHT_GPUS", "",
      "GPUs that products of host operands may use: a number of GPUs, or a list such as 0,2; empty: all, "
      "divided among the MPI ranks of a node"},
     &Environment::gpus},
    {{"TILEWRIGHT_GPU_MEMORY", "",
      "memory of each GPU that they may use, such as 8GiB; empty: what is free, or an equal part of a GPU "
      "that several ranks share"},
     &Environment::gpu_memory},
    {{"TILEWRIGHT_LOG", "",
      "messages of the library on stderr: off, warn, info or debug; empty: none (the command line: warn)"},
     &Environment::log},
    {{"TILEWRIGHT_BLAS", "auto",
      "BLAS calls that libtilewright_blas computes itself: auto (where it is faster), off or all"},
     &Environment::blas},
    {{"TILEWRIGHT_VERBOSE", "0",
      "who serves, on stderr: 1 a summary of libtilewright_blas at exit, 2 also each new plan and shape, 3 "
      "also each BLAS call; from 1 on libtilewright_scalapack prints the times of its factorizations"},
     &Environment::verbose},
    {{"TILEWRIGHT_RECORD", "",
      "file in which libtilewright_blas records the problems of BLAS calls; %p stands for the process"},
     &Environment::record},
    {{"TILEWRIGHT_PERF_MAP", "0", "1: name generated CPU kernels for perf, in /tmp/perf-PID.map"}},
    {{"TILEWRIGHT_SCALAPACK_BLOCK", "256",
      "depth of the products that PBLAS makes of a larger one under libtilewright_scalapack, the same on "
      "all ranks: 1 to 1048576"}},
    {{"XDG_DATA_HOME", "", "absolute path of the folder of the user's wisdom; empty: ~/.local/share"}},
    {{"XDG_CACHE_HOME", "", "absolute path of the folder of logs and compiled kernels; empty: ~/.cache"}},
    {{"HOME", "", "absolute path used for ~ in the two above; empty: nothing is kept"}},
    {{"OMP_NUM_THREADS", "",
      "threads of a call whose options set none; empty: OpenMP's default, the CPUs it may use"}},
    {{"OMP_STACKSIZE", "",
      "stack of the library's threads, such as 512K; empty: GOMP_STACKSIZE, else the system's default"}},
    {{"GOMP_STACKSIZE", "", "the same, where OMP_STACKSIZE is empty"}},
    {{"OMP_WAIT_POLICY", "", "if set, TILEWRIGHT_TEAM=auto runs calls on OpenMP's threads"}},
    {{"GOMP_SPINCOUNT", "", "the same"}},
    {{"CONDA_PREFIX", "", "its lib/ is searched for cuBLASMp"}},
    {{"CUDA_HOME", "", "its lib64/ is searched for cuBLASMp"}},
    {{"CUDA_PATH", "", "the same, after CUDA_HOME"}},
    {{"OMPI_COMM_WORLD_LOCAL_RANK", "",
      "with OMPI_COMM_WORLD_LOCAL_SIZE the rank on its node, which selects the GPUs of this rank; so do "
      "MPI_LOCALRANKID with MPI_LOCALNRANKS, MV2_COMM_WORLD_LOCAL_RANK with MV2_COMM_WORLD_LOCAL_SIZE, and "
      "SLURM_LOCALID with SLURM_STEP_TASKS_PER_NODE"}},
    {{"MKLROOT", "", "tool only: its lib/ is searched for MKL, a peer of bench"}}};

constexpr std::array<std::pair<const char*, const char*>, 4> launchers{
    {{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
     {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
     {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}}};

// Returns the variable's leading number: Slurm writes 4(x2),3 for 4 on each of two nodes and 3 on another.
std::optional<int> leading_number(const char* name) {
  int value = 0;
  const std::string text = variable(name);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// Returns a folder of the user. A relative path in the variable is ignored (XDG Base Directory
// Specification); otherwise code would be loaded from whatever folder a program happens to run in.
std::string user_folder(const char* name, const char* below_home) {
  if (const std::string folder = variable(name); folder.starts_with('/')) return folder + "/tilewright";
  const std::string home = variable("HOME");
  return home.starts_with('/') ? home + below_home + "/tilewright" : "";
}

}  // namespace

LocalRank local_rank() {
  for (const auto& [rank_name, count_name] : launchers) {
    const std::optional<int> rank = leading_number(rank_name), count = leading_number(count_name);
    if (rank && count && *rank >= 0 && *rank < *count) return {*rank, *count};
  }
  return {};
}

GpuPart part_of_gpus(const LocalRank& local, int gpus) {
  GpuPart part;
  if (gpus <= 0) return part;
  const auto first_of = [&](int rank) { return int(std::int64_t(rank) * gpus / local.count); };
  if (gpus >= local.count) {
    for (int gpu = first_of(local.rank); gpu < first_of(local.rank + 1); ++gpu) part.positions.push_back(gpu);
    return part;
  }
  const int own = first_of(local.rank);
  part.positions = {own};
  part.sharers = 0;
  for (int rank = 0; rank < local.count; ++rank) part.sharers += first_of(rank) == own;
  return part;
}

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

// A program reports the name it was started with, which may be a word that the shell searched in PATH.
std::string own_file() {
  namespace fs = std::filesystem;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&share_folder), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code error;
  fs::path file;
  if (std::strchr(info.dli_fname, '/') != nullptr) file = fs::canonical(info.dli_fname, error);
  if (error || file.empty()) file = fs::canonical("/proc/self/exe", error);
  return error ? "" : file.string();
}

std::string share_folder(const Environment& environment, const std::string& part) {
  namespace fs = std::filesystem;
  if (!environment.share.empty()) return environment.share;
  std::error_code error;
  const fs::path own = fs::path(own_file()).parent_path();
  // Searches beside bin/ or lib/, and one level further up for lib/<multiarch triplet>/.
  for (const char* up : {"..", "../.."}) {
    const fs::path folder = own / up / "share" / "tilewright";
    if (!own.empty() && fs::is_directory(folder / part, error)) return folder.lexically_normal().string();
  }
  return {};
}

bool wants_perf_map() { return variable("TILEWRIGHT_PERF_MAP") == "1"; }

const std::vector<EnvironmentVariable>& environment_variables() {
  static constinit Once<const std::vector<EnvironmentVariable>> once;
  return once.get([] {
    std::vector<EnvironmentVariable> all;
    for (const Entry& entry : entries) all.push_back(entry.variable);
    return all;
  });
}

}  // namespace tilewright
