// The convex hull of points in the plane (Anzt 2015, Fig. 5), and what hangs on it: its corners in order, and
// which of them trade performance for efficiency. Pure geometry.
#pragma once

#include <cstddef>
#include <vector>

namespace tilewright {

struct PlanePoint {
  double x = 0, y = 0;
};

// Positions of the corners, counterclockwise from the point with the largest y (the leftmost of several).
// Points on an edge are no corners. One or two distinct points are their own hull.
std::vector<std::size_t> convex_hull(const std::vector<PlanePoint>& points);

// The part of `hull` from the largest y to the largest x: no other point is better in both.
std::vector<std::size_t> trade_off_arc(const std::vector<PlanePoint>& points,
                                       const std::vector<std::size_t>& hull);

// The lengths of the sections of a vertical line at x (from, to along y) inside the hull; false when the line
// misses it.
bool cut_at_x(const std::vector<PlanePoint>& points, const std::vector<std::size_t>& hull, double x,
              double& low, double& high);

}  // namespace tilewright
