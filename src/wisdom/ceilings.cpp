// Ceilings among the lines of their file.
#include "wisdom/ceilings.hpp"

#include <filesystem>

#include "wisdom/kept_lines.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// What a line says; nothing where another version wrote it.
std::optional<Ceilings> ceilings_of(const nlohmann::json& line) {
  try {
    return from_json<Ceilings>(line);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool same_key(const Ceilings& x, const std::string& device, std::int64_t threads) {
  return x.device == device && x.threads == threads;
}

}  // namespace

std::string ceilings_path(const Environment& environment) {
  const std::string folder = cache_folder(environment);
  return (folder.empty() ? fs::path(".cache") / "tilewright" : fs::path(folder)) / "ceilings.jsonl";
}

std::optional<Ceilings> load_ceilings(const std::string& path, const std::string& device,
                                      std::int64_t threads) {
  std::optional<Ceilings> newest;
  for (const auto& line : read_kept_lines(path))
    if (auto one = ceilings_of(line); one && same_key(*one, device, threads)) newest = std::move(one);
  return newest;
}

void save_ceilings(const std::string& path, const Ceilings& ceilings) {
  const auto outdated = [&](const nlohmann::json& line) {
    const auto one = ceilings_of(line);
    return !one || same_key(*one, ceilings.device, ceilings.threads);
  };
  replace_kept_lines(path, outdated, {to_json(ceilings)});
}

}  // namespace tilewright
