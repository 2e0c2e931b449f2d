// The texts are those of the command line's flags.
#include "options.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace nb = nanobind;

namespace tilewright::python {
namespace {

template <class Value>
struct Named {
  const char* name;
  Value value;
};

template <class Value, std::size_t N>
Value parse(const char* argument, const std::string& text, const Named<Value> (&known)[N]) {
  std::string names;
  for (const Named<Value>& one : known) {
    if (text == one.name) return one.value;
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  throw Error(ErrorCode::invalid_argument, argument,
              std::string(argument) + " = '" + text + "' is not one of " + names);
}

[[noreturn]] void refuse_objective(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, "objective",
              "objective = '" + text +
                  "' is not one of time, energy, edp, alpha=0.7 (from 0 to 1), energy_within=5%");
}

// Returns the number behind "alpha=" or "energy_within="; "5%" is 0.05.
double parse_weight(const std::string& text, std::size_t begin) {
  char* end = nullptr;
  double value = std::strtod(text.c_str() + begin, &end);
  if (end != text.c_str() + begin && std::string(end) == "%") {
    value /= 100;
    ++end;
  }
  if (end == text.c_str() + begin || *end != '\0') refuse_objective(text);
  return value;
}

void make_options(GemmOptions* to, const std::string& target, const std::string& objective, int threads,
                  bool checked, const std::string& residency, const std::string& arrival,
                  const std::string& candidate, const std::string& config, const std::vector<int>& gpus,
                  std::int64_t gpu_memory_bytes, const std::string& split, std::optional<double> cpu_share,
                  const std::string& on_device_failure, double tune_on_miss_s, std::optional<bool> learn) {
  GemmOptions options;
  options.target = parse_target(target);
  parse_objective(objective, options);
  if (threads < 0)
    throw Error(ErrorCode::invalid_argument, "threads",
                "threads = " + std::to_string(threads) + " is negative");
  options.threads = threads;
  options.checked = checked;
  options.residency = parse<Residency>("residency", residency,
                                       {{"auto", Residency::automatic},
                                        {"cold", Residency::cold},
                                        {"l2", Residency::l2},
                                        {"l1", Residency::l1}});
  options.arrival =
      parse<Arrival>("arrival", arrival, {{"back_to_back", Arrival::back_to_back}, {"idle", Arrival::idle}});
  options.candidate = candidate;
  options.config = config;
  options.gpus = gpus;
  options.gpu_memory_bytes = gpu_memory_bytes;
  options.split = parse<SplitRule>("split", split,
                                   {{"model", SplitRule::model},
                                    {"guided", SplitRule::guided},
                                    {"exhaustive", SplitRule::exhaustive},
                                    {"fixed", SplitRule::fixed}});
  options.cpu_share = cpu_share;
  options.on_device_failure =
      parse<OnDeviceFailure>("on_device_failure", on_device_failure,
                             {{"error", OnDeviceFailure::error}, {"redo", OnDeviceFailure::redo}});
  options.tune_on_miss_s = tune_on_miss_s;
  if (learn) options.learn = *learn ? Learn::calls : Learn::off;
  new (to) GemmOptions(std::move(options));
}

}  // namespace

Target parse_target(const std::string& text) {
  return parse<Target>(
      "target", text,
      {{"auto", Target::automatic}, {"cpu", Target::cpu}, {"gpu", Target::gpu}, {"hybrid", Target::hybrid}});
}

Op parse_op(const std::string& text) {
  return parse<Op>("op", text, {{"n", Op::none}, {"t", Op::trans}, {"c", Op::conj_trans}});
}

void parse_objective(const std::string& text, GemmOptions& to) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  constexpr std::pair<const char*, Objective> known[] = {{"time", Objective::time},
                                                         {"energy", Objective::energy},
                                                         {"edp", Objective::edp},
                                                         {"alpha", Objective::alpha},
                                                         {"energy_within", Objective::energy_within}};
  const auto* const found =
      std::find_if(std::begin(known), std::end(known), [&](const auto& one) { return name == one.first; });
  if (found == std::end(known) || (found->second == Objective::alpha && equals == std::string::npos))
    refuse_objective(text);
  to.objective = found->second;
  if (equals != std::string::npos) to.objective_weight = parse_weight(text, equals + 1);
}

void bind_options(nb::module_& module) {
  nb::class_<GemmOptions>(module, "Options", "How products are to be computed; equal for many calls.")
      .def("__init__", &make_options, nb::kw_only(), nb::arg("target") = "auto",
           nb::arg("objective") = "time", nb::arg("threads") = 0, nb::arg("checked") = false,
           nb::arg("residency") = "auto", nb::arg("arrival") = "back_to_back", nb::arg("candidate") = "",
           nb::arg("config") = "", nb::arg("gpus") = std::vector<int>(), nb::arg("gpu_memory_bytes") = 0,
           nb::arg("split") = "model", nb::arg("cpu_share") = nb::none(),
           nb::arg("on_device_failure") = "error", nb::arg("tune_on_miss_s") = 0.0,
           nb::arg("learn") = nb::none());
}

}  // namespace tilewright::python
