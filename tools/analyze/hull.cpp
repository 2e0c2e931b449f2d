// Andrew's monotone chain, rotated to begin where Anzt's Table II begins.
#include "analyze/hull.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace tilewright {
namespace {

// Returns twice the area of the triangle; positive if o, a, b turn left.
double turn(const PlanePoint& o, const PlanePoint& a, const PlanePoint& b) {
  return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

// Returns the points in the order of (x, y) whose turns are all to the left.
std::vector<std::size_t> chain(const std::vector<PlanePoint>& points, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> part;
  for (const std::size_t next : order) {
    while (part.size() > 1 && turn(points[part[part.size() - 2]], points[part.back()], points[next]) <= 0)
      part.pop_back();
    part.push_back(next);
  }
  return part;
}

}  // namespace

std::vector<std::size_t> convex_hull(const std::vector<PlanePoint>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](std::size_t i) { return std::tuple(points[i].x, points[i].y); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return std::tuple(place(i), i) < std::tuple(place(j), j); });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](std::size_t i, std::size_t j) { return place(i) == place(j); }),
              order.end());
  if (order.size() < 3) return order;
  std::vector<std::size_t> hull = chain(points, order);
  std::reverse(order.begin(), order.end());
  const std::vector<std::size_t> upper = chain(points, order);
  hull.insert(hull.end(), upper.begin() + 1, upper.end() - 1);
  const auto top = std::max_element(hull.begin(), hull.end(), [&](std::size_t i, std::size_t j) {
    return std::tuple(points[i].y, -points[i].x) < std::tuple(points[j].y, -points[j].x);
  });
  std::rotate(hull.begin(), top, hull.end());
  return hull;
}

std::vector<std::size_t> trade_off_arc(const std::vector<PlanePoint>& points,
                                       const std::vector<std::size_t>& hull) {
  if (hull.empty()) return {};
  const auto right = std::max_element(hull.begin(), hull.end(), [&](std::size_t i, std::size_t j) {
    return std::tuple(points[i].x, points[i].y) < std::tuple(points[j].x, points[j].y);
  });
  const auto top = std::max_element(hull.begin(), hull.end(), [&](std::size_t i, std::size_t j) {
    return std::tuple(points[i].y, points[i].x) < std::tuple(points[j].y, points[j].x);
  });
  std::vector<std::size_t> arc{*top};  // clockwise from the top is the reverse order of the hull
  for (auto at = top; at != right;) {
    at = at == hull.begin() ? hull.end() - 1 : at - 1;
    arc.push_back(*at);
  }
  return arc;
}

bool cut_at_x(const std::vector<PlanePoint>& points, const std::vector<std::size_t>& hull, double x,
              double& low, double& high) {
  low = std::numeric_limits<double>::infinity();
  high = -low;
  for (std::size_t i = 0; i < hull.size(); ++i) {
    const PlanePoint &a = points[hull[i]], &b = points[hull[(i + 1) % hull.size()]];
    if (x < std::min(a.x, b.x) || x > std::max(a.x, b.x)) continue;
    for (const double share : a.x == b.x ? std::vector{0.0, 1.0} : std::vector{(x - a.x) / (b.x - a.x)}) {
      const double y = a.y + share * (b.y - a.y);
      low = std::min(low, y);
      high = std::max(high, y);
    }
  }
  return low <= high;
}

}  // namespace tilewright
