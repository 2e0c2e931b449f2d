// The points of a search as numbers: for each config the position of its value on every axis that varies.
// Strategies see this and nothing else, so the same search runs over any kernel's space, live or recorded.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/json.hpp"

namespace tilewright {

class PointSet {
 public:
  struct Axis {
    std::string name;
    std::vector<nlohmann::json> values;  // numbers ascending, names in the order they came
    bool ordered = false;                // numbers: neighbours in value are neighbours in effect
  };

  PointSet() = default;
  // One point per config, in this order; all have the same keys. Keys with one value only are no axis.
  explicit PointSet(const std::vector<nlohmann::json>& configs);

  std::size_t size() const noexcept { return count_; }
  const std::vector<Axis>& axes() const noexcept { return axes_; }
  std::span<const int> at(std::size_t point) const {
    return {indices_.data() + point * axes_.size(), axes_.size()};
  }

  // The points that differ from `point` on one axis only, nearest values first.
  std::vector<std::size_t> neighbours(std::size_t point) const;

 private:
  std::string key_without(std::size_t point, std::size_t axis) const;

  std::size_t count_ = 0;
  std::vector<Axis> axes_;
  std::vector<int> indices_;  // points x axes
  // Points that agree on all axes but one.
  std::unordered_map<std::string, std::vector<std::size_t>> lines_;
};

}  // namespace tilewright
