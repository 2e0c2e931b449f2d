// The cost of wisdom for a program whose user has a large database: opening a Context, the first lookups,
// plans made again. It is a part of `bench overhead`; wisdom_index_test counts what is read for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/estimate.hpp"

namespace tilewright::bench {

struct WisdomCost {
  std::string what;
  Estimate seconds;
  double least_s = 0;  // least of all samples: the cost without disturbance
};

// Makes a database of `record_count` records in a temporary folder, as dense as shapes can lie, measures on
// the calling thread by the wall clock and removes it.
std::vector<WisdomCost> measure_wisdom(std::int64_t record_count);

}  // namespace tilewright::bench
