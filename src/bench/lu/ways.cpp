// From lists to options, and from options to calls.
#include "bench/lu/ways.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/family.hpp"
#include "core/dispatch.hpp"
#include "lu/candidates.hpp"
#include "lu/problem.hpp"

namespace tilewright::bench {
namespace {

struct Version {
  const char* name;
  Target target;
  bool selects;  // whether selections differ
};
constexpr Version versions[] = {{"automatic", Target::automatic, false},
                                {"cpu", Target::cpu, false},
                                {"gpu", Target::gpu, false},
                                {"hybrid", Target::hybrid, true}};

bool is_wanted(const Plan& plan, const Version& version, bool has_gpu) {
  const bool on_gpu = version.target == Target::gpu || version.target == Target::hybrid;
  if (plan.ways.empty()) return has_gpu || !on_gpu;
  return std::find(plan.ways.begin(), plan.ways.end(), version.name) != plan.ways.end();
}

LuWay way_of(const Plan& plan, const Case& c, const Version& version, std::int64_t nb) {
  LuWay way{version.name, plan.lu.options};
  way.options.target = version.target;
  way.options.threads = c.threads;
  way.options.nb = nb;
  // cpuLU is by blocks as the others are; the library's own getrf is a peer.
  if (version.target == Target::cpu && way.options.candidate.empty()) way.options.candidate = "blocked";
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
      for (const LuSelect select : version.selects ? plan.lu.selects : one) {
        ways.push_back(way);
        ways.back().options.select = select;
        if (version.selects) ways.back().name += " " + to_string(select);
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
  // A panel that is all of the matrix leaves nothing to share.
  std::erase_if(panels, [&](std::int64_t nb) { return 2 * nb > most_columns(c); });
  std::vector<LuWay> ways;
  for (const std::int64_t nb : panels) {
    const Version& version = versions[has_gpu ? 3 : 1];
    ways.push_back(way_of(plan, c, version, nb));
    ways.back().name = "exhaustive" + panel_text(nb);
    if (has_gpu) ways.back().split = SplitWay::exhaustive;
  }
  return ways;
}

LuReport run_lu_way(Context& context, const LuProblem& p, const LuWay& way, void* a, std::int64_t* pivots) {
  if (way.split != SplitWay::model) {
    const LuRequest request{context, p, way.options, way.split};
    const LuCandidate& candidate = choose_lu(request);
    LuReport report = candidate.factor(request, a, pivots);
    report.candidate = candidate.name;
    return report;
  }
  return dispatch(p.dtype, [&]<class T>() {
    return lu_factor(context, p.m, p.n, static_cast<T*>(a), p.lda, pivots, way.options);
  });
}

}  // namespace tilewright::bench
