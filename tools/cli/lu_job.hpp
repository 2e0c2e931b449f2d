// The job of the verb lu: reads a matrix from a file, and writes its factors, its pivots and the solution of
// a system. The outputs appear only if the whole job succeeds.
#pragma once

#include <optional>
#include <string>

#include "core/json.hpp"
#include "lu/candidates.hpp"
#include "measure/lu_residual.hpp"
#include "tilewright/lu.hpp"

namespace tilewright::cli {

struct LuRequestFiles {
  std::string a, output, pivots;
  std::string b, x;  // "": no system is solved
};

struct LuJobRequest {
  LuRequestFiles files;
  LuOptions options;
  bool refine = false;
  bool verify = false;
};

struct LuJobReport {
  LuProblem problem;
  LuReport factors;
  std::string explanation;
  WisdomMatch match = WisdomMatch::none;
  std::string target = "cpu";  // where it computed
  nlohmann::json observed;     // energy, clock and temperature during the factorization
  std::int64_t nrhs = 0;
  std::optional<LuRefinement> refinement;
  std::optional<LuVerifyResult> verification;
  int threads = 1;
  double read_s = 0, kernel_s = 0, solve_s = 0, write_s = 0, verify_s = 0, total_s = 0;
};

// Throws JobFailed if a system is to be solved and a pivot is exactly zero, or if verification fails.
LuJobReport run_lu(const LuJobRequest& request);

}  // namespace tilewright::cli
