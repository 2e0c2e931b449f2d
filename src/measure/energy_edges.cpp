// Finds a counter's edges and computes the energy between them.
#include "measure/energy_edges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "measure/clock.hpp"

namespace tilewright {

bool EnergyEdges::add(double at_s, std::optional<double> joules) {
  if (!joules) return false;
  const bool moved = last_j_ && *joules != *last_j_;
  if (moved) moves_.push_back({at_s, *joules, at_s - last_s_});
  last_j_ = joules;
  last_s_ = at_s;
  return moved;
}

EnergyWindow energy_between_edges(const EnergyEdges& edges, double from_s, std::size_t least_edges) {
  EnergyWindow window;
  std::vector<EnergyEdge> in;
  for (const EnergyEdge& edge : edges.moves())
    if (edge.at_s >= from_s) in.push_back(edge);
  window.edges = in.size();
  if (!edges.was_read()) {
    window.fault = "the device reports no energy";
    return window;
  }
  if (in.size() < std::max<std::size_t>(2, least_edges)) {
    window.fault = fmt::format("the energy counter moved {} times under the load, and {} are needed",
                               in.size(), std::max<std::size_t>(2, least_edges));
    return window;
  }
  window.begin_s = in.front().at_s;
  window.end_s = in.back().at_s;
  window.joules = in.back().joules - in.front().joules;
  if (!(window.joules > 0)) {
    window.fault = "the energy counter went backwards";
    return window;
  }
  window.error_share = (in.front().late_s + in.back().late_s) / window.seconds();
  for (const EnergyEdge& edge : in) {
    const double straight = (edge.at_s - window.begin_s) / window.seconds();
    window.unsteady =
        std::max(window.unsteady, std::abs((edge.joules - in.front().joules) / window.joules - straight));
  }
  return window;
}

EnergyPoll::EnergyPoll(Counter counter, std::function<void()> on_edge)
    : counter_(std::move(counter)), on_edge_(std::move(on_edge)), thread_([this] { run(); }) {}

EnergyPoll::~EnergyPoll() {
  ends_ = true;
  thread_.join();
}

void EnergyPoll::run() {
  while (!ends_) {
    const std::optional<double> joules = counter_();
    bool moved = false;
    {
      const std::lock_guard lock(mutex_);
      moved = edges_.add(wall_seconds(), joules);
    }
    if (moved && on_edge_) on_edge_();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

EnergyEdges EnergyPoll::seen() const {
  const std::lock_guard lock(mutex_);
  return edges_;
}

std::size_t EnergyPoll::edges_since(double from_s) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(edges_.moves().begin(), edges_.moves().end(),
                                                [&](const EnergyEdge& edge) { return edge.at_s >= from_s; }));
}

}  // namespace tilewright
