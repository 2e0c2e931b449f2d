// Describes factorizations as JSON.
#include "bench/lu/keys.hpp"

#include "core/lu_problem.hpp"
#include "lu/problem.hpp"
#include "lu/updates.hpp"

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
          {"location", "host"},
          {"op", nullptr},
          {"k", nullptr},
          {"ldb", nullptr},
          {"ldc", nullptr},
          {"alpha", nullptr},
          {"beta", nullptr},
          {"residency", nullptr},
          {"pointer_order", nullptr},
          {"numa", nullptr}};
}

bool is_by_panels(const LuReport& r) { return r.panel_s > 0; }

nlohmann::json lu_config(const LuReport& r) { return to_json(LuConfig{r.candidate, r.nb}); }

std::string lu_target(Context& context, const LuProblem& problem, const LuOptions& options,
                      const LuReport& r) {
  if (r.redone) return "cpu";
  if (r.gpus > 0) return "gpu";
  if (!is_by_panels(r)) return "cpu";  // the other implementations give no work to a GPU
  if (options.target != Target::automatic) return to_string(options.target);
  return updates_use_gpus({context, problem, options}) ? "hybrid" : "cpu";
}

nlohmann::json lu_breakdown(const LuReport& r) {
  if (!is_by_panels(r)) return nullptr;
  return {{"panel_s", r.panel_s}, {"swap_s", r.swap_s}, {"solve_s", r.solve_s}, {"update_s", r.update_s}};
}

}  // namespace tilewright::bench
