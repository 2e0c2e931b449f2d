// What bench lu needs of a GPU besides ours: its name, and the vendor's factorizations with the copies up and
// down. Builds without GPU sources have none of it, and say so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/lu.hpp"

namespace tilewright::bench {

struct LuPeer {
  std::string impl, version, variant;
  // Factors a matrix in host memory and returns info; pivots as lu_factor's.
  std::function<std::int64_t(void* a, std::int64_t* pivots)> run;
};

class LuPeers {
 public:
  virtual ~LuPeers() = default;
  virtual std::string gpu() const = 0;  // that they run on
  // Those that take the problem; why others do not, a line each.
  virtual std::vector<LuPeer> peers(const LuProblem& problem, std::vector<std::string>& absent) = 0;
};

// On the first of these GPUs; of all where none is named. Null with the reason where there is none.
std::unique_ptr<LuPeers> lu_peers(const std::vector<int>& gpus, std::string& why_none);

}  // namespace tilewright::bench
