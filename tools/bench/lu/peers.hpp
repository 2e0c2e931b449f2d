// The GPU peers of bench lu: the GPU's name, and the vendor's factorizations with the copies both ways.
// Builds without GPU sources have none, and report that.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/lu.hpp"

namespace tilewright::bench {

struct LuPeer {
  std::string impl, version, variant;
  // Factors a matrix in host memory and returns info; pivots are like lu_factor's.
  std::function<std::int64_t(void* a, std::int64_t* pivots)> run;
};

class LuPeers {
 public:
  virtual ~LuPeers() = default;
  virtual std::string gpu() const = 0;  // the name of the GPU that they run on
  // Returns the peers that support the problem; adds a line for each other one with the reason.
  virtual std::vector<LuPeer> peers(const LuProblem& problem, std::vector<std::string>& absent) = 0;
};

// Uses the first of these GPUs, or the machine's first if none is named. Returns null with the reason if
// there are no peers.
std::unique_ptr<LuPeers> lu_peers(const std::vector<int>& gpus, std::string& why_none);

}  // namespace tilewright::bench
