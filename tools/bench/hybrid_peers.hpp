// What bench hybrid needs of a GPU besides ours: the peers that multiply host operands there. Builds without
// GPU sources have none, and say so.
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
  // Those that take the problem; why others do not, a line each.
  virtual std::vector<HybridPeer> peers(const GemmProblem& problem, std::vector<std::string>& absent) = 0;
};

// On these GPUs. Null with the reason where there is none.
std::unique_ptr<HybridPeers> hybrid_peers(const std::vector<int>& gpus, std::string& why_none);

}  // namespace tilewright::bench
