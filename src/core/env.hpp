// Every environment variable of the project, with its default and a sentence each. Read once, when a Context
// is made.
#pragma once

#include <string>
#include <vector>

#include "core/local_rank.hpp"

namespace tilewright {

struct Environment {
  std::string
      cpu;  // TILEWRIGHT_CPU: forces the CPU kernels: portable, avx2, avx512; "" = best the machine has
  std::string
      wisdom;  // TILEWRIGHT_WISDOM: the user's wisdom; "" = tilewright/wisdom.sqlite in $XDG_DATA_HOME
  std::string notices;  // TILEWRIGHT_NOTICES: on (default), off: say when wisdom has no exact record
  std::string share;    // TILEWRIGHT_SHARE: folder that holds wisdom/; "" = beside the library
  std::string
      cache;  // TILEWRIGHT_CACHE: compiled kernels, logs of searches; "" = $XDG_CACHE_HOME or ~/.cache
  std::string cblas;  // TILEWRIGHT_CBLAS: CBLAS library for matrices above the small sizes; "" = first found
  std::string nvrtc;  // TILEWRIGHT_NVRTC: NVIDIA's run-time compiler; "" = first found
  std::string nvrtc_flags;  // TILEWRIGHT_NVRTC_FLAGS: further compiler options, separated by spaces
  std::string cublasmp;     // TILEWRIGHT_CUBLASMP: NVIDIA's distributed BLAS; "" = first found
  std::string jit;          // TILEWRIGHT_JIT: on (default), off: only prepare() compiles GPU kernels
  std::string team;         // TILEWRIGHT_TEAM: auto (default), own, openmp: whose threads run parallel calls
  std::string gpus;         // TILEWRIGHT_GPUS: how many or which GPUs may take host operands; "" = the rank's
  std::string gpu_memory;   // TILEWRIGHT_GPU_MEMORY: limit for each of them: 8GiB; "" = the free memory
  std::string log;          // TILEWRIGHT_LOG: off, warn (default), info, debug
  std::string blas;         // TILEWRIGHT_BLAS: auto (default), off, all: which BLAS calls are served
  std::string verbose;      // TILEWRIGHT_VERBOSE: 0 (default) to 3: how much is reported of BLAS calls
  std::string record;       // TILEWRIGHT_RECORD: file to which the problems of BLAS calls are recorded
  LocalRank local;          // set by MPI launchers; not a variable of this project

  static Environment read();
};

// Returns the folder for files that may be lost without harm: TILEWRIGHT_CACHE, else tilewright/ in
// $XDG_CACHE_HOME or ~/.cache; "" if none of these is set to an absolute path.
std::string cache_folder(const Environment& environment);

// Makes the path absolute relative to the current folder; "" stays "".
std::string absolute_path(const std::string& path);

// Returns the path of a file in the cache folder; "" if there is no such folder.
std::string cache_file(const Environment& environment, const char* name);

// Returns the folder for files that a user would miss: tilewright/ in $XDG_DATA_HOME or ~/.local/share; "" if
// there is no such folder.
std::string data_folder();

struct EnvironmentVariable {
  const char* name;
  const char* fallback;
  const char* meaning;
};
const std::vector<EnvironmentVariable>& environment_variables();

}  // namespace tilewright
