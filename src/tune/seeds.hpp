// Configs that earlier runs found, as further candidates of a search: those of wisdom's records, of rows of
// results, or of the log of a sweep.
#pragma once

#include <string>
#include <vector>

#include "core/problem.hpp"

namespace tilewright {

class Seeds {
 public:
  Seeds() = default;  // none
  // JSON lines. Lines without a problem and a config are passed over. Throws Error(invalid_argument) for a
  // file that cannot be read, Error(io) naming the line.
  explicit Seeds(const std::string& path);

  // Those of `family` for the same types, operations, sizes, layout, leading dimensions, beta and place,
  // whatever the batch: of the nearest number of problems first.
  std::vector<nlohmann::json> of(const std::string& family, const GemmProblem& problem) const;

 private:
  struct Seed {
    std::string family;  // "": the line does not say
    GemmProblem problem;
    nlohmann::json config;
  };
  std::vector<Seed> seeds_;
};

}  // namespace tilewright
