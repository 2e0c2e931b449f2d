// The convex hull of points in the plane (Anzt 2015, Fig. 5): its corners in order, and those that trade
// performance for efficiency. This is pure geometry.
#pragma once

#include <cstddef>
#include <vector>

namespace tilewright {

struct PlanePoint {
  double x = 0, y = 0;
};

// Returns the positions of the corners, counterclockwise from the point with the largest y (the leftmost of
// several). Points on an edge are not corners. One or two distinct points are their own hull.
std::vector<std::size_t> convex_hull(const std::vector<PlanePoint>& points);

// Returns the part of `hull` from the largest y to the largest x: no other point is better in both.
std::vector<std::size_t> trade_off_arc(const std::vector<PlanePoint>& points,
                                       const std::vector<std::size_t>& hull);

// Computes the intersection of a vertical line at x with the hull (from, to along y); returns false if the
// line misses it.
bool cut_at_x(const std::vector<PlanePoint>& points, const std::vector<std::size_t>& hull, double x,
              double& low, double& high);

}  // namespace tilewright
