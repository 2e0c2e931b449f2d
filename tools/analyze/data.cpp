// Converts rows to points: joins cards, takes medians, counts exclusions.
#include "analyze/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/estimate.hpp"
#include "core/problem.hpp"
#include "people/refusal.hpp"

namespace tilewright {
namespace {

constexpr const char* long_phase = "long";

bool is_ours(const SweepRow& row) { return row.config.is_object() && row.impl.starts_with("tilewright"); }

double flops_of_one(const std::string& problem) {
  GemmProblem one = parse_problem(problem);
  one.batch_count = 1;  // rows give the time of one problem
  return flops(one);
}

// Builds a case from the rows of one problem.
class CaseMaker {
 public:
  CaseMaker(const std::string& problem, std::vector<SweepRow> rows, const SweepJoinRules& rules)
      : rows_(std::move(rows)), rules_(rules) {
    one_.problem = problem;
    one_.flops = flops_of_one(problem);
  }

  SweepCase make() {
    for (const SweepRow& row : rows_)
      for (const std::string& note : row.notes) ++one_.notes[note];
    collect_sentinels();
    refuse_strangers();
    join_cards();
    make_points();
    make_repeats();
    return std::move(one_);
  }

 private:
  using Group = std::vector<const SweepRow*>;

  void collect_sentinels() {
    std::map<std::string, std::size_t> peers;
    for (const SweepRow& row : rows_)
      if (!row.config.is_object() && row.seconds) ++peers[row.impl];
    for (const auto& [name, count] : peers)
      if (one_.sentinel.empty() || count > peers[one_.sentinel]) one_.sentinel = name;
    // Long windows warm the card up, and most configs are joined by short ones, so long sentinels are left
    // out if short ones exist.
    std::set<std::string> screened;
    for (const SweepRow& row : rows_)
      if (is_sentinel(row) && row.phase != long_phase) screened.insert(row.uuid);
    for (const SweepRow& row : rows_)
      if (is_sentinel(row)) {
        if (!row.impl_version.empty()) ++versions_[row.uuid][row.impl_version];
        if (row.phase == long_phase && screened.count(row.uuid) != 0) continue;
        const bool has_energy = row.joules && *row.joules > 0;
        one_.sentinels[row.uuid].push_back({*row.seconds, has_energy ? row.joules : std::nullopt});
      }
    for (const auto& [uuid, versions] : versions_)
      if (versions.size() > 1)
        for (const auto& [version, count] : versions)
          one_.notes[fmt::format("the sentinel on card '{}' is {} {}, but other rows have another version",
                                 uuid, one_.sentinel, version)] += count;
  }

  bool is_sentinel(const SweepRow& row) const {
    return !row.config.is_object() && row.seconds && row.impl == one_.sentinel;
  }

  // Returns "13.1.0", or several: "12.1.0, 13.1.0".
  std::string version_on(const std::string& uuid) const {
    std::string text;
    if (const auto known = versions_.find(uuid); known != versions_.end())
      for (const auto& [version, count] : known->second) text += (text.empty() ? "" : ", ") + version;
    return text;
  }

  // A factor cannot relate cards of another kind or kernels of other sources.
  void refuse_strangers() {
    std::map<std::string, std::string> first;
    for (const SweepRow& row : rows_) {
      if (!is_ours(row)) continue;
      const std::pair<const char*, std::string> same[] = {{"device", row.device},
                                                          {"source_hash", row.source_hash}};
      for (const auto& [key, value] : same) {
        if (value.empty()) continue;
        const auto [known, is_first] = first.emplace(key, value);
        if (is_first || known->second == value) continue;
        if (!rules_.across_sources || std::string_view(key) != "source_hash")
          wrong_use("sweep", "{} was measured with {} = '{}' and '{}': these are not joined{}", one_.problem,
                    key, known->second, value,
                    std::string_view(key) == "source_hash" ? " without --across-sources" : "");
      }
      if (!row.device.empty()) one_.device = row.device;  // rows of faults have no device
      one_.family = row.family;
    }
    tell_sources();
  }

  void tell_sources() {
    std::map<std::string, std::size_t> sources;
    for (const SweepRow& row : rows_)
      if (is_ours(row) && row.seconds) ++sources[row.source_hash];
    if (sources.size() > 1)
      for (const auto& [hash, count] : sources)
        one_.notes[fmt::format("measured with kernels of the sources '{}'", hash)] += count;
  }

  void join_cards() {
    std::map<std::string, std::size_t> cards;
    for (const SweepRow& row : rows_)
      if (is_ours(row) && row.seconds) ++cards[row.uuid];
    std::vector<std::pair<std::size_t, std::string>> order;
    for (const auto& [uuid, count] : cards) order.emplace_back(count, uuid);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& x, const auto& y) { return x.first > y.first; });
    for (const auto& [count, uuid] : order) one_.joins.push_back(join(order.front().second, uuid, count));
  }

  SweepJoin join(const std::string& reference, const std::string& uuid, std::size_t count) const {
    SweepJoin join;
    join.uuid = uuid;
    join.points = count;
    const auto own = one_.sentinels.find(uuid), other = one_.sentinels.find(reference);
    join.sentinels = own == one_.sentinels.end() ? 0 : own->second.size();
    join.sentinel_version = version_on(uuid);
    if (uuid == reference) return join;
    if (join.sentinels == 0 || other == one_.sentinels.end())
      wrong_use("sweep",
                "{} was measured on the cards '{}' and '{}', and '{}' has no sentinel (a "
                "library's rows of the same problem) to join them by",
                one_.problem, reference, uuid, join.sentinels == 0 ? uuid : reference);
    // Another version is another program, whose ratio does not compare the cards.
    if (const std::string theirs = version_on(reference);
        !theirs.empty() && !join.sentinel_version.empty() && theirs != join.sentinel_version)
      wrong_use("sweep",
                "{}: the sentinel {} is version {} on the card '{}' and {} on '{}': cards are "
                "joined by one and the same program",
                one_.problem, one_.sentinel, theirs, reference, join.sentinel_version, uuid);
    const SentinelReading here = median_of(own->second), there = median_of(other->second);
    join.time_factor = there.seconds / here.seconds;
    join.energy_factor = here.joules && there.joules ? *there.joules / *here.joules : 0;
    return join;
  }

  const SweepJoin& join_of(const std::string& uuid) const {
    return *std::find_if(one_.joins.begin(), one_.joins.end(),
                         [&](const SweepJoin& join) { return join.uuid == uuid; });
  }
  double seconds_of(const SweepRow& row) const { return *row.seconds * join_of(row.uuid).time_factor; }
  // Empty if the cards' energy cannot be joined.
  std::optional<double> joules_of(const SweepRow& row) const {
    const double factor = join_of(row.uuid).energy_factor;
    return row.joules && *row.joules > 0 && factor > 0 ? std::optional(*row.joules * factor) : std::nullopt;
  }

  // Power under the same joined load. Empty if the cards' energy cannot be joined.
  std::optional<double> watts_of(const SweepRow& row) const {
    const SweepJoin& join = join_of(row.uuid);
    return row.watts && join.energy_factor > 0
               ? std::optional(*row.watts * join.energy_factor / join.time_factor)
               : std::nullopt;
  }

  std::vector<Group> groups(bool is_long) const {
    std::vector<Group> list;
    std::map<std::string, std::size_t> known;
    for (const SweepRow& row : rows_) {
      if (!is_ours(row) || !row.seconds || (row.phase == long_phase) != is_long) continue;
      const auto [at, is_new] = known.emplace(row.config.dump(), list.size());
      if (is_new) list.emplace_back();
      list[at->second].push_back(&row);
    }
    return list;
  }

  void make_points() {
    std::set<std::string> measured;
    auto list = groups(false);
    if (list.empty()) list = groups(true);
    for (const Group& group : list) {
      one_.points.push_back(point(group));
      measured.insert(group.front()->config.dump());
      take_anchor(group);
    }
    std::set<std::string> counted;
    for (const SweepRow& row : rows_)
      if (is_ours(row) && !row.seconds && measured.count(row.config.dump()) == 0 &&
          counted.insert(row.config.dump()).second)
        ++one_.excluded["not measured: " + row.fault];
  }

  SweepPoint point(const Group& group) {
    SweepPoint p;
    std::vector<double> seconds, joules, watts;
    std::map<std::string, std::vector<double>> metrics;
    for (const SweepRow* row : group) {
      seconds.push_back(seconds_of(*row));
      if (const auto j = joules_of(*row)) joules.push_back(*j);
      if (const auto w = watts_of(*row)) watts.push_back(*w);
      for (const auto& [name, value] : row->metrics) metrics[name].push_back(value);
      p.noted = p.noted || !row->notes.empty();
      p.is_default = p.is_default || row->is_default;
    }
    p.config = group.front()->config;
    p.samples = group.size();
    p.cost.seconds = median(seconds);
    p.gflops = one_.flops / p.cost.seconds * 1e-9;
    for (auto& [name, values] : metrics) p.metrics[name] = median(std::move(values));
    if (!watts.empty()) p.watts = median(watts);
    if (joules.empty()) {
      const std::string note = group.front()->energy_note;
      ++one_.excluded["time only: " + (note.empty() ? "no energy was recorded" : note)];
      return p;
    }
    p.cost.joules = median(joules);
    p.efficiency = one_.flops / *p.cost.joules * 1e-9;
    return p;
  }

  // Records the remaining difference between the cards if two of them measured one config.
  void take_anchor(const Group& group) {
    const std::string& reference = one_.joins.front().uuid;
    const auto base =
        std::find_if(group.begin(), group.end(), [&](const SweepRow* row) { return row->uuid == reference; });
    if (base == group.end()) return;
    std::set<std::string> seen{reference};
    for (const SweepRow* row : group) {
      if (!seen.insert(row->uuid).second) continue;
      for (SweepJoin& join : one_.joins) {
        if (join.uuid != row->uuid) continue;
        ++join.anchors;
        join.time_residual =
            std::max(join.time_residual, std::abs(seconds_of(*row) / seconds_of(**base) - 1));
        if (const auto here = joules_of(*row), there = joules_of(**base); here && there)
          join.energy_residual = std::max(join.energy_residual, std::abs(*here / *there - 1));
      }
    }
  }

  void make_repeats() {
    for (const Group& group : groups(true)) {
      SweepRepeat repeat;
      repeat.config = group.front()->config;
      for (const SweepRow* row : group) {
        repeat.seconds.push_back(seconds_of(*row));
        if (const auto joules = joules_of(*row)) repeat.joules.push_back(*joules);
      }
      for (const SweepPoint& p : one_.points)
        if (p.config == repeat.config) repeat.screened = p.cost;
      one_.repeats.push_back(std::move(repeat));
    }
  }

  std::vector<SweepRow> rows_;
  SweepJoinRules rules_;
  std::map<std::string, std::map<std::string, std::size_t>> versions_;  // versions of the sentinel by card
  SweepCase one_;
};

// Computes ratios to the first sentinels.

constexpr std::size_t first_count = 3;

void say(std::vector<std::string>& notes, double ratio, double limit, const char* more, const char* less) {
  if (std::abs(ratio - 1) > limit)
    notes.push_back(fmt::format(
        "the sentinel takes {:.1f} % {} than at first: another load on the card, or another clock",
        100 * std::abs(ratio - 1), ratio > 1 ? more : less));
}

}  // namespace

bool SweepCase::has_energy() const {
  return std::count_if(points.begin(), points.end(),
                       [](const SweepPoint& p) { return p.efficiency.has_value(); }) >= 3;
}

std::vector<SweepCase> sweep_cases(const std::vector<SweepRow>& rows, const SweepJoinRules& rules) {
  std::vector<std::string> problems;
  std::map<std::string, std::vector<SweepRow>> by_problem;
  for (const SweepRow& row : rows) {
    auto& list = by_problem[row.problem];
    if (list.empty()) problems.push_back(row.problem);
    list.push_back(row);
  }
  std::vector<SweepCase> cases;
  for (const std::string& problem : problems) {
    SweepCase one = CaseMaker(problem, std::move(by_problem[problem]), rules).make();
    if (!one.points.empty()) cases.push_back(std::move(one));
  }
  return cases;
}

void add_rates(SweepCase& one) {
  for (SweepPoint& point : one.points) {
    std::map<std::string, double> rates;
    for (const auto& [name, value] : point.metrics)
      if (name.starts_with("bytes.") || name.starts_with("instructions."))
        rates[name + "_per_s"] = value / point.cost.seconds;
    point.metrics.merge(rates);
  }
}

SentinelReading median_of(const std::vector<SentinelReading>& readings) {
  std::vector<double> seconds, joules;
  for (const SentinelReading& reading : readings) {
    seconds.push_back(reading.seconds);
    if (reading.joules) joules.push_back(*reading.joules);
  }
  SentinelReading median{estimate(seconds).centre, std::nullopt};
  if (joules.size() == seconds.size()) median.joules = estimate(joules).centre;
  return median;
}

void SentinelWatch::add(const SentinelReading& reading) { readings_.push_back(reading); }

SentinelReading SentinelWatch::reference() const {
  const auto count = static_cast<long>(std::min(first_count, readings_.size()));
  return median_of({readings_.begin(), readings_.begin() + count});
}

double SentinelWatch::time_ratio() const { return readings_.back().seconds / reference().seconds; }

std::optional<double> SentinelWatch::energy_ratio() const {
  const auto first = reference().joules;
  if (!first || !readings_.back().joules) return std::nullopt;
  return *readings_.back().joules / *first;
}

std::vector<std::string> SentinelWatch::notes() const {
  std::vector<std::string> notes;
  if (empty()) return notes;
  say(notes, time_ratio(), time_limit, "longer", "less time");
  if (const auto ratio = energy_ratio()) say(notes, *ratio, energy_limit, "more energy", "less energy");
  return notes;
}

}  // namespace tilewright
