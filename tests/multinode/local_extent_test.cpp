// Compares the extent of a process's part of a block-cyclic matrix with a count of its blocks one by one.
#include <gtest/gtest.h>

#include "tilewright/multinode.hpp"

namespace tilewright {
namespace {

std::int64_t counted(std::int64_t extent, std::int64_t block, std::int64_t coordinate, std::int64_t source,
                     std::int64_t processes) {
  std::int64_t own = 0;
  for (std::int64_t i = 0; i < extent; ++i) own += (i / block + source) % processes == coordinate ? 1 : 0;
  return own;
}

TEST(LocalExtent, IsWhatTheBlocksOfAProcessHave) {
  for (std::int64_t processes : {1, 2, 3, 5})
    for (std::int64_t source = 0; source < processes; ++source)
      for (std::int64_t coordinate = 0; coordinate < processes; ++coordinate)
        for (std::int64_t block : {1, 2, 7, 64})
          for (std::int64_t extent : {0, 1, 2, 6, 7, 8, 13, 14, 15, 64, 65, 100, 331})
            EXPECT_EQ(local_extent(extent, block, coordinate, source, processes),
                      counted(extent, block, coordinate, source, processes))
                << extent << " in blocks of " << block << ", " << coordinate << " from " << source << " of "
                << processes;
}

}  // namespace
}  // namespace tilewright
