// Configs that earlier runs found, as further candidates: records of wisdom or rows of results.
#pragma once

#include <string>
#include <vector>

#include "core/problem.hpp"
#include "kernel/gemm_small/config.hpp"

namespace tilewright::bench {

class Seeds {
 public:
  // JSON lines; "" = none. Lines without a problem and a config are passed over.
  explicit Seeds(const std::string& path);

  // Of problems with the same layout, type, operations and sizes: each as it is, and of strided ones also
  // with its tiles lying as they lie in lines of memory. Those of the nearest number of problems come first.
  std::vector<GemmSmallConfig> of(const GemmProblem& problem) const;

 private:
  struct Seed {
    GemmProblem problem;
    GemmSmallConfig config;
  };
  std::vector<Seed> seeds_;
};

}  // namespace tilewright::bench
