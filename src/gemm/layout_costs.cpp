// Conversion costs among the lines of their file.
#include "gemm/layout_costs.hpp"

#include <algorithm>
#include <optional>

#include "wisdom/kept_lines.hpp"

namespace tilewright {
namespace {

struct Entry {
  std::string device;
  LayoutCosts costs;
};

// What a line says; nothing where another version wrote it.
std::optional<Entry> entry_of(const nlohmann::json& line) {
  if (!line.contains("costs") || !line.value("device", nlohmann::json()).is_string()) return std::nullopt;
  try {
    return Entry{line["device"].get<std::string>(), from_json<LayoutCosts>(line["costs"])};
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool same_case(const LayoutCosts& x, const LayoutCosts& y) {
  const auto key = [](const LayoutCosts& c) {
    return std::tie(c.dtype, c.m, c.n, c.k, c.from, c.block, c.residency);
  };
  return key(x) == key(y);
}

}  // namespace

std::string layout_costs_path(const Environment& environment) {
  return cache_file(environment, "layout_costs.jsonl");
}

std::vector<LayoutCosts> load_layout_costs(const std::string& path, const std::string& device) {
  std::vector<LayoutCosts> known;
  for (const auto& line : read_kept_lines(path))
    if (const auto entry = entry_of(line); entry && entry->device == device) known.push_back(entry->costs);
  return known;
}

void save_layout_costs(const std::string& path, const std::string& device,
                       const std::vector<LayoutCosts>& costs) {
  const auto outdated = [&](const nlohmann::json& line) {
    const auto entry = entry_of(line);
    return !entry ||
           (entry->device == device && std::any_of(costs.begin(), costs.end(), [&](const LayoutCosts& one) {
              return same_case(one, entry->costs);
            }));
  };
  std::vector<nlohmann::json> added;
  for (const LayoutCosts& one : costs) added.push_back({{"device", device}, {"costs", to_json(one)}});
  replace_kept_lines(path, outdated, added);
}

}  // namespace tilewright
