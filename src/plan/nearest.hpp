// The records of an operation whose problems wisdom knows by their text alone, offered as Wisdom::offer
// offers those of products.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "wisdom/wisdom.hpp"

namespace tilewright {

// Offers the records of the family that were measured on the device for the objective, the nearest first,
// until one is taken; false if none is. distance(text of a record's problem) is how far that problem is from
// the one asked for, 0 for the same; it is empty, or throws Error, for a record that says nothing of it.
template <class Distance>
bool offer_nearest(const Wisdom& wisdom, const std::string& family, const std::string& device,
                   const std::string& objective, const Distance& distance, const Wisdom::Take& take) {
  const auto records = wisdom.records_of(family);
  std::vector<std::pair<double, const WisdomRecord*>> near;
  for (const WisdomRecord& record : *records) try {
      if (record.device != device || record.objective != objective) continue;
      if (const std::optional<double> away = distance(record.problem)) near.emplace_back(*away, &record);
    } catch (const Error&) {  // written by another version
    }
  std::stable_sort(near.begin(), near.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  return std::any_of(near.begin(), near.end(), [&](const auto& one) {
    const WisdomRecord& record = *one.second;
    return take({record.config, one.first == 0 ? WisdomMatch::exact : WisdomMatch::near_shape, record.source,
                 record.recorded(), record.problem, record.device});
  });
}

}  // namespace tilewright
