// Converts lists to options, and options to calls.
#include "bench/lu/ways.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/family.hpp"
#include "core/dispatch.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "lu/problem.hpp"

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
  if (plan.ways.empty() && plan.lu.simulated.is_wanted() && version.name == std::string("streamed"))
    return false;
  if (plan.ways.empty()) return has_gpu || !on_gpu;
  return std::find(plan.ways.begin(), plan.ways.end(), version.name) != plan.ways.end();
}

LuWay way_of(const Plan& plan, const Case& c, const Version& version, std::int64_t nb) {
  LuWay way{version.name, plan.lu.options};
  way.options.target = version.target;
  way.options.threads = c.threads;
  way.options.nb = nb;
  if (way.options.candidate.empty()) way.options.candidate = version.candidate;
  return way;
}

std::int64_t most_columns(const Case& c) { return std::min(c.problem.m, c.problem.n); }

std::string panel_text(std::int64_t nb) { return nb > 0 ? fmt::format(" nb={}", nb) : ""; }

}  // namespace

std::vector<std::string> lu_ways() {
  std::vector<std::string> names;
  for (const Version& version : versions) names.emplace_back(version.name);
  return names;
}

std::vector<LuWay> lu_ways_of(const Plan& plan, const Case& c, bool has_gpu,
                              std::vector<std::string>& lines) {
  std::vector<LuWay> ways;
  for (const std::int64_t nb : plan.lu.panels) {
    if (nb > most_columns(c)) {
      lines.push_back(fmt::format("{}: nb = {} is left out, being more than its {} columns", problem_text(c),
                                  nb, most_columns(c)));
      continue;
    }
    for (const Version& version : versions) {
      if (!is_wanted(plan, version, has_gpu)) continue;
      const LuWay way = way_of(plan, c, version, nb);
      const std::vector<LuSelect> one{way.options.select};
      const bool selects = version.target == Target::hybrid;
      for (const LuSelect select : selects ? plan.lu.selects : one) {
        ways.push_back(way);
        ways.back().options.select = select;
        if (selects) ways.back().name += fmt::format(" {}", to_string(select));
        ways.back().name += panel_text(nb);
      }
    }
  }
  return ways;
}

std::vector<LuWay> lu_searched_ways(const Plan& plan, const Case& c, bool has_gpu) {
  std::vector<std::int64_t> panels;
  for (const std::int64_t nb : plan.lu.panels)
    if (nb > 0) panels.push_back(nb);
  if (panels.empty()) panels = {64, 128, 192, 256, 384, 512, 768};
  // A panel as wide as the matrix leaves nothing to share.
  std::erase_if(panels, [&](std::int64_t nb) { return 2 * nb > most_columns(c); });
  std::vector<LuWay> ways;
  for (const std::int64_t nb : panels) {
    ways.push_back(way_of(plan, c, has_gpu ? hybrid_lu : cpu_lu, nb));
    ways.back().name = "exhaustive" + panel_text(nb);
    if (has_gpu) ways.back().split = SplitWay::exhaustive;
  }
  return ways;
}

LuReport run_lu_way(Context& context, const LuProblem& p, const LuWay& way, void* a, std::int64_t* pivots) {
  if (way.split != SplitWay::model) {
    const LuRanking chosen = choose_lu({context, p, way.options, way.split});
    LuReport report = chosen.made.runner->factor(a, pivots);
    report.candidate = chosen.candidate;
    return report;
  }
  return dispatch(p.dtype, [&]<class T>() {
    return lu_factor(context, p.m, p.n, static_cast<T*>(a), p.lda, pivots, way.options);
  });
}

}  // namespace tilewright::bench
