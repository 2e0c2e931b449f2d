// Which configs of a screening are measured long, and which make up a profiler's sample.
#include <algorithm>

#include "gemm_large_sweep.hpp"
#include "tune/analysis_hull.hpp"

namespace tilewright::bench {
namespace {

struct Screened {
  nlohmann::json config;
  PlanePoint point;  // performance and efficiency
};

// Rows with a time, the fastest first; efficiency is 0 for all where any lacks it.
std::vector<Screened> screened(const std::vector<nlohmann::json>& rows) {
  std::vector<Screened> list;
  for (const auto& row : rows) {
    if (row.value("phase", "") != "screen" || row.value("impl", "") != "tilewright" ||
        !row.contains("gflops"))
      continue;
    const auto known =
        std::find_if(list.begin(), list.end(), [&](const Screened& s) { return s.config == row["config"]; });
    if (known != list.end()) continue;  // an anchor that two cards measured
    const auto& e = row["gflops_per_watt"];
    list.push_back({row["config"], {row["gflops"].get<double>(), e.is_number() ? e.get<double>() : 0}});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Screened& a, const Screened& b) { return a.point.x > b.point.x; });
  return list;
}

std::vector<PlanePoint> points_of(const std::vector<Screened>& list) {
  std::vector<PlanePoint> points;
  for (const Screened& s : list) points.push_back(s.point);
  return points;
}

// `count` positions spread evenly over `size`, both ends included.
std::vector<std::size_t> even(std::size_t size, std::size_t count) {
  std::vector<std::size_t> positions;
  if (size == 0) return positions;
  count = std::min(count, size);
  for (std::size_t i = 0; i < count; ++i) positions.push_back(count == 1 ? 0 : i * (size - 1) / (count - 1));
  return positions;
}

}  // namespace

LongChoice choose_long(const std::vector<nlohmann::json>& rows, std::size_t best, std::size_t repeated) {
  const std::vector<Screened> fast = screened(rows);
  const std::vector<PlanePoint> points = points_of(fast);
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

std::vector<nlohmann::json> choose_sizes(const std::vector<nlohmann::json>& rows, std::size_t count) {
  const std::vector<Screened> fast = screened(rows);
  const std::vector<PlanePoint> points = points_of(fast);
  std::set<std::size_t> chosen;
  for (const std::size_t corner : trade_off_arc(points, convex_hull(points)))
    if (chosen.size() < count) chosen.insert(corner);
  for (const std::size_t i : even(fast.size(), count))
    if (chosen.size() < count) chosen.insert(i);
  std::vector<nlohmann::json> configs;
  for (const std::size_t i : chosen) configs.push_back(fast[i].config);
  return configs;
}

std::vector<nlohmann::json> choose_sample(const std::vector<nlohmann::json>& rows, std::size_t count) {
  const std::vector<Screened> fast = screened(rows);
  std::set<std::size_t> chosen;
  for (const std::size_t corner : convex_hull(points_of(fast))) chosen.insert(corner);
  const std::size_t ranks = count > chosen.size() ? count - chosen.size() : 0;
  for (const std::size_t i : even(fast.size(), ranks)) chosen.insert(i);
  std::vector<nlohmann::json> configs;
  for (const std::size_t i : chosen) configs.push_back(fast[i].config);
  return configs;
}

}  // namespace tilewright::bench
