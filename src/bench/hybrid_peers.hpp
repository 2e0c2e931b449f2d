// What bench hybrid needs of a GPU besides ours: pinned memory for the operands, and the peers that multiply
// host operands there. Builds without GPU sources have none of it, and say so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/problem.hpp"

namespace tilewright::bench {

// Memory of the host that belongs to nobody else.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  virtual void* data() const = 0;
};

struct HybridPeer {
  std::string impl, version, variant;
  std::function<void(const Operands&)> run;
};

class HybridPeers {
 public:
  virtual ~HybridPeers() = default;
  virtual std::unique_ptr<HostMemory> pinned(std::int64_t bytes) = 0;
  // Those that take the problem; why others do not, a line each.
  virtual std::vector<HybridPeer> peers(const GemmProblem& problem, std::vector<std::string>& absent) = 0;
};

// On these GPUs. Null with the reason where there is none.
std::unique_ptr<HybridPeers> hybrid_peers(const std::vector<int>& gpus, std::string& why_none);

}  // namespace tilewright::bench
