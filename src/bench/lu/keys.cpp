// Factorizations as JSON.
#include "bench/lu/keys.hpp"

#include "lu/problem.hpp"

namespace tilewright::bench {

nlohmann::json lu_problem_keys(const LuProblem& p) {
  return {{"family", "lu"},
          {"problem", to_string(p)},
          {"dtype", to_string(p.dtype)},
          {"m", p.m},
          {"n", p.n},
          {"lda", p.lda},
          {"layout", "single"},
          {"batch_count", 1},
          {"location", "host"}};
}

nlohmann::json lu_breakdown(const LuReport& r) {
  if (r.candidate != "blocked") return nullptr;
  return {{"panel_s", r.panel_s}, {"swap_s", r.swap_s}, {"solve_s", r.solve_s}, {"update_s", r.update_s}};
}

}  // namespace tilewright::bench
