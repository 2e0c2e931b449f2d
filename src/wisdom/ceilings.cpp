// Reading and atomically replacing the file of measured ceilings.
#include "wisdom/ceilings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

std::vector<Ceilings> read_all(const std::string& path) {
  std::vector<Ceilings> all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    try {
      all.push_back(from_json<Ceilings>(json));
    } catch (const Error&) {
      // Written by another version or damaged: dropped at the next save.
    }
  }
  return all;
}

bool same_key(const Ceilings& x, const std::string& device, std::int64_t threads) {
  return x.device == device && x.threads == threads;
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::io, "path", fmt::format("path = '{}': {}", path, what));
}

}  // namespace

std::string ceilings_path(const Environment& environment) {
  const std::string folder = cache_folder(environment);
  return (folder.empty() ? fs::path(".cache") / "tilewright" : fs::path(folder)) / "ceilings.jsonl";
}

std::optional<Ceilings> load_ceilings(const std::string& path, const std::string& device,
                                      std::int64_t threads) {
  std::optional<Ceilings> newest;
  for (const Ceilings& one : read_all(path))
    if (same_key(one, device, threads)) newest = one;
  return newest;
}

void save_ceilings(const std::string& path, const Ceilings& ceilings) {
  std::vector<Ceilings> all = read_all(path);
  std::erase_if(all, [&](const Ceilings& one) { return same_key(one, ceilings.device, ceilings.threads); });
  all.push_back(ceilings);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) fail(path, "the folder cannot be made: " + error.message());
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  {
    std::ofstream file(temporary, std::ios::trunc);
    for (const Ceilings& one : all) file << to_json(one).dump() << '\n';
    if (!file.flush()) fail(temporary, "cannot be written");
  }
  fs::rename(temporary, path, error);
  if (error) {
    fs::remove(temporary);
    fail(path, "cannot be replaced: " + error.message());
  }
}

}  // namespace tilewright
