// What wisdom costs a program whose user has a large database: opening a Context, the first lookups, plans
// made again. Part of `bench overhead`; what is read and looked at for it is counted in wisdom_index_test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/estimate.hpp"

namespace tilewright::bench {

struct WisdomCost {
  std::string what;
  Estimate seconds;
  double least_s = 0;  // of all samples: what it costs where nobody is in the way
};

// Makes a database of `record_count` records in a temporary folder, as dense as shapes can lie, measures on
// the calling thread by the wall clock and removes it.
std::vector<WisdomCost> measure_wisdom(std::int64_t record_count);

}  // namespace tilewright::bench
