// Reports of a calibration: texts and JSON lines.
#include "core/quantity.hpp"
#include "tune/calibrate/calibration.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {
namespace {

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.2f} us", seconds * 1e6);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// "gemm_host f64 of AMD EPYC"
std::string title(const std::string& model, const std::string& dtype, const std::string& device) {
  return fmt::format("{}{}{} of {}", model, dtype.empty() ? "" : " ", dtype, device);
}

std::string part_text(const FittedPart& part) {
  const LeastSquaresFit& fit = part.fit;
  std::string text = fmt::format("  {:<19}", part.name);
  for (std::size_t i = 0; i < part.terms.size(); ++i)
    text += fit.coefficients[i] == 0 ? fmt::format("{} 0  ", part.terms[i])
                                     : fmt::format("{} {:.4g} ({:.1g})  ", part.terms[i], fit.coefficients[i],
                                                   fit.standard_errors[i]);
  text += fmt::format("residual {}, R^2 {:.4f}, noise {}, {} points", percent(fit.residual), fit.r_squared,
                      percent(fit.noise), fit.samples);
  if (fit.is_worse_than_noise()) text += "; its error exceeds the noise of the data";
  return text + "\n";
}

std::string rate_text(const CalibratedModel& model) {
  const auto& c = model.record.coefficients;
  if (!c.contains("s_per_product")) return "";
  const double flops = is_complex(model.task.dtype) ? 8 : 2, s = c.at("s_per_product").get<double>();
  if (!(s > 0)) return "";
  return fmt::format("  deep products at {:.1f} GFLOP/s; at half of that where k is {:.0f}\n",
                     flops / s * 1e-9, c.at("waiting_k").get<double>());
}

}  // namespace

std::string machine_text(const CalibrationMachine& machine) {
  const CalibratedHost& host = machine.host();
  std::string text =
      fmt::format("CPU           {}, {}, {}\n", host.device, counted(host.threads, "thread"),
                  host.blas.empty() ? "no CBLAS" : fmt::format("{} ({})", host.blas, host.blas_version));
  for (const CalibratedGpu& gpu : machine.gpus())
    text += fmt::format("GPU {}         {}, driver {}{}\n", gpu.device, gpu.name, gpu.driver,
                        gpu.blas_version.empty() ? ", no cuBLAS" : ", cuBLAS " + gpu.blas_version);
  if (machine.gpus().empty())
    text += fmt::format("GPUs          none: {}; only the CPU and copies in its memory are calibrated\n",
                        machine.why_no_gpus());
  return text;
}

std::string model_text(const CalibratedModel& model) {
  const FittedModel& r = model.record;
  std::string text = fmt::format("{}: residual {}, R^2 {:.4f}\n", title(r.model, r.dtype, r.device),
                                 percent(r.residual.value_or(0)), r.r_squared.value_or(0));
  for (const FittedPart& part : model.fitted.parts) text += part_text(part);
  text += rate_text(model);
  for (const std::string& note : model.fitted.notes) text += fmt::format("  not fitted: {}\n", note);
  if (model.misses_validation())
    text += fmt::format(
        "  not kept: its mean error on other experiments is {}, more than {}; calibrate again while the "
        "machine is idle, or without --quick\n",
        percent(model.mean_deviation), percent(CalibratedModel::most_deviation));
  else if (!model.is_kept)
    text += "  not kept: wisdom has a newer one\n";
  if (model.validation.empty()) return text;
  const auto& found = r.extra.at("validation");
  text += fmt::format("  validation         {} experiments outside the fit: mean deviation {}, worst {}\n",
                      found.at("count").get<int>(), percent(found.at("mean_deviation").get<double>()),
                      percent(found.at("worst_deviation").get<double>()));
  for (const ValidationRow& row : model.validation)
    text +=
        fmt::format("    {:<50} measured {:>10}  predicted {:>10}  {:+.1f} %\n", to_string(row.experiment),
                    time_text(row.point.seconds), time_text(row.predicted_s), 100 * row.deviation());
  return text;
}

std::string unfitted_text(const CalibrationTask& task, const FittedTask& fitted,
                          const CalibrationMachine& machine) {
  const bool of_products = task.model == gemm_host_model || task.model == gemm_device_model;
  std::string text = title(task.model, of_products ? to_string(task.dtype) : "",
                           task.gpu < 0 ? machine.host().device : machine.gpus()[std::size_t(task.gpu)].name);
  text += ": not fitted and not kept\n";
  for (const std::string& note : fitted.notes) text += fmt::format("  {}\n", note);
  return text;
}

std::string left_out_text(const std::vector<Experiment>& experiments, const std::string& reason) {
  const std::string first = to_string(experiments.front());
  if (experiments.size() == 1) return fmt::format("{} is left out: {}\n", first, reason);
  return fmt::format("{} experiments are left out, the first of them {}: {}\n", experiments.size(), first,
                     reason);
}

std::string summary_text(const CalibrationReport& r) {
  std::string text = fmt::format(
      "{} models fitted, {} not; {} experiments, {} left out; {} timings in {:.1f} s, {} of them rejected",
      r.fitted, r.unfitted, r.points, r.left_out, r.timings, r.spent_s, r.rejected);
  if (r.missed > 0)
    text += fmt::format("; {} missed the validation and {} not kept", r.missed, r.missed == 1 ? "is" : "are");
  if (r.kept_timings > 0) text += fmt::format("; {} timings are from the earlier run", r.kept_timings);
  text += "\n";
  if (r.validated > 0)
    text += fmt::format("predicted against measured: mean deviation {}, worst {} ({})\n",
                        percent(r.mean_deviation), percent(r.worst_deviation), r.worst_case);
  return text;
}

std::vector<nlohmann::json> model_lines(const CalibratedModel& model) {
  std::vector<nlohmann::json> lines{to_json(model.record)};
  // Not a line of wisdom, which an import would accept.
  if (model.misses_validation()) lines.front() = {{"family", "calibrate"}, {"not_kept", lines.front()}};
  for (const ValidationRow& row : model.validation) {
    nlohmann::json line = {{"family", "calibrate"},
                           {"validates", model.record.model},
                           {"device", model.record.device},
                           {"driver", model.record.driver},
                           {"experiment", to_string(row.experiment)},
                           {"seconds", row.point.seconds},
                           {"seconds_low", row.point.low},
                           {"seconds_high", row.point.high},
                           {"samples", row.point.samples},
                           {"rejected", row.point.rejected},
                           {"predicted_s", row.predicted_s},
                           {"deviation", row.deviation()},
                           {"time", model.record.time}};
    if (row.experiment.is_gemm())
      line.update({{"dtype", to_string(row.experiment.dtype)},
                   {"m", row.experiment.m},
                   {"n", row.experiment.n},
                   {"k", row.experiment.k}});
    lines.push_back(std::move(line));
  }
  return lines;
}

nlohmann::json summary_line(const CalibrationReport& r) {
  return {{"summary", true},
          {"family", "calibrate"},
          {"models", r.fitted - r.missed},
          {"unfitted", r.unfitted},
          {"missed", r.missed},
          {"experiments", r.points},
          {"left_out", r.left_out},
          {"timings", r.timings},
          {"timings_kept", r.kept_timings},
          {"rejected", r.rejected},
          {"validated", r.validated},
          {"deviation_mean", r.mean_deviation},
          {"deviation_worst", r.worst_deviation},
          {"deviation_worst_case", r.worst_case},
          {"seconds", r.spent_s}};
}

}  // namespace tilewright
