// Which of the processes that a launcher of MPI started on this node this one is, and what of the node's GPUs
// is therefore its own.
#pragma once

#include <vector>

namespace tilewright {

struct LocalRank {
  int rank = 0, count = 1;  // on this node
};

// As the environment says: Open MPI's OMPI_COMM_WORLD_LOCAL_RANK and _SIZE, MPICH's and Intel's
// MPI_LOCALRANKID and MPI_LOCALNRANKS, MVAPICH's MV2_COMM_WORLD_LOCAL_RANK and _SIZE, or Slurm's
// SLURM_LOCALID and SLURM_STEP_TASKS_PER_NODE. The only process where none of these pairs is there and makes
// sense.
LocalRank local_rank();

struct GpuPart {
  std::vector<int> positions;  // among the node's GPUs
  int sharers = 1;             // how many ranks use these, this one counted
};

// What rank r of R gets of so many GPUs: neighbours for neighbours, as evenly as may be. Of fewer GPUs than
// ranks each has one to use, with others.
GpuPart part_of_gpus(const LocalRank& local, int gpus);

}  // namespace tilewright
