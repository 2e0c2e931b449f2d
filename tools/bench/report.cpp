// Writes tables, JSON objects and summaries of measured cases.
#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "bench/plans.hpp"
#include "bench/provenance.hpp"
#include "core/quantity.hpp"
#include "people/table.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

// Adds the time without wisdom over the time with it, and by how much the rule of thumb costs more.
void add_regret(json& object, const std::vector<double>& ratios, const std::vector<std::string>& cases) {
  add_statistics(object, "default_ratio", ratios, cases);
  const auto most = std::max_element(ratios.begin(), ratios.end());
  object["regret_geomean"] = geometric_mean(ratios) - 1;
  object["regret_max"] = *most - 1;
  object["regret_max_case"] = cases[std::size_t(most - ratios.begin())];
}

json case_metrics(const CaseResult& result, const Contender& impl) {
  json metrics;
  metrics["ceiling_loop"] = result.ceiling_loop;
  metrics["compute_gflops"] = result.compute_gflops;
  metrics["memory_gbytes"] = result.memory_gbytes > 0 ? json(result.memory_gbytes) : json();
  metrics["stored_layout"] = to_string(impl.stored);
  if (!impl.variant.empty()) metrics["variant"] = impl.variant;
  if (result.bench_case.problem.block > 0) metrics["block"] = result.bench_case.problem.block;
  if (result.interleaved_bound_s > 0)
    metrics["interleaved_bound_share"] = result.interleaved_bound_s / impl.seconds.centre;
  if (impl.plan) metrics.update(metrics_of(*impl.plan));
  metrics.update(result.metrics);
  return metrics;
}

// Seven figures are more than any measurement has, and take a third less space.
void round_figures(json& value) {
  if (value.is_number_float() && std::isfinite(value.get<double>()))
    value = std::strtod(fmt::format("{:.7g}", value.get<double>()).c_str(), nullptr);
  if (value.is_structured())
    for (auto& item : value) round_figures(item);
}

// Compares tilewright with the fastest peer: the errors of both, and the ratio of times paired within rounds.
void add_comparison(json& object, const CaseResult& result) {
  const Contender* peer = result.best(Role::peer);
  if (!peer || !result.bench_case.on_device()) return;
  object["error_ratio"] = *result.error_ratio(Role::peer);  // null if only tilewright has an error
  if (const auto ratio = result.paired_ratio(Role::peer)) object["ratio"] = ratio_keys(peer->impl, *ratio);
  if (const auto ratio = result.paired_efficiency(Role::peer))
    object["efficiency_ratio"] = ratio_keys(peer->impl, *ratio);
}

json impl_object(const CaseResult& result, const Contender& impl) {
  json object = measured_row(result.bench_case, impl.impl, impl.seconds);
  object["impl_version"] = impl.version;
  object["config"] = impl.plan ? config_of(*impl.plan) : json();
  object["wisdom_match"] = object["config"].is_null() ? json() : json(to_string(match_of(*impl.plan)));
  object["batches_at_once"] = int(result.bench_case.batches_at_once());
  object["gflops"] = result.work_flops / impl.seconds.centre * 1e-9;
  object["bound_gflops"] = result.work_flops / result.bound_s * 1e-9;
  object["bound_share"] = result.bound_s / impl.seconds.centre;
  object["bound_kind"] = result.bound_kind;
  object["ceiling"] = result.ceiling;
  add_energy(object, impl, result.work_flops);
  object["error"] = impl.accuracy.error, object["error_bound"] = impl.accuracy.bound;
  object["error_rms"] = impl.accuracy.rms;
  if (&impl == &result.tested()) add_comparison(object, result);
  if (!result.notes.empty()) object["notes"] = result.notes;
  object["metrics"] = case_metrics(result, impl);
  round_figures(object);
  object.update(result.provenance);
  return object;
}

const people::Table& comparison_table() {
  static const people::Table table(
      "case 26< | time 8 | GFLOP/s 8 | of the bound 13 | default 7 | best peer 16< | "
      "its time 9 | ratio 6");
  return table;
}

}  // namespace

json seconds_keys(const Estimate& seconds) {
  return {{"seconds", seconds.centre},
          {"seconds_low", seconds.low},
          {"seconds_high", seconds.high},
          {"samples", seconds.samples}};
}

json ratio_keys(const std::string& peer, const Estimate& ratio) {
  return {{"peer", peer},
          {"centre", ratio.centre},
          {"low", ratio.low},
          {"high", ratio.high},
          {"samples", ratio.samples}};
}

void add_statistics(json& object, const std::string& prefix, const std::vector<double>& values,
                    const std::vector<std::string>& cases) {
  object[prefix + "_geomean"] = values.empty() ? json() : json(geometric_mean(values));
  const auto least = std::min_element(values.begin(), values.end());
  object[prefix + "_min"] = values.empty() ? json() : json(*least);
  object[prefix + "_min_case"] = values.empty() ? json() : json(cases[std::size_t(least - values.begin())]);
}

void add_energy(json& row, const Contender& one, double flops) {
  if (!one.joules) return add_no_energy(row, one.energy_note);
  row["energy_j"] = *one.joules;
  row["watts"] = one.watts;
  row["gflops_per_watt"] = flops / *one.joules * 1e-9;
}

json mean_and_worst(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  double sum = 0;
  for (const double value : values) sum += value;
  return {{"mean", sum / double(values.size())}, {"worst", *std::max_element(values.begin(), values.end())}};
}

std::string config_text(const json& config) {
  std::string text;
  for (const auto& [name, value] : config.items())
    text += fmt::format(" {}={}", name, value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

void add_shared_keys(json& row) {
  for (const char* key :
       {"cpu_share", "gpus", "transfer_s", "compute_s", "predicted_s", "error_budget", "select"})
    if (!row.contains(key)) row[key] = nullptr;
  row["math_mode"] = "full";  // the only mode that is built
}

std::string percent_text(const json& values) {
  return fmt::format("mean {:.1f} %, worst {:.1f} %", 100 * values["mean"].get<double>(),
                     100 * values["worst"].get<double>());
}

std::string summary_line(const json& s) {
  const auto word = [&](const char* key) {
    return s[key].is_string() ? " " + s[key].get<std::string>() : "";
  };
  std::string line = fmt::format("{}{}{}{} memory", s["dtype"].get<std::string>(), word("layout"), word("op"),
                                 word("memory"));
  if (s["threads"].is_number()) line += ", " + counted(s["threads"].get<int>(), "thread");
  const auto add = [&](const std::string& prefix, const char* what) {
    const json &mean = s[prefix + "_geomean"], &least = s[prefix + "_min"];
    if (mean.is_number())
      line += fmt::format("; {} {:.2f} (least {:.2f})", what, mean.get<double>(), least.get<double>());
  };
  add("ratio", "best peer / tilewright");
  add("bound_share", "share of the bound");
  return line;
}

json measured_row(const Case& c, const std::string& impl, const Estimate& seconds) {
  json object = case_keys(c);
  object["impl"] = impl;
  object.update(seconds_keys(seconds));
  add_provenance(object);
  add_missing_keys(object);
  return object;
}

std::string ratio_text(double ratio) {
  if (!(ratio > 0)) return "";
  return fmt::format("{:.{}f}x", ratio, ratio < 10 ? 2 : ratio < 100 ? 1 : 0);
}

std::string share_text(double share) { return share > 0 ? fmt::format("{:.0f} %", 100 * share) : ""; }

std::string table_head() { return comparison_table().head(); }

std::string table_line(const CaseResult& result) {
  const double problems = double(result.bench_case.problem.batch_count) * result.bench_case.batches_at_once();
  const Contender& tested = result.tested();
  std::vector<std::string> cells = {
      case_text(result.bench_case), seconds_text(tested.seconds.centre / problems),
      digits_text(result.work_flops / tested.seconds.centre * 1e-9),
      share_text(result.bound_share()) + " " + result.bound_kind, ratio_text(result.default_ratio())};
  const auto add_rival = [&](Role role) {
    const Contender* peer = result.best(role);
    cells.push_back(peer == nullptr ? "none" : peer->impl);
    cells.push_back(peer == nullptr ? "" : seconds_text(peer->seconds.centre / problems));
    cells.push_back(ratio_text(result.ratio(role)));
  };
  add_rival(Role::peer);
  std::string line = comparison_table().row(cells);
  if (result.best(Role::strided_peer) != nullptr) {
    cells = {"  beside strided batches", "", "", "", ""};
    add_rival(Role::strided_peer);
    line += '\n' + comparison_table().row(cells);
  }
  if (result.interleaved_bound_s > 0)
    line += fmt::format("\n  {} of the bound of interleaved batches",
                        share_text(result.interleaved_bound_s / tested.seconds.centre));
  return line;
}

std::vector<std::string> table_notes(bool has_default) {
  std::vector<std::string> notes = {
      "time: of one problem; ratio: the best peer's time over it, so above 1 tilewright is faster"};
  if (has_default) notes.push_back("default: the time without wisdom over the time with it");
  return notes;
}

std::vector<json> json_of(const CaseResult& result) {
  std::vector<json> objects;
  for (const Contender& impl : result.impls) objects.push_back(impl_object(result, impl));
  return objects;
}

json summary_key(const Case& c) {
  const json all = case_keys(c);
  json key;
  for (const char* name :
       {"family", "dtype", "layout", "op", "beta", "residency", "arrival", "threads", "target"})
    key[name] = all[name];
  return key;
}

Summary::Group& Summary::group_of(const Case& c) {
  const json key = summary_key(c);
  auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.key == key; });
  if (group == groups_.end()) group = groups_.insert(groups_.end(), Group{key, {}, {}, {}, {}, {}});
  return *group;
}

void Summary::note(Values& all, double value, const Case& c) {
  if (!(value > 0)) return;
  all.values.push_back(value);
  all.cases.push_back(problem_text(c));
}

void Summary::add(const CaseResult& result) {
  const Case& c = result.bench_case;
  Group& group = group_of(c);
  note(group.ratios, result.ratio(Role::peer), c);
  note(group.strided_ratios, result.ratio(Role::strided_peer), c);
  note(group.shares, result.bound_share(), c);
  note(group.default_ratios, result.default_ratio(), c);
  note(group.interleaved_shares, result.interleaved_bound_s / result.tested().seconds.centre, c);
}

void Summary::add(const Case& c, double ratio, double share) {
  Group& group = group_of(c);
  note(group.ratios, ratio, c);
  note(group.shares, share, c);
}

std::vector<json> Summary::objects() const {
  std::vector<json> objects;
  for (const Group& group : groups_) {
    json object = group.key;
    object["summary"] = true;
    const auto add = [&](const std::string& prefix, const Values& all) {
      add_statistics(object, prefix, all.values, all.cases);
    };
    add("ratio", group.ratios);
    add("bound_share", group.shares);
    if (!group.strided_ratios.values.empty()) add("strided_ratio", group.strided_ratios);
    if (const Values& all = group.default_ratios; !all.values.empty())
      add_regret(object, all.values, all.cases);
    if (!group.interleaved_shares.values.empty()) add("interleaved_bound_share", group.interleaved_shares);
    objects.push_back(object);
  }
  return objects;
}

std::vector<std::string> Summary::lines() const {
  static const people::Table table(
      "geometric means 36< | cases 5 | ratio 7 | least 7 | of the bound 12 | "
      "least 7 | default 7");
  if (groups_.empty()) return {};
  const auto mean = [](const Values& all) { return all.values.empty() ? 0 : geometric_mean(all.values); };
  const auto least = [](const Values& all) {
    return all.values.empty() ? 0 : *std::min_element(all.values.begin(), all.values.end());
  };
  std::vector<std::string> lines{table.head()};
  for (const Group& group : groups_) {
    const json& k = group.key;
    std::string name = fmt::format("{} {} {} {} b{:g}", k["dtype"].get<std::string>(),
                                   k["op"].get<std::string>(), k["layout"].get<std::string>(),
                                   k["residency"].get<std::string>(), k["beta"].get<double>());
    if (k["arrival"] != to_string(Arrival::back_to_back)) name += " " + k["arrival"].get<std::string>();
    if (k["threads"].is_number() && k["threads"] != 1) name += fmt::format(" t{}", k["threads"].get<int>());
    const auto add = [&](const std::string& what, const Values& ratios, const Values& shares,
                         const Values& defaults) {
      lines.push_back(
          table.row({what, std::to_string(std::max(ratios.values.size(), shares.values.size())),
                     ratio_text(mean(ratios)), ratio_text(least(ratios)), share_text(mean(shares)),
                     share_text(least(shares)), ratio_text(mean(defaults))}));
    };
    add(name, group.ratios, group.shares, group.default_ratios);
    if (!group.strided_ratios.values.empty()) add("  beside strided batches", group.strided_ratios, {}, {});
    if (!group.interleaved_shares.values.empty())
      add("  of the interleaved bound", {}, group.interleaved_shares, {});
  }
  return lines;
}

bool Summary::has_defaults() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const Group& group) { return !group.default_ratios.values.empty(); });
}

}  // namespace tilewright::bench
