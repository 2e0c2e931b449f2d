// The index of this process on its node by each launcher's variables, and the assignment of the node's GPUs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/env.hpp"

namespace tilewright {
namespace {

LocalRank with(const char* rank_name, const char* rank, const char* count_name, const char* count) {
  setenv(rank_name, rank, 1);
  if (count != nullptr) setenv(count_name, count, 1);
  const LocalRank found = local_rank();
  unsetenv(rank_name);
  unsetenv(count_name);
  return found;
}

TEST(LocalRank, EachLauncherIsUnderstood) {
  for (const auto& [rank, count] : std::vector<std::pair<const char*, const char*>>{
           {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
           {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
           {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
           {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}}) {
    const LocalRank local = with(rank, "2", count, "4");
    EXPECT_EQ(local.rank, 2) << rank;
    EXPECT_EQ(local.count, 4) << rank;
    for (const char* wrong : {"2", "0", "-3", "many", ""})
      EXPECT_EQ(with(rank, "2", count, wrong).count, 1) << rank << " of " << wrong;
    EXPECT_EQ(with(rank, "2", count, nullptr).count, 1) << rank;
  }
  EXPECT_EQ(with("SLURM_LOCALID", "3", "SLURM_STEP_TASKS_PER_NODE", "4(x2),3").count, 4);
  EXPECT_EQ(local_rank().count, 1);
}

TEST(LocalRank, GpusAreDealtOutEvenly) {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (int gpus = 1; gpus <= 9; ++gpus) {
      std::vector<int> users(std::size_t(gpus), 0);
      std::vector<int> taken;
      for (int rank = 0; rank < ranks; ++rank) {
        const GpuPart part = part_of_gpus({rank, ranks}, gpus);
        EXPECT_FALSE(part.positions.empty());
        EXPECT_TRUE(gpus >= ranks || part.positions.size() == 1);
        for (const int gpu : part.positions) {
          ASSERT_TRUE(gpu >= 0 && gpu < gpus);
          ++users[std::size_t(gpu)];
        }
        taken.push_back(int(part.positions.size()));
      }
      const auto [least_users, most_users] = std::minmax_element(users.begin(), users.end());
      const auto [least, most] = std::minmax_element(taken.begin(), taken.end());
      EXPECT_GE(*least_users, 1) << ranks << " ranks, " << gpus << " GPUs";
      EXPECT_LE(*most_users - *least_users, gpus < ranks ? 1 : 0) << ranks << " ranks, " << gpus << " GPUs";
      EXPECT_LE(*most - *least, 1);
      for (int rank = 0; rank < ranks; ++rank) {
        const GpuPart part = part_of_gpus({rank, ranks}, gpus);
        for (const int gpu : part.positions) EXPECT_EQ(part.sharers, users[std::size_t(gpu)]);
      }
    }
  EXPECT_TRUE(part_of_gpus({0, 2}, 0).positions.empty());
}

}  // namespace
}  // namespace tilewright
