// What was measured of a machine as a whole, kept in the user's database as models: ceilings here, the costs
// of conversions by gemm/kept. A struct of measured numbers is the coefficients of its model; its device and
// date are the model's own. What is measured, and how, belongs to measure/ and tools/bench.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ceilings.hpp"
#include "core/env.hpp"
#include "wisdom/model.hpp"

namespace tilewright {

// The user's database: user_wisdom_path(), or the one in the data folder where that names JSON lines; ""
// where there is no such folder, and then nothing is kept.
std::string kept_path(const Environment& environment);

// The models of that name and device, in the order in which they were kept. None where the file cannot be
// used: measuring again repairs that.
std::vector<FittedModel> kept_models(const std::string& path, const std::string& model,
                                     const std::string& device);

// Takes the place of the model of the same identity. "" keeps nothing. Throws Error(io) naming the path.
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

// Nothing where another version wrote the model.
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

// The ceilings of this device and thread count; empty when there are none. What fewer threads reached, more
// can: each speed is at least theirs, which machines at work while it was measured may hide.
std::optional<Ceilings> load_ceilings(const std::string& path, const std::string& device,
                                      std::int64_t threads);
std::optional<GpuCeilings> load_gpu_ceilings(const std::string& path, const std::string& device);

// Replace those of the same device and, of a CPU, thread count, as keep() does.
void save_ceilings(const std::string& path, const Ceilings& ceilings);
void save_gpu_ceilings(const std::string& path, const GpuCeilings& ceilings);

// Raises each rate to what fewer threads reached.
void raise_to(Ceilings& ceilings, const Ceilings& fewer);

// The rates that more threads can not have where the machine was theirs: well below those of fewer threads.
// Returns a sentence that names them, or "".
std::string disturbance(const Ceilings& ceilings, const Ceilings& fewer);

}  // namespace tilewright
