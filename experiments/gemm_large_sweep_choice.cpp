// Chooses configs. For a screening: draws them, covers the values of axes, and fills strata. Of a screening:
// those to measure again.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "analyze/analysis.hpp"
#include "core/input/json_text.hpp"
#include "gemm_large_sweep.hpp"
#include "ladder.hpp"
#include "measure/recorded_file.hpp"
#include "people/refusal.hpp"

namespace tilewright::bench {
namespace {

using C = GemmLargeConfig;

constexpr std::size_t draws_per_config = 20;
constexpr std::size_t least_of_a_value = 5;  // so that a value remains if some configs spill
constexpr double slowest = 10;               // times the fastest predicted; slower ones only for their values

class Chooser {
 public:
  Chooser(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeDevice& limits, std::size_t count)
      : p_(p), s_(s), limits_(limits), count_(count), space_(gemm_large_space(p, s, limits)) {}

  void add_rules_of_thumb() {
    for (const C& c : gemm_large_promising(p_, s_, limits_, count_ / 8)) take(c);
    for (const C& c : gemm_large_defaults(p_, s_, limits_)) take(c);
    for (const GemmLargeStep& step : gemm_large_ladder(p_, s_, limits_)) take(step.config);
    fastest_ = cycles(choice_.configs.front());
  }
  void draw(unsigned seed) {
    std::mt19937 random(seed);
    drawn_ = space_.sample(draws_per_config * count_, random);
    // Likely configs come first, so that a value is covered by a config worth measuring if there is one.
    std::stable_partition(drawn_.begin(), drawn_.end(),
                          [&](const C& c) { return cycles(c) < slowest * fastest_; });
    choice_.values = axis_values(drawn_);
  }
  void cover() {
    std::map<std::string, std::size_t> counts;
    for (const C& c : choice_.configs) add_values(c, counts);
    for (const C& c : drawn_) {
      if (choice_.configs.size() >= count_) return;
      std::map<std::string, std::size_t> own;
      add_values(c, own);
      const bool rare = std::any_of(
          own.begin(), own.end(), [&](const auto& value) { return counts[value.first] < least_of_a_value; });
      if (rare && take(c)) add_values(c, counts);
    }
  }
  void fill() {
    std::map<std::pair<int, int>, std::vector<C>> strata;
    for (const C& c : drawn_)
      if (cycles(c) < slowest * fastest_) strata[{int(c.product), int(c.load)}].push_back(c);
    for (std::size_t turn = 0, left = 1; left > 0 && choice_.configs.size() < count_; ++turn) {
      left = 0;
      for (const auto& [key, configs] : strata)
        if (turn < configs.size() && choice_.configs.size() < count_) {
          take(configs[turn]);
          ++left;
        }
    }
  }
  SweepChoice result() && { return std::move(choice_); }

 private:
  double cycles(const C& c) const { return gemm_large_cost(p_, s_, c, limits_).cycles(); }
  bool take(const C& c) {
    if (!space_.contains(c) || !known_.insert(describe(c)).second) return false;
    choice_.configs.push_back(c);
    return true;
  }
  static void add_values(const C& c, std::map<std::string, std::size_t>& counts) {
    const auto fields = to_json(c);
    for (const auto& item : fields.items()) ++counts[item.key() + "=" + item.value().dump()];
  }

  const GemmProblem& p_;
  const GemmLargeShape& s_;
  const GemmLargeDevice& limits_;
  std::size_t count_;
  Space<C> space_;
  double fastest_ = 0;
  std::vector<C> drawn_;
  std::set<std::string> known_;
  SweepChoice choice_;
};

std::vector<SweepPoint> fastest_first(std::vector<SweepPoint> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const SweepPoint& a, const SweepPoint& b) { return a.gflops > b.gflops; });
  return points;
}

// Returns performance and efficiency, which is 0 if it was not measured.
std::vector<PlanePoint> plane_of(const std::vector<SweepPoint>& points) {
  std::vector<PlanePoint> plane;
  for (const SweepPoint& p : points) plane.push_back({p.gflops, p.efficiency.value_or(0)});
  return plane;
}

// Returns `count` positions spread evenly over `size`, both ends included.
std::vector<std::size_t> even(std::size_t size, std::size_t count) {
  std::vector<std::size_t> positions;
  if (size == 0) return positions;
  count = std::min(count, size);
  for (std::size_t i = 0; i < count; ++i) positions.push_back(count == 1 ? 0 : i * (size - 1) / (count - 1));
  return positions;
}

// Fills up to `count` of `size` at even ranks of the positions not chosen yet.
void fill_up(std::set<std::size_t>& chosen, std::size_t size, std::size_t count) {
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < size; ++i)
    if (chosen.count(i) == 0) rest.push_back(i);
  const std::size_t wanted = count > chosen.size() ? count - chosen.size() : 0;
  for (const std::size_t i : even(rest.size(), wanted)) chosen.insert(rest[i]);
}

std::vector<nlohmann::json> configs_of(const std::vector<SweepPoint>& points,
                                       const std::set<std::size_t>& chosen) {
  std::vector<nlohmann::json> configs;
  for (const std::size_t i : chosen) configs.push_back(points[i].config);
  return configs;
}

}  // namespace

AxisValues axis_values(const std::vector<GemmLargeConfig>& configs) {
  AxisValues values;
  for (const GemmLargeConfig& config : configs) {
    const auto fields = to_json(config);
    for (const auto& item : fields.items()) values[item.key()].insert(item.value().dump());
  }
  return values;
}

std::string missing_values(const AxisValues& all, const AxisValues& some) {
  std::string text;
  for (const auto& [axis, values] : all)
    for (const std::string& value : values) {
      const auto found = some.find(axis);
      if (found == some.end() || found->second.count(value) == 0)
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", axis, value);
    }
  return text;
}

SweepChoice choose_sweep(const GemmProblem& problem, const GemmLargeShape& shape,
                         const GemmLargeDevice& limits, std::size_t count, unsigned seed) {
  Chooser chooser(problem, shape, limits, count);
  chooser.add_rules_of_thumb();
  chooser.draw(seed);
  chooser.cover();
  chooser.fill();
  return std::move(chooser).result();
}

std::vector<nlohmann::json> sweep_lines(const std::string& path, const char* argument) {
  std::istringstream file = read_recorded(path, argument, ErrorCode::io);
  std::vector<nlohmann::json> lines;
  for (std::string text; next_line(file, text);) {
    auto line = parse_json_or_discard(text);
    if (line.is_object())
      lines.push_back(std::move(line));
    else if (!file.eof())  // otherwise a line without its end: its run was killed, or is writing it
      io_fault(argument, "{} = '{}' is not a sweep: line {} is invalid", argument, path, lines.size() + 1);
  }
  return lines;
}

std::vector<SweepPoint> screened_points(const std::vector<std::string>& paths, const std::string& problem) {
  std::vector<SweepRow> rows;
  std::string names;
  for (const std::string& path : paths) {
    for (auto& row : sweep_rows(sweep_lines(path, "sweep"), path)) {
      if (row.phase == "screen" && row.problem == problem) rows.push_back(std::move(row));
    }
    names += (names.empty() ? "'" : ", '") + path + "'";
  }
  const auto cases = sweep_cases(rows);
  if (cases.empty())
    wrong_use("sweep", "{} {} no measured row of a screening of {}: run `screen` first", names,
              paths.size() > 1 ? "hold" : "holds", problem);
  return cases.front().points;
}

LongChoice choose_long(const std::vector<SweepPoint>& screened, std::size_t best, std::size_t repeated) {
  const std::vector<SweepPoint> fast = fastest_first(screened);
  const std::vector<PlanePoint> points = plane_of(fast);
  std::vector<std::size_t> frugal(fast.size());
  for (std::size_t i = 0; i < frugal.size(); ++i) frugal[i] = i;
  std::stable_sort(frugal.begin(), frugal.end(),
                   [&](std::size_t i, std::size_t j) { return points[i].y > points[j].y; });
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < fast.size() && chosen.size() < best; ++i) {
    chosen.insert(i);
    if (chosen.size() < best) chosen.insert(frugal[i]);
  }
  for (const std::size_t corner : convex_hull(points)) chosen.insert(corner);
  const std::vector<std::size_t> order(chosen.begin(), chosen.end());
  LongChoice choice;
  for (const std::size_t i : order) choice.all.push_back(fast[i].config);
  for (const std::size_t i : even(order.size(), repeated)) choice.repeated.push_back(fast[order[i]].config);
  return choice;
}

std::vector<nlohmann::json> choose_sizes(const std::vector<SweepPoint>& screened, std::size_t count) {
  const std::vector<SweepPoint> fast = fastest_first(screened);
  const std::vector<PlanePoint> points = plane_of(fast);
  std::set<std::size_t> chosen;
  for (const std::size_t corner : trade_off_arc(points, convex_hull(points)))
    if (chosen.size() < count) chosen.insert(corner);
  fill_up(chosen, fast.size(), count);
  return configs_of(fast, chosen);
}

std::vector<nlohmann::json> choose_sample(const std::vector<SweepPoint>& screened, std::size_t count) {
  const std::vector<SweepPoint> fast = fastest_first(screened);
  std::set<std::size_t> chosen;
  for (const std::size_t corner : convex_hull(plane_of(fast))) chosen.insert(corner);
  fill_up(chosen, fast.size(), count);
  return configs_of(fast, chosen);
}

}  // namespace tilewright::bench
