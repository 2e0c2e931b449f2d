// The family lu: factorizations of matrices in host memory as in Table 2 of Bernabe 2014, section 6: cpuLU,
// gpuLU and cpugpuLU with each selection of the CPU's share, compared with LAPACK, cuSOLVER including its
// copies, and, if requested, the best panel and shares that timing finds.
#include "bench/family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "bench/bounds.hpp"
#include "bench/gpu_parts.hpp"
#include "bench/lu/contest.hpp"
#include "bench/lu/ways.hpp"
#include "bench/machine.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "core/quantity.hpp"
#include "gemm/context_impl.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"
#include "tune/calibrate/machine.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

constexpr std::size_t searched_finalists = 2;

// Figures of all cases of a type, kind of memory and number of threads.
struct Group {
  std::vector<double> ratios, bound_shares;
  std::vector<std::string> ratio_cases, cases;
  std::set<std::string> targets;                          // where the automatic method computed
  std::map<std::string, std::vector<double>> deviations;  // from the optimum, by method
  std::map<std::string, std::vector<double>> losses;      // from the best of the selections, by selection
};

const people::Table& lu_table() {
  static const people::Table table(
      "case 20< | memory 8< | who 10< | variant 14< | nb 4 | time 8 | GFLOP/s 8 | "
      "bound 5 | off best 8 | ratio 6");
  return table;
}

class LuFamily : public Family {
 public:
  explicit LuFamily(const Plan& plan)
      : plan_(plan), trials_(lu_trials(plan)), context_(ContextOptions{.notices = false}) {
    if (trials_.simulated.is_wanted()) {
      checking_ = std::make_unique<Context>(ContextOptions{.notices = false});
      simulate_gpu(context_, trials_.simulated, true);
      simulate_gpu(*checking_, trials_.simulated, false);
      return;
    }
    peers_ = lu_peers(trials_.options.gpus, why_no_gpu_);
    const auto refuse = [&](const char* flag, const std::string& value) {
      not_supported(flag, "{} = '{}' needs a GPU: {}", flag, value, why_no_gpu_);
    };
    if (has_gpu()) return;
    for (const std::string& variant : plan.ways)
      if (variant != "automatic" && variant != "cpu") refuse("--ways", variant);
    if (plan.memories == std::vector<std::string>{"pinned"}) refuse("--memory", "pinned");
  }

  std::vector<std::string> head() override {
    std::vector<std::string> lines;
    if (!has_gpu()) lines.push_back("no GPU, and no pinned memory: " + why_no_gpu_);
    if (simulated()) lines.push_back("a simulated GPU: " + trials_.simulated.text());
    lines.push_back(lu_table().head());
    return lines;
  }

  CaseOutput measure(const Case& c) override {
    CaseOutput output;
    for (const std::string& memory : plan_.memories) {
      if (memory == "pinned" && !has_gpu()) continue;  // the head of the table reports this
      // All memory counts as pinned for a simulated GPU.
      LuContest contest(c, simulated() ? "pageable" : memory);
      add_peers(c, contest);
      for (const LuVariant& variant : lu_variants_of(plan_, c, has_gpu(), contest.lines))
        add(c, variant, contest);
      if (trials_.exhaustive)
        contest.enter_best(searched_finalists, [&](LuContest& tried) {
          for (const LuVariant& variant : lu_searched_variants(plan_, c, has_gpu())) add(c, variant, tried);
        });
      contest.hold(plan_.repetitions, &energy_, has_gpu());
      output.lines.insert(output.lines.end(), contest.lines.begin(), contest.lines.end());
      tell(c, memory, contest, output);
    }
    return output;
  }

  CaseOutput finish() override;

 private:
  bool simulated() const { return checking_ != nullptr; }
  bool has_gpu() const { return simulated() || peers_; }

  LuContest::Factor factor(Context& context, const Case& c, const LuVariant& variant) const {
    return [&context, variant, p = lu_problem(c)](void* a, std::int64_t* pivots) {
      return run_lu_variant(context, p, variant, a, pivots);
    };
  }

  void add(const Case& c, const LuVariant& variant, LuContest& contest) {
    Contender one{.role = Role::tested, .impl = "tilewright"};
    one.version = TILEWRIGHT_VERSION, one.variant = variant.name;
    if (!simulated()) return contest.enter(std::move(one), variant, factor(context_, c, variant));
    // The check runs the same schedule with its products computed, by shares that are not searched for.
    LuVariant checked = variant;
    checked.split = SplitRule::model;
    contest.enter(std::move(one), variant, factor(context_, c, variant), factor(*checking_, c, checked));
  }

  void add_peers(const Case& c, LuContest& contest) {
    if (plan_.wants("lapack")) {
      LuVariant variant{"getrf", {}};
      variant.options.target = Target::cpu, variant.options.threads = c.threads,
      variant.options.candidate = "lapack";
      Contender one{.role = Role::peer, .impl = "lapack", .variant = "getrf"};
      const auto library = Access::impl(context_).cblas();
      if (library->available()) one.version = library->name();
      contest.enter(std::move(one), variant, factor(context_, c, variant));
    }
    if (!peers_ || !plan_.wants("cusolver")) return;
    std::vector<std::string> absent;
    for (auto& peer : peers_.of(lu_problem(c), absent)) {
      Contender one{.role = Role::peer, .impl = peer.impl, .version = peer.version, .variant = peer.variant};
      contest.enter(std::move(one), {}, [run = std::move(peer.run)](void* a, std::int64_t* pivots) {
        LuReport report;
        report.info = run(a, pivots);
        return report;
      });
    }
    for (const std::string& line : absent)
      contest.lines.push_back(fmt::format("{} {}", problem_text(c), line));
  }

  double bound_s(const Case& c) {
    if (peers_ && machine_ == nullptr) {
      std::optional<std::vector<int>> asked;
      if (!trials_.options.gpus.empty()) asked = trials_.options.gpus;
      machine_ = open_machine(context_, asked);
    }
    const double simulated_speed = trials_.simulated.speed(c.problem.dtype);
    return flops(lu_problem(c)) / (product_speed(context_, machine_.get(), c) + simulated_speed);
  }

  void tell(const Case& c, const std::string& memory, const LuContest& contest, CaseOutput& output);
  // Returns where it computed.
  std::string target_of(const Case& c, const Contender& one, const LuRecord& record) const {
    if (one.impl == "cusolver") return "gpu";
    return lu_target(context_, lu_problem(c), record.variant.options, record.median());
  }
  WisdomMatch match_of(const Case& c, const LuRecord& record) const {
    return decide_lu(context_, lu_problem(c), record.variant.options).known.match;
  }
  json row_of(const Case& c, const std::string& memory, const Contender& one, const LuRecord& record,
              double bound) const;
  void note(const Case& c, const LuContest& contest, const Contender* optimum, double bound, Group& group);

  const Plan& plan_;
  const LuTrials& trials_;
  HostEnergy energy_;
  mutable Context context_;
  std::unique_ptr<Context> checking_;  // for a simulated GPU: computes the products
  std::string why_no_gpu_;
  LuPeers peers_;
  std::unique_ptr<CalibrationMachine> machine_;
  std::map<json, Group> groups_;
};

// Only contenders of one implementation, if it is named.
const Contender* fastest(const LuContest& contest, Role role, bool by_panels = false) {
  const Contender* best = nullptr;
  for (const Contender& one : contest.all())
    if (one.role == role && (!by_panels || is_by_panels(contest.record(one).median())) &&
        (best == nullptr || one.seconds.centre < best->seconds.centre))
      best = &one;
  return best;
}

bool computes_on_gpus(const LuRecord& record) {
  return record.variant.options.target == Target::gpu || record.variant.options.target == Target::hybrid;
}

json LuFamily::row_of(const Case& c, const std::string& memory, const Contender& one, const LuRecord& record,
                      double bound) const {
  const LuReport report = record.median();
  json row = measured_row(c, one.impl, one.seconds);
  row["memory"] = memory;
  row["impl_version"] = one.version;
  row["info"] = report.info;
  row["gflops"] = flops(lu_problem(c)) / one.seconds.centre * 1e-9;
  row["bound_gflops"] = flops(lu_problem(c)) / bound * 1e-9;
  row["bound_share"] = bound / one.seconds.centre, row["bound_kind"] = "compute";
  row["ceiling"] = row["bound_gflops"];
  row["error"] = record.residual.ratio, row["error_bound"] = LuVerifyResult::bound;
  row["verified"] = record.residual.scope;
  add_energy(row, one, flops(lu_problem(c)));
  row["gpus"] = machine_ == nullptr ? int(simulated()) : int(machine_->gpus().size());
  row["gpu"] = !peers_ ? json() : json(peers_.gpu);
  if (simulated()) row["simulated"] = trials_.simulated.text();
  const json parts = lu_breakdown(report);
  row["metrics"] = parts.is_null() ? json::object() : parts;
  row["metrics"]["variant"] = one.variant;
  row["metrics"]["other_pivots"] = record.other_pivots;
  if (!record.tried.empty()) {
    json tried = json::array();
    for (const auto& [nb, seconds] : record.tried) tried.push_back({{"nb", nb}, {"seconds", seconds}});
    row["metrics"]["tried"] = tried;
  }
  row["target"] = target_of(c, one, record);
  if (row["target"] == "cpu") row["cpu_share"] = 1.0;
  add_shared_keys(row);
  if (one.role != Role::tested) return row;
  row["config"] = lu_config(report);
  row["wisdom_match"] = to_string(match_of(c, record));
  row["select"] = computes_on_gpus(record) && record.variant.split == SplitRule::model
                      ? json(to_string(record.variant.options.select))
                      : json();
  row["candidate"] = report.candidate;
  row["nb"] = report.nb > 0 ? json(report.nb) : json();
  if (report.gpus > 0) row["gpus"] = report.gpus;
  row["metrics"]["redone"] = report.redone;
  return row;
}

void LuFamily::tell(const Case& c, const std::string& memory, const LuContest& contest, CaseOutput& output) {
  if (contest.all().empty()) return;
  const double bound = bound_s(c);
  const Contender* const peer = fastest(contest, Role::peer);
  // Only the blocked implementation has panels and shares.
  const Contender* const optimum = trials_.exhaustive ? fastest(contest, Role::tested, true) : nullptr;
  for (const Contender& one : contest.all()) {
    json row = row_of(c, memory, one, contest.record(one), bound);
    std::string deviation, ratio, parts, nb;
    if (one.role == Role::tested && peer != nullptr)
      if (const auto paired = paired_ratio(peer->rounds, one.rounds, 1)) {
        row["ratio"] = ratio_keys(peer->impl, *paired);
        ratio = fmt::format("{:.3f}", paired->centre);
      }
    if (optimum != nullptr && one.role == Role::tested && is_by_panels(contest.record(one).median())) {
      const double off = one.seconds.centre / optimum->seconds.centre - 1;
      row["metrics"]["deviation"] = off;
      deviation = fmt::format("{:.1f} %", 100 * off);
    }
    const LuReport report = contest.record(one).median();
    if (report.nb > 0) nb = std::to_string(report.nb);
    if (row["metrics"].contains("panel_s"))
      parts = fmt::format("  panels {}, swaps {}, solves {}, updates {}", seconds_text(report.panel_s),
                          seconds_text(report.swap_s), seconds_text(report.solve_s),
                          seconds_text(report.update_s));
    output.lines.push_back(lu_table().row(
        {problem_text(c), memory, one.impl, one.variant, nb, seconds_text(one.seconds.centre),
         digits_text(row["gflops"].get<double>()), share_text(row["bound_share"]), deviation, ratio}));
    if (!parts.empty()) output.lines.push_back(parts);
    output.rows.push_back(std::move(row));
  }
  json key = {{"family", "lu"}, {"dtype", to_string(c.problem.dtype)}, {"layout", "single"}};
  for (const char* name : {"op", "beta", "residency", "arrival"}) key[name] = nullptr;
  key["memory"] = memory, key["resident"] = "host", key["threads"] = c.threads;
  note(c, contest, optimum, bound, groups_[key]);
}

// Returns the first contender of a method: the one with the rule's panels, or the first requested ones.
const Contender* of_variant(const LuContest& contest, const std::string& name) {
  for (const Contender& one : contest.all())
    if (one.role == Role::tested && (one.variant == name || one.variant.starts_with(name + " nb=")))
      return &one;
  return nullptr;
}

void LuFamily::note(const Case& c, const LuContest& contest, const Contender* optimum, double bound,
                    Group& group) {
  const Contender* const automatic = of_variant(contest, "automatic");
  if (automatic != nullptr) {
    group.targets.insert(target_of(c, *automatic, contest.record(*automatic)));
    group.bound_shares.push_back(bound / automatic->seconds.centre);
    group.cases.push_back(problem_text(c));
    if (const Contender* const peer = fastest(contest, Role::peer)) {
      group.ratios.push_back(paired_ratio(peer->rounds, automatic->rounds, 1)->centre);
      group.ratio_cases.push_back(problem_text(c));
    }
  }
  double best = 0;
  std::map<std::string, double> selections;
  for (const LuSelect select : trials_.selects)
    if (const Contender* const one = of_variant(contest, "hybrid " + to_string(select))) {
      selections[to_string(select)] = one->seconds.centre;
      best = best == 0 ? one->seconds.centre : std::min(best, one->seconds.centre);
    }
  for (const auto& [select, seconds] : selections) group.losses[select].push_back(seconds / best - 1);
  if (optimum == nullptr) return;
  for (const std::string& variant : lu_variants())
    if (const Contender* const one = of_variant(contest, variant);
        one != nullptr && is_by_panels(contest.record(*one).median()))
      group.deviations[variant].push_back(one->seconds.centre / optimum->seconds.centre - 1);
  for (const auto& [select, seconds] : selections)
    group.deviations["hybrid " + select].push_back(seconds / optimum->seconds.centre - 1);
}

CaseOutput LuFamily::finish() {
  CaseOutput output;
  for (const auto& [key, group] : groups_) {
    json summary = key;
    summary["summary"] = true,
    summary["target"] = group.targets.size() == 1 ? *group.targets.begin() : "auto";
    add_statistics(summary, "ratio", group.ratios, group.ratio_cases);
    add_statistics(summary, "bound_share", group.bound_shares, group.cases);
    summary["deviation"] = json::object();
    for (const auto& [variant, values] : group.deviations)
      summary["deviation"][variant] = mean_and_worst(values);
    // The fastest selection comes first.
    std::vector<std::string> order;
    for (const auto& [select, values] : group.losses) order.push_back(select);
    const auto loss = [&](const std::string& select) {
      return mean_and_worst(group.losses.at(select))["mean"].get<double>();
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](const std::string& x, const std::string& y) { return loss(x) < loss(y); });
    summary["select_order"] = order;
    std::string line = summary_line(summary);
    for (const auto& [variant, values] : group.deviations)
      line += fmt::format("; deviation of {} from the optimum: {}", variant,
                          percent_text(summary["deviation"][variant]));
    if (order.size() > 1) line += fmt::format("; fastest selections {}", fmt::join(order, ", "));
    output.lines.push_back("");
    output.lines.push_back(line);
    output.rows.push_back(std::move(summary));
  }
  return output;
}

}  // namespace

std::vector<std::string> lu_peer_names() { return {"lapack", "cusolver"}; }

std::unique_ptr<Family> lu_family(const Plan& plan) { return std::make_unique<LuFamily>(plan); }

}  // namespace tilewright::bench
