// Ceilings among the lines of their file.
#include "wisdom/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <type_traits>

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

// Of the fields that are GFLOP/s or GB/s.
template <class F>
void for_each_rate(F&& visit) {
  for_each_field<Ceilings>([&](const auto& f) {
    if constexpr (std::is_same_v<decltype(f.member), double Ceilings::*>) visit(f);
  });
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
  for (const auto& [count, known] : fewer) raise_to(*asked, known);
  return asked;
}

void raise_to(Ceilings& ceilings, const Ceilings& fewer) {
  for_each_rate(
      [&](const auto& f) { ceilings.*(f.member) = std::max(ceilings.*(f.member), fewer.*(f.member)); });
}

std::string disturbance(const Ceilings& ceilings, const Ceilings& fewer) {
  constexpr double least_share = 0.9;  // below it is more than the scatter of an idle machine
  std::string low;
  for_each_rate([&](const auto& f) {
    const double rate = ceilings.*(f.member), known = fewer.*(f.member);
    if (rate < least_share * known)
      low += fmt::format("{}{} {:.1f} instead of {:.1f}", low.empty() ? "" : ", ", f.name, rate, known);
  });
  if (low.empty()) return "";
  return fmt::format("{} threads reached less than {} did: {}", ceilings.threads, fewer.threads, low);
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
