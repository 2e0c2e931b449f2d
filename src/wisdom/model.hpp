// A fitted model as wisdom keeps it: named coefficients that were measured on one device with one driver and
// library, how well they fit, and which of several serves a device. What the coefficients mean is known to
// whoever asks for the model by name.
#pragma once

#include "wisdom/columns.hpp"

namespace tilewright {

struct FittedModel {
  std::string model;  // its name
  std::string operation = "gemm";
  std::string device;
  std::string architecture;  // devices of one share models: "sm_90", an instruction set; "" where none do
  std::string driver;
  std::string library, library_version;  // that was measured, where it is not ours
  std::string dtype;                     // "": of all types
  std::string variant;                   // tells models of one name apart that are kept beside each other
  nlohmann::json coefficients;           // by name
  std::optional<double> residual;        // root of the mean square of relative errors
  std::optional<double> r_squared;
  std::optional<double> spread;  // relative, of the samples it was fitted to
  std::int64_t samples = 0;
  std::string source_hash;  // "" where it says nothing of kernels of ours
  std::string time;         // ISO 8601, UTC
  std::string command;      // that measured and fitted it
  nlohmann::json extra;     // keys of the line that have no member here, kept as they came
  std::string source;       // "file:line" or "file#model", for people
  bool dropped = false;     // from lookups, as of records
};

template <>
struct FieldList<FittedModel> {
  using F = FittedModel;
  static constexpr auto if_known = Presence::if_known, required = Presence::required;
  static constexpr auto value = std::make_tuple(
      column("model", &F::model, required), column("operation", &F::operation),
      column("device", &F::device, required), column("architecture", &F::architecture, if_known),
      column("driver", &F::driver, if_known), column("library", &F::library, if_known),
      column("library_version", &F::library_version, if_known), column("dtype", &F::dtype, if_known),
      column("variant", &F::variant, if_known), column("coefficients", &F::coefficients, required),
      column("residual", &F::residual, if_known), column("r_squared", &F::r_squared, if_known),
      column("spread", &F::spread, if_known), column("samples", &F::samples),
      column("source_hash", &F::source_hash, if_known), column("time", &F::time),
      column("command", &F::command, if_known));
};

// The model that a line with the key "model" stands for; nullopt for other lines. Throws Error naming the key
// that is wrong.
std::optional<FittedModel> model_of_line(const nlohmann::json& line);

nlohmann::json to_json(const FittedModel& model);

// What two models must share for only one of them to be kept.
std::string identity_of(const FittedModel& model);

// True when it was fitted to kernels that have changed since or that this build lacks.
bool is_stale(const FittedModel& model);

// Whether x is to be kept of two models of the same identity: the one of current kernels, the one of more
// samples, then the newer. A date in the future is none.
bool is_better(const FittedModel& x, const FittedModel& y);

// Whether what was fitted takes the place of a known model of the same identity: not that of a newer one,
// unless that is stale.
bool supersedes(const FittedModel& found, const FittedModel& known);

struct ModelQuery {
  std::string model;
  std::string device, architecture;
  std::string operation = "gemm";
  std::string driver, library, library_version;  // "" where any will do
  std::string dtype;                             // "" for a model of all types

  friend auto operator<=>(const ModelQuery&, const ModelQuery&) = default;
};

// How well a model serves, of which the greatest serves best; nullopt where it does not.
struct ModelFit {
  bool same_device = false, same_library = false, same_driver = false, of_dtype = false;
  std::string time;

  friend auto operator<=>(const ModelFit&, const ModelFit&) = default;
};
std::optional<ModelFit> fit_of(const FittedModel& model, const ModelQuery& query);

}  // namespace tilewright
