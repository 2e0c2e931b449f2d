// The peers of bench hybrid on GPUs: libraries that multiply host operands there. Builds without GPU sources
// have none, and report that.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/problem.hpp"

namespace tilewright::bench {

struct HybridPeer {
  std::string impl, version, variant;
  std::function<void(const Operands&)> run;
};

class HybridPeers {
 public:
  virtual ~HybridPeers() = default;
  // Returns the peers that support the problem; adds a line for each other one with the reason.
  virtual std::vector<HybridPeer> peers(const GemmProblem& problem, std::vector<std::string>& absent) = 0;
};

// Runs on these GPUs. Returns null with the reason if there are no peers.
std::unique_ptr<HybridPeers> hybrid_peers(const std::vector<int>& gpus, std::string& why_none);

}  // namespace tilewright::bench
