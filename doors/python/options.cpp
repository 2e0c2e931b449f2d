// The texts are those of the command line's flags.
#include "options.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>

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
              std::string(argument) + " = '" + text + "' is none of " + names);
}

// Returns the number behind "alpha=" or "energy_within="; "5%" is 0.05.
double parse_weight(const std::string& text, std::size_t begin) {
  char* end = nullptr;
  double value = std::strtod(text.c_str() + begin, &end);
  if (end != text.c_str() + begin && std::string(end) == "%") {
    value /= 100;
    ++end;
  }
  if (end == text.c_str() + begin || *end != '\0')
    throw Error(ErrorCode::invalid_argument, "objective",
                "objective = '" + text + "' does not end in a number, such as alpha=0.7 or energy_within=5%");
  return value;
}

void make_options(GemmOptions* to, const std::string& target, const std::string& objective, int threads,
                  bool checked, const std::string& residency, const std::string& candidate,
                  const std::string& config, const std::vector<int>& gpus, std::int64_t gpu_memory_bytes,
                  const std::string& split, std::optional<double> cpu_share,
                  const std::string& on_device_failure, double tune_budget_s) {
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
  options.candidate = candidate;
  options.config = config;
  options.gpus = gpus;
  options.gpu_memory_bytes = gpu_memory_bytes;
  options.split = parse<SplitWay>("split", split,
                                  {{"model", SplitWay::model},
                                   {"guided", SplitWay::guided},
                                   {"exhaustive", SplitWay::exhaustive},
                                   {"fixed", SplitWay::fixed}});
  options.cpu_share = cpu_share;
  options.on_device_failure =
      parse<OnDeviceFailure>("on_device_failure", on_device_failure,
                             {{"error", OnDeviceFailure::error}, {"redo", OnDeviceFailure::redo}});
  options.tune_on_miss.budget_s = tune_budget_s;
  new (to) GemmOptions(std::move(options));
}

}  // namespace

Target parse_target(const std::string& text) {
  return parse<Target>(
      "target", text,
      {{"auto", Target::automatic}, {"cpu", Target::cpu}, {"gpu", Target::gpu}, {"hybrid", Target::hybrid}});
}

void parse_objective(const std::string& text, GemmOptions& to) {
  const std::size_t equals = text.find('=');
  to.objective = parse<Objective>("objective", text.substr(0, equals),
                                  {{"time", Objective::time},
                                   {"energy", Objective::energy},
                                   {"edp", Objective::edp},
                                   {"alpha", Objective::alpha},
                                   {"energy_within", Objective::energy_within}});
  if (equals != std::string::npos) to.objective_weight = parse_weight(text, equals + 1);
}

void bind_options(nb::module_& module) {
  nb::class_<GemmOptions>(module, "Options", "How products are to be computed; equal for many calls.")
      .def("__init__", &make_options, nb::kw_only(), nb::arg("target") = "auto",
           nb::arg("objective") = "time", nb::arg("threads") = 0, nb::arg("checked") = false,
           nb::arg("residency") = "auto", nb::arg("candidate") = "", nb::arg("config") = "",
           nb::arg("gpus") = std::vector<int>(), nb::arg("gpu_memory_bytes") = 0, nb::arg("split") = "model",
           nb::arg("cpu_share") = nb::none(), nb::arg("on_device_failure") = "error",
           nb::arg("tune_budget_s") = 0.0);
}

}  // namespace tilewright::python
