// Reads the variables that MPI launchers set for the processes they start.
#include "core/local_rank.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace tilewright {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 4> launchers{
    {{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
     {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
     {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}}};

// Returns the number that the variable begins with: Slurm writes 4(x2),3 for 4 on each of two nodes and 3 on
// another.
std::optional<int> number(const char* name) {
  const char* text = ::secure_getenv(name);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const std::string whole = text;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

LocalRank local_rank() {
  for (const auto& [rank_name, count_name] : launchers) {
    const std::optional<int> rank = number(rank_name), count = number(count_name);
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

}  // namespace tilewright
