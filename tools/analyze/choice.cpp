// Chooses the configs of a screening for long measurements and for a profiler's sample.
#include "analyze/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyze/hull.hpp"
#include "core/input/json_text.hpp"
#include "measure/recorded_file.hpp"

namespace tilewright {
namespace {

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

std::vector<nlohmann::json> sweep_lines(const std::string& path, const char* argument) {
  std::istringstream file = read_recorded(path, argument, ErrorCode::io);
  std::vector<nlohmann::json> lines;
  for (std::string text; next_line(file, text);) {
    auto line = parse_json_or_discard(text);
    if (line.is_object())
      lines.push_back(std::move(line));
    else if (!file.eof())  // otherwise a line without its end: its run was killed, or is writing it
      throw Error(ErrorCode::io, argument,
                  fmt::format("{} = '{}': line {} cannot be read, so it is no sweep", argument, path,
                              lines.size() + 1));
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
    throw Error(ErrorCode::invalid_argument, "sweep",
                fmt::format("{} {} no measured row of a screening of {}: `screen` comes first", names,
                            paths.size() > 1 ? "hold" : "holds", problem));
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

}  // namespace tilewright
