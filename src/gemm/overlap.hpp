// Finds matrices C of a batch that share elements, for the checked mode of pointer, grouped and variable
// batches. Tiles of one large matrix interleave in memory without sharing anything and are accepted.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright {

// Where one C lies; all in bytes.
struct Extent {
  const char* begin = nullptr;
  std::int64_t column_bytes = 0;  // of the rows that belong to the matrix
  std::int64_t ld_bytes = 0;
  std::int64_t cols = 0;
  std::int64_t problem_index = 0;
};

struct Overlap {
  std::int64_t problem_index = 0;  // the later of the two problems
  std::int64_t other_index = 0;
};

// Every problem that overlaps another one, except for those with the lower number; without them no two
// overlap. O(n log n), with one entry per matrix, or one per column when the extents of matrices interleave.
std::vector<Overlap> find_overlaps(const std::vector<Extent>& extents);

}  // namespace tilewright
