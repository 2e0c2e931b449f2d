// Converts lists to options, options to calls, and factorizations to JSON.
#include "bench/lu/ways.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/dispatch.hpp"
#include "core/problem.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/plan.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "lu/updates.hpp"

namespace tilewright::bench {
namespace {

// All methods of the paper are blocked: the library's own getrf on the CPU is a peer, and GPUs that keep the
// matrix are a version of tilewright.
struct Version {
  const char* name;
  Target target;
  const char* candidate;
};
constexpr Version versions[] = {{"automatic", Target::automatic, ""},
                                {"cpu", Target::cpu, "blocked"},
                                {"gpu", Target::gpu, "blocked"},
                                {"hybrid", Target::hybrid, "blocked"},
                                {"streamed", Target::gpu, "streamed"}};
constexpr Version cpu_lu = versions[1], hybrid_lu = versions[3];

bool is_wanted(const Plan& plan, const Version& version, bool has_gpu) {
  const bool on_gpu = version.target == Target::gpu || version.target == Target::hybrid;
  // Kernels cannot be simulated.
  if (plan.ways.empty() && lu_trials(plan).simulated.is_wanted() && version.name == std::string("streamed"))
    return false;
  if (plan.ways.empty()) return has_gpu || !on_gpu;
  return std::find(plan.ways.begin(), plan.ways.end(), version.name) != plan.ways.end();
}

LuVariant variant_of(const Plan& plan, const Case& c, const Version& version, std::int64_t nb) {
  LuVariant variant{version.name, lu_trials(plan).options};
  variant.options.target = version.target;
  variant.options.threads = c.threads;
  variant.options.nb = nb;
  if (variant.options.candidate.empty()) variant.options.candidate = version.candidate;
  return variant;
}

std::int64_t most_columns(const Case& c) { return std::min(c.problem.m, c.problem.n); }

std::string panel_text(std::int64_t nb) { return nb > 0 ? fmt::format(" nb={}", nb) : ""; }

// Describes factorizations as JSON.

std::string case_problem(const Case& c) { return to_string(lu_problem(c)); }

nlohmann::json case_keys_of_lu(const Case& c) {
  nlohmann::json keys = lu_problem_keys(lu_problem(c));
  keys["resident"] = to_string(c.problem.location);
  keys["threads"] = c.threads, keys["data"] = to_string(c.data);
  return keys;
}

}  // namespace

std::vector<std::string> lu_variants() {
  std::vector<std::string> names;
  for (const Version& version : versions) names.emplace_back(version.name);
  return names;
}

std::vector<LuVariant> lu_variants_of(const Plan& plan, const Case& c, bool has_gpu,
                                      std::vector<std::string>& lines) {
  std::vector<LuVariant> variants;
  for (const std::int64_t nb : lu_trials(plan).panels) {
    if (nb > most_columns(c)) {
      lines.push_back(fmt::format("{}: nb = {} is left out, because it exceeds the {} columns",
                                  problem_text(c), nb, most_columns(c)));
      continue;
    }
    for (const Version& version : versions) {
      if (!is_wanted(plan, version, has_gpu)) continue;
      const LuVariant variant = variant_of(plan, c, version, nb);
      const std::vector<LuSelect> one{variant.options.select};
      const bool selects = version.target == Target::hybrid;
      for (const LuSelect select : selects ? lu_trials(plan).selects : one) {
        variants.push_back(variant);
        variants.back().options.select = select;
        if (selects) variants.back().name += fmt::format(" {}", to_string(select));
        variants.back().name += panel_text(nb);
      }
    }
  }
  return variants;
}

std::vector<LuVariant> lu_searched_variants(const Plan& plan, const Case& c, bool has_gpu) {
  std::vector<std::int64_t> panels;
  for (const std::int64_t nb : lu_trials(plan).panels)
    if (nb > 0) panels.push_back(nb);
  if (panels.empty()) panels = {64, 128, 192, 256, 384, 512, 768};
  // A panel as wide as the matrix leaves nothing to share.
  std::erase_if(panels, [&](std::int64_t nb) { return 2 * nb > most_columns(c); });
  std::vector<LuVariant> variants;
  for (const std::int64_t nb : panels) {
    variants.push_back(variant_of(plan, c, has_gpu ? hybrid_lu : cpu_lu, nb));
    variants.back().name = "exhaustive" + panel_text(nb);
    if (has_gpu) variants.back().split = SplitRule::exhaustive;
  }
  return variants;
}

LuReport run_lu_variant(Context& context, const LuProblem& p, const LuVariant& variant, void* a,
                        std::int64_t* pivots) {
  if (variant.split != SplitRule::model) {
    const LuRanking chosen = choose_lu({context, p, variant.options, variant.split});
    LuReport report = chosen.made.runner->factor(a, pivots);
    report.candidate = chosen.candidate;
    return report;
  }
  return dispatch(p.dtype, [&]<class T>() {
    return lu_factor(context, p.m, p.n, static_cast<T*>(a), p.lda, pivots, variant.options);
  });
}

LuProblem lu_problem(const Case& c) { return {c.problem.dtype, c.problem.m, c.problem.n, c.problem.lda}; }

constinit const CaseForm lu_form{case_problem, case_keys_of_lu};

nlohmann::json lu_problem_keys(const LuProblem& p) {
  nlohmann::json keys = {{"family", "lu"},
                         {"problem", to_string(p)},
                         {"dtype", to_string(p.dtype)},
                         {"m", p.m},
                         {"n", p.n},
                         {"lda", p.lda},
                         {"layout", "single"},
                         {"batch_count", 1},
                         {"location", "host"}};
  for (const char* none :
       {"op", "k", "ldb", "ldc", "alpha", "beta", "residency", "arrival", "pointer_order", "numa"})
    keys[none] = nullptr;
  return keys;
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
