// The command line of bench_gemm_small.
#pragma once

#include <string>
#include <vector>

#include "gemm_small_cases.hpp"

namespace tilewright::bench {

struct Flags {
  CaseOptions cases;
  std::vector<std::string> groups;  // in the order in which they run
  std::size_t configs = 8;          // tried per case
  std::size_t neighbours = 0;       // of the first seeds, tried as well
  int repetitions = 9;
  int variety = 0;  // random problems that are checked first
  std::size_t shard = 0, shards = 1;
  double deadline_s = 1e9;  // no case begins later
  std::string share = "src", cache, json = "gemm_small.jsonl", command;
  std::string seeds;  // a file of configs that are tried as well
  std::string sweep;  // a file for every config that was timed, "" = none
  std::string axis;   // vary this field of the best known config instead of searching
  bool check_only = false;
  bool once = false;  // launch the best known config and the peer once each, for a profiler
};

// Throws Error(invalid_argument) naming the flag.
Flags parse(int argc, char** argv);

}  // namespace tilewright::bench
