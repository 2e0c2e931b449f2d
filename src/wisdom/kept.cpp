// Reads and writes measurements of machines in the user's database.
#include "wisdom/kept.hpp"

#include <algorithm>
#include <type_traits>

#include "wisdom/store.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {
namespace {

constexpr const char *ceilings_model = "ceilings", *gpu_ceilings_model = "gpu_ceilings";

// Visits the fields in GFLOP/s or GB/s.
template <class F>
void for_each_rate(F&& visit) {
  for_each_field<Ceilings>([&](const auto& f) {
    if constexpr (std::is_same_v<decltype(f.member), double Ceilings::*>) visit(f);
  });
}

}  // namespace

std::string kept_path(const Environment& environment) {
  const std::string own = user_wisdom_path(environment);
  if (own.empty() || !is_lines_file(own)) return own;
  return user_wisdom_path({});
}

std::vector<FittedModel> kept_models(const std::string& path, const std::string& model,
                                     const std::string& device) {
  std::vector<FittedModel> found;
  if (path.empty()) return found;
  try {
    WisdomStore(path, sqlite::Mode::read, wait_of_calls).each_model([&](const FittedModel& one) {
      if (one.model == model && one.device == device) found.push_back(one);
    });
  } catch (const Error&) {
    found.clear();
  }
  return found;
}

void keep(const std::string& path, const FittedModel& model) {
  if (!path.empty()) WisdomStore(path, sqlite::Mode::write).put(model);
}

std::optional<Ceilings> load_ceilings(const std::string& path, const std::string& device,
                                      std::int64_t threads) {
  std::optional<Ceilings> asked;
  std::vector<Ceilings> fewer;
  for (const FittedModel& model : kept_models(path, ceilings_model, device)) {
    const auto one = measured_of<Ceilings>(model);
    if (!one || one->threads > threads) continue;
    if (one->threads == threads)
      asked = one;
    else
      fewer.push_back(*one);
  }
  if (asked)
    for (const Ceilings& known : fewer) raise_to(*asked, known);
  return asked;
}

std::optional<GpuCeilings> load_gpu_ceilings(const std::string& path, const std::string& device) {
  const auto models = kept_models(path, gpu_ceilings_model, device);
  return models.empty() ? std::nullopt : measured_of<GpuCeilings>(models.back());
}

void save_ceilings(const std::string& path, const Ceilings& ceilings) {
  keep(path, model_of(ceilings_model, ceilings, fmt::format("threads={}", ceilings.threads)));
}

void save_gpu_ceilings(const std::string& path, const GpuCeilings& ceilings) {
  keep(path, model_of(gpu_ceilings_model, ceilings));
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

}  // namespace tilewright
