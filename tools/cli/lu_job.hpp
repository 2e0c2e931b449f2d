// The job of the verb lu: a matrix in a file in, its factors, pivots and the solution of a system out.
// Outputs appear when all of it went well.
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
  std::string b, x;  // "": nothing is solved
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
  nlohmann::json observed;     // energy, clock and temperature while it factored
  std::int64_t nrhs = 0;
  std::optional<LuRefinement> refinement;
  std::optional<LuVerifyResult> verification;
  int threads = 1;
  double read_s = 0, kernel_s = 0, solve_s = 0, write_s = 0, verify_s = 0, total_s = 0;
};

// Throws JobFailed where a system is to be solved and a pivot is exactly zero, or where verification fails.
LuJobReport run_lu(const LuJobRequest& request);

}  // namespace tilewright::cli
