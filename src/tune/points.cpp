// Finds the axes that vary among configs, and the lines of points along each of them.
#include "tune/points.hpp"

#include <algorithm>
#include <cstdlib>

namespace tilewright {
namespace {

int index_of(const PointSet::Axis& axis, const nlohmann::json& value) {
  return int(std::find(axis.values.begin(), axis.values.end(), value) - axis.values.begin());
}

PointSet::Axis axis_of(const std::string& name, const std::vector<nlohmann::json>& configs) {
  PointSet::Axis axis;
  axis.name = name;
  for (const auto& config : configs)
    if (const auto& value = config.at(name);
        std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
      axis.values.push_back(value);
  axis.ordered =
      std::all_of(axis.values.begin(), axis.values.end(), [](const auto& v) { return v.is_number(); });
  if (axis.ordered) std::sort(axis.values.begin(), axis.values.end());
  return axis;
}

}  // namespace

PointSet::PointSet(const std::vector<nlohmann::json>& configs) : count_(configs.size()) {
  if (configs.empty()) return;
  for (const auto& item : configs.front().items()) {
    Axis axis = axis_of(item.key(), configs);
    if (axis.values.size() > 1) axes_.push_back(std::move(axis));
  }
  indices_.reserve(count_ * axes_.size());
  for (const auto& config : configs)
    for (const Axis& axis : axes_) indices_.push_back(index_of(axis, config.at(axis.name)));
  for (std::size_t point = 0; point < count_; ++point)
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) lines_[key_without(point, axis)].push_back(point);
}

std::string PointSet::key_without(std::size_t point, std::size_t axis) const {
  std::string key(1, char(axis));
  const auto indices = at(point);
  for (std::size_t i = 0; i < indices.size(); ++i)
    key.append(reinterpret_cast<const char*>(&indices[i]), i == axis ? 0 : sizeof indices[i]);
  return key;
}

std::vector<std::size_t> PointSet::neighbours(std::size_t point) const {
  std::vector<std::pair<int, std::size_t>> found;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    for (const std::size_t other : lines_.at(key_without(point, axis))) {
      const int distance = std::abs(at(other)[axis] - at(point)[axis]);
      if (other != point) found.emplace_back(axes_[axis].ordered ? distance : 1, other);
    }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::size_t> points;
  for (const auto& [distance, other] : found) points.push_back(other);
  return points;
}

}  // namespace tilewright
