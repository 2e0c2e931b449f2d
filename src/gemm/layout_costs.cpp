// Reading and atomically replacing the file of measured conversion costs.
#include "gemm/layout_costs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "wisdom/ceilings.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string device;
  LayoutCosts costs;
};

std::vector<Entry> read_all(const std::string& path) {
  std::vector<Entry> all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("costs") || !json.value("device", nlohmann::json()).is_string())
      continue;
    try {
      all.push_back({json["device"].get<std::string>(), from_json<LayoutCosts>(json["costs"])});
    } catch (const Error&) {
      // Written by another version or damaged: dropped at the next save.
    }
  }
  return all;
}

bool same_case(const LayoutCosts& x, const LayoutCosts& y) {
  const auto key = [](const LayoutCosts& c) {
    return std::tie(c.dtype, c.m, c.n, c.k, c.from, c.block, c.residency);
  };
  return key(x) == key(y);
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::io, "path", fmt::format("path = '{}': {}", path, what));
}

}  // namespace

std::string layout_costs_path(const Environment& environment) {
  return fs::path(ceilings_path(environment)).replace_filename("layout_costs.jsonl").string();
}

std::vector<LayoutCosts> load_layout_costs(const std::string& path, const std::string& device) {
  std::vector<LayoutCosts> known;
  for (const Entry& entry : read_all(path))
    if (entry.device == device) known.push_back(entry.costs);
  return known;
}

void save_layout_costs(const std::string& path, const std::string& device,
                       const std::vector<LayoutCosts>& costs) {
  std::vector<Entry> all = read_all(path);
  std::erase_if(all, [&](const Entry& entry) {
    return entry.device == device && std::any_of(costs.begin(), costs.end(), [&](const LayoutCosts& one) {
             return same_case(one, entry.costs);
           });
  });
  for (const LayoutCosts& one : costs) all.push_back({device, one});
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) fail(path, "the folder cannot be made: " + error.message());
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  {
    std::ofstream file(temporary, std::ios::trunc);
    for (const Entry& entry : all)
      file << nlohmann::json{{"device", entry.device}, {"costs", to_json(entry.costs)}}.dump() << '\n';
    if (!file.flush()) fail(temporary, "cannot be written");
  }
  fs::rename(temporary, path, error);
  if (error) {
    fs::remove(temporary);
    fail(path, "cannot be replaced: " + error.message());
  }
}

}  // namespace tilewright
