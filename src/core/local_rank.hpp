// The rank of this process among the processes that an MPI launcher started on this node, and its share of
// the node's GPUs.
#pragma once

#include <vector>

namespace tilewright {

struct LocalRank {
  int rank = 0, count = 1;  // on this node
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

}  // namespace tilewright
