// A fitted model in wisdom: named coefficients measured on one device with one driver and library, the
// quality of the fit, and the choice among several models for a device.
#pragma once

#include "wisdom/columns.hpp"

namespace tilewright {

struct FittedModel {
  std::string model;  // its name
  std::string operation = "gemm";
  std::string device;
  std::string architecture;  // "sm_90", an instruction set: its devices share models; "": none
  std::string driver;
  std::string library, library_version;  // the measured library, if it is another one
  std::string dtype;                     // "": all types
  std::string variant;                   // distinguishes models of one name that are kept together
  nlohmann::json coefficients;           // by name
  std::optional<double> residual;        // root of the mean square of relative errors
  std::optional<double> r_squared;
  std::optional<double> spread;  // relative, of the samples it was fitted to
  std::int64_t samples = 0;
  std::string source_hash;  // "" if it does not depend on kernels
  std::string time;         // ISO 8601, UTC
  std::string command;      // that fitted it
  nlohmann::json extra;     // other keys of the line, unchanged
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

// The model of a line with the key "model"; nullopt for other lines. Throws Error naming the wrong key.
std::optional<FittedModel> model_of_line(const nlohmann::json& line);

nlohmann::json to_json(const FittedModel& model);

// The store keeps one model of each identity.
std::string identity_of(const FittedModel& model);

// True if it was fitted to kernels that have changed since or that this build lacks.
bool is_stale(const FittedModel& model);

// True if x is the better model of one identity: current kernels, then more samples, then the later date.
bool is_better(const FittedModel& x, const FittedModel& y);

// True if a newly fitted model replaces a known one of equal identity: not a newer one unless that is stale.
bool supersedes(const FittedModel& found, const FittedModel& known);

struct ModelQuery {
  std::string model;
  std::string device, architecture;
  std::string operation = "gemm";
  std::string driver, library, library_version;  // "": any
  std::string dtype;                             // "" for a model of all types

  friend auto operator<=>(const ModelQuery&, const ModelQuery&) = default;
};

// The quality of a model for a query: the greatest fit serves best. Nullopt if it does not serve.
struct ModelFit {
  bool same_device = false, same_library = false, same_driver = false, of_dtype = false;
  std::string time;

  friend auto operator<=>(const ModelFit&, const ModelFit&) = default;
};
std::optional<ModelFit> fit_of(const FittedModel& model, const ModelQuery& query);

}  // namespace tilewright
