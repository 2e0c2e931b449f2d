// Every environment variable of the project, the folders that they name, and the rank that MPI launchers tell
// through them. Read once, when a Context is made.
#pragma once

#include <string>
#include <vector>

namespace tilewright {

// The rank of this process among those that an MPI launcher started on this node.
struct LocalRank {
  int rank = 0, count = 1;
};

// Reads the environment: Open MPI's OMPI_COMM_WORLD_LOCAL_RANK and _SIZE, MPICH's and Intel's MPI_LOCALRANKID
// and MPI_LOCALNRANKS, MVAPICH's MV2_COMM_WORLD_LOCAL_RANK and _SIZE, or Slurm's SLURM_LOCALID and
// SLURM_STEP_TASKS_PER_NODE. Without a valid pair the process counts as the only one.
LocalRank local_rank();

struct GpuPart {
  std::vector<int> positions;  // among the node's GPUs
  int sharers = 1;             // how many ranks use these GPUs, this rank included
};

// Deals `gpus` GPUs to the ranks as evenly as possible, neighbouring GPUs to neighbouring ranks. If there are
// fewer GPUs than ranks, each rank shares one with others.
GpuPart part_of_gpus(const LocalRank& local, int gpus);

// The variables TILEWRIGHT_CPU, TILEWRIGHT_WISDOM, ...; "" if unset. environment_variables() explains them.
struct Environment {
  std::string cpu, wisdom, notices, share, cache, cblas, nvrtc, nvrtc_flags, cublasmp, jit, team, gpus,
      gpu_memory, log, blas, verbose, record, learn, arrival;
  LocalRank local;

  static Environment read();
};

// True if TILEWRIGHT_PERF_MAP = 1: generated code is named for perf.
bool wants_perf_map();

struct EnvironmentVariable {
  const char* name;
  const char* fallback;
  const char* meaning;
};
const std::vector<EnvironmentVariable>& environment_variables();

// Makes the path absolute relative to the current folder; "" stays "".
std::string absolute_path(const std::string& path);

// Returns the folder for files that may be lost without harm: TILEWRIGHT_CACHE, else tilewright/ in
// $XDG_CACHE_HOME or ~/.cache; "" if none of these is set to an absolute path.
std::string cache_folder(const Environment& environment);

// Returns the path of a file in the cache folder; "" if there is no such folder.
std::string cache_file(const Environment& environment, const char* name);

// The folder for files that a user would miss: tilewright/ in $XDG_DATA_HOME or ~/.local/share, else "".
std::string data_folder();

// Returns the folder that holds the shipped `part`/ (wisdom, kernel); empty if none is installed.
std::string share_folder(const Environment& environment, const std::string& part);

// Returns the shared library or program that this code is part of; "" if the system does not say.
std::string own_file();

}  // namespace tilewright
