// Measurements of a machine, kept in the user's database as models: ceilings here, the costs of conversions
// in gemm/kept. A struct's numbers are its model's coefficients, its device and date the model's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ceilings.hpp"
#include "core/env.hpp"
#include "wisdom/model.hpp"

namespace tilewright {

// The user's database: user_wisdom_path(), or if that is JSON lines the data folder's; "": nothing is kept.
std::string kept_path(const Environment& environment);

// The models of that name and device, in the order of writing. None if the file cannot be used.
std::vector<FittedModel> kept_models(const std::string& path, const std::string& model,
                                     const std::string& device);

// Replaces the model of the same identity. An empty path keeps nothing. Throws Error(io) naming the path.
void keep(const std::string& path, const FittedModel& model);

template <class S>
FittedModel model_of(const char* name, const S& measured, const std::string& variant = "") {
  FittedModel model;
  model.model = name, model.variant = variant;
  model.coefficients = to_json(measured);
  for (auto [field, member] : {std::pair{"device", &model.device}, std::pair{"time", &model.time}})
    if (const auto it = model.coefficients.find(field); it != model.coefficients.end()) {
      *member = it->template get<std::string>();
      model.coefficients.erase(it);
    }
  return model;
}

// Nullopt for a model of another version.
template <class S>
std::optional<S> measured_of(const FittedModel& model) {
  nlohmann::json json = model.coefficients;
  for_each_field<S>([&](const auto& f) {
    if (f.name == std::string_view("device")) json[f.name] = model.device;
    if (f.name == std::string_view("time")) json[f.name] = model.time;
  });
  try {
    return from_json<S>(json);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The ceilings of this device and thread count. Each rate is at least that of fewer threads, which other load
// may have hidden.
std::optional<Ceilings> load_ceilings(const std::string& path, const std::string& device,
                                      std::int64_t threads);
std::optional<GpuCeilings> load_gpu_ceilings(const std::string& path, const std::string& device);

// Replace those of the same device and, on a CPU, thread count.
void save_ceilings(const std::string& path, const Ceilings& ceilings);
void save_gpu_ceilings(const std::string& path, const GpuCeilings& ceilings);

// Raises each rate to what fewer threads reached.
void raise_to(Ceilings& ceilings, const Ceilings& fewer);

// A sentence that names the rates well below those of fewer threads, which other load explains; or "".
std::string disturbance(const Ceilings& ceilings, const Ceilings& fewer);

}  // namespace tilewright
