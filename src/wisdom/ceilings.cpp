// Ceilings among the lines of their file.
#include "wisdom/ceilings.hpp"

#include <algorithm>
#include <map>

#include "wisdom/kept_lines.hpp"

namespace tilewright {
namespace {

// What a line says; nothing where another version wrote it.
template <class AnyCeilings>
std::optional<AnyCeilings> ceilings_of(const nlohmann::json& line) {
  try {
    return from_json<AnyCeilings>(line);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The newest that `is_asked` says yes to.
template <class AnyCeilings, class F>
std::optional<AnyCeilings> newest_of(const std::string& path, F&& is_asked) {
  std::optional<AnyCeilings> newest;
  for (const auto& line : read_kept_lines(path))
    if (auto one = ceilings_of<AnyCeilings>(line); one && is_asked(*one)) newest = std::move(one);
  return newest;
}

template <class AnyCeilings, class F>
void replace(const std::string& path, const AnyCeilings& ceilings, F&& is_same) {
  const auto outdated = [&](const nlohmann::json& line) {
    const auto one = ceilings_of<AnyCeilings>(line);
    return !one || is_same(*one);
  };
  replace_kept_lines(path, outdated, {to_json(ceilings)});
}

}  // namespace

std::string ceilings_path(const Environment& environment) {
  return cache_file(environment, "ceilings.jsonl");
}

std::optional<Ceilings> load_ceilings(const std::string& path, const std::string& device,
                                      std::int64_t threads) {
  std::optional<Ceilings> asked;
  std::map<std::int64_t, Ceilings> fewer;  // the newest of each count
  for (const auto& line : read_kept_lines(path)) {
    const auto one = ceilings_of<Ceilings>(line);
    if (!one || one->device != device || one->threads > threads) continue;
    if (one->threads == threads)
      asked = one;
    else
      fewer[one->threads] = *one;
  }
  if (!asked) return asked;
  for (const auto& entry : fewer) {
    const Ceilings& known = entry.second;
    for_each_field<Ceilings>([&](const auto& f) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(known.*(f.member))>, double>)
        (*asked).*(f.member) = std::max((*asked).*(f.member), known.*(f.member));
    });
  }
  return asked;
}

void save_ceilings(const std::string& path, const Ceilings& ceilings) {
  replace(path, ceilings, [&](const Ceilings& one) {
    return one.device == ceilings.device && one.threads == ceilings.threads;
  });
}

std::string gpu_ceilings_path(const Environment& environment) {
  return cache_file(environment, "gpu_ceilings.jsonl");
}

std::optional<GpuCeilings> load_gpu_ceilings(const std::string& path, const std::string& device) {
  return newest_of<GpuCeilings>(path, [&](const GpuCeilings& one) { return one.device == device; });
}

void save_gpu_ceilings(const std::string& path, const GpuCeilings& ceilings) {
  replace(path, ceilings, [&](const GpuCeilings& one) { return one.device == ceilings.device; });
}

}  // namespace tilewright
