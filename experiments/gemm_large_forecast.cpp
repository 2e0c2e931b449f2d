// Fits the forecasts of large GEMM (src/kernel/gemm_large/forecast.hpp) to recorded runs of cuBLAS and of the
// default config, and reports their errors at problems that the fit has not seen. No GPU is needed.
//
//     bench_gemm_large_forecast wisdom/sm_90.jsonl results/h?00/gemm-*.jsonl* > new.jsonl
//
// The first file holds the models that the fit begins with; the new ones are printed as lines of wisdom, and
// their errors on stderr. A fifth of the problems at a time is left out and forecast by a fit to the others.
// Batches, rows without a time, and configs that a contest only screened are ignored.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unsupported/Eigen/LevenbergMarquardt>
#include <unsupported/Eigen/NumericalDiff>

#include "cards.hpp"
#include "core/input/json_text.hpp"
#include "core/problem.hpp"
#include "kernel/gemm_large/forecast.hpp"
#include "measure/ceilings.hpp"
#include "measure/recorded_file.hpp"
#include "program.hpp"
#include "wisdom/model.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;
constexpr int parts = 5;
constexpr double outlier_sds = 3;  // a sample met another program

struct Row {
  GemmProblem problem;
  GpuLimits limits;
  double seconds = 0;
  int part = 0;        // index of the part that is held out together
  bool again = false;  // repeated launches on the same operands, as in early runs; `bench` rotates them
  OwnTerms terms;      // of the default config
};
using Rows = std::vector<Row>;

struct Measured {
  Rows theirs, ours;
  // Row numbers, from 1, of cuBLAS and of the default config, by problem and card.
  std::map<std::string, std::pair<std::size_t, std::size_t>> pairs;
};

// Returns "" if the field is absent or null.
std::string text_of(const json& row, const char* key) {
  const auto it = row.find(key);
  return it != row.end() && it->is_string() ? it->get<std::string>() : "";
}

void add_row(const json& row, Measured& all) {
  const std::string problem = text_of(row, "problem"), impl = text_of(row, "impl");
  if (problem.rfind("gemm:", 0) != 0 || text_of(row, "phase") == "screened" ||
      !(row.value("seconds", 0.0) > 0))
    return;
  Row one;
  one.problem = packed(parse_problem(problem)), one.limits = limits_of_card(text_of(row, "device"));
  one.seconds = row.at("seconds"), one.again = text_of(row, "residency") != "cold";
  if (one.problem.batch_count != 1) return;
  one.part = int(std::hash<std::string>{}(problem) % parts);
  auto& pair = all.pairs[problem + one.limits.name + (one.again ? " again" : "")];
  if (impl == "cublas") {
    all.theirs.push_back(one);
    pair.first = all.theirs.size();
  } else if (impl == "tilewright" && row.contains("config") && row["config"].is_object())
    try {
      const auto config = from_json<GemmLargeConfig>(row["config"]);
      const GemmLargeShape shape = gemm_large_shape(one.problem);
      one.terms = own_terms(one.problem, shape, config, one.limits);
      all.ours.push_back(one);
      const auto known = fitted_coefficients(nullptr, one.limits.name, architecture_of(one.limits));
      if (config == gemm_large_default(one.problem, shape, gemm_large_device(one.limits, known)))
        pair.second = all.ours.size();
    } catch (const Error&) {  // the config has an axis that no longer exists
    }
}

// Returns the logarithm of forecast over measurement.
template <class C>
double error_of(const C& c, const Row& row) {
  double us = 0;
  if constexpr (std::is_same_v<C, OwnCoefficients>)
    us = forecast_own_us(c, row.problem, row.terms, row.limits, row.again);
  else
    us = forecast_cublas_us(c, row.problem, row.limits, row.again);
  return us > 0 && std::isfinite(us) ? std::log(us / (row.seconds * 1e6)) : 10;
}

// Represents coefficients as a vector of steps away from `start`, each scaled by its own size.
template <class C>
C moved(C c, const Eigen::VectorXd& steps) {
  Eigen::Index i = 0;
  for_each_field<C>([&](const auto& f) {
    double& value = c.*(f.member);
    value += steps[i++] * std::max(std::fabs(value), 0.02);
  });
  return c;
}

template <class C>
struct Residuals : Eigen::DenseFunctor<double> {
  static constexpr int unknowns = std::tuple_size_v<decltype(FieldList<C>::value)>;
  C start;
  Rows rows;
  Residuals(const C& c, const Rows& r)
      : DenseFunctor(unknowns, int(r.size()) + unknowns), start(c), rows(r) {}
  // Steps cost a little, so that coefficients on which the rows say nothing stay unchanged.
  int operator()(const Eigen::VectorXd& steps, Eigen::VectorXd& errors) const {
    const C c = moved(start, steps);
    for (std::size_t i = 0; i < rows.size(); ++i) errors[Eigen::Index(i)] = error_of(c, rows[i]);
    errors.tail(unknowns) = 0.02 * steps;
    return 0;
  }
};

double root_mean_square(const std::vector<double>& v) {
  const double squares = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
  return std::sqrt(squares / std::max(1.0, double(v.size())));
}

// Fits twice: the second time without the outliers of the first fit.
template <class C>
C fit(const C& start, Rows rows) {
  C c = start;
  for (int turn = 0; turn < 2; ++turn) {
    Eigen::NumericalDiff<Residuals<C>> residuals(Residuals<C>(start, rows), 1e-10);
    Eigen::VectorXd steps = Eigen::VectorXd::Zero(residuals.inputs());
    Eigen::LevenbergMarquardt<decltype(residuals)> search(residuals);
    search.minimize(steps);
    c = moved(start, steps);
    std::vector<double> errors;
    for (const Row& row : rows) errors.push_back(error_of(c, row));
    const double limit = outlier_sds * root_mean_square(errors);
    std::erase_if(rows, [&](const Row& row) { return std::fabs(error_of(c, row)) > limit; });
  }
  return c;
}

// Returns the model's errors at the rows of each part, by a fit to the other parts.
template <class C>
std::vector<double> held_out_errors(const C& start, const Rows& rows) {
  std::vector<double> errors(rows.size());
  for (int part = 0; part < parts; ++part) {
    Rows others = rows;
    std::erase_if(others, [&](const Row& row) { return row.part == part; });
    const C c = fit(start, others);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].part == part) errors[i] = error_of(c, rows[i]);
  }
  return errors;
}

// A problem measured with both: logarithms of cuBLAS's time over tilewright's.
struct Gain {
  double forecast = 0, measured = 0;
};

// Returns the bound within which 68 of 100 errors lie: the standard deviation, without the weight of
// outliers.
double usual_error(std::vector<double> errors) {
  if (errors.empty()) return 0;
  for (double& error : errors) error = std::fabs(error);
  const auto at = errors.begin() + std::ptrdiff_t(0.68 * double(errors.size()));
  std::nth_element(errors.begin(), at, errors.end());
  return *at;
}

// Tells what plans gain that take the shorter expected time, as src/plan does.
void tell_choice(const std::string& dtype, const std::vector<Gain>& gains, double loss_of_error) {
  double taken = 0, over_theirs = 0, over_ours = 0, below_best = 0, worst = 0;
  for (const Gain& gain : gains) {
    const bool ours = gain.forecast + loss_of_error > 0;
    const double chosen = ours ? gain.measured : 0, best = std::max(0.0, gain.measured);
    taken += ours, over_theirs += chosen, over_ours += chosen - gain.measured, below_best += chosen - best;
    worst = std::min(worst, chosen - best);
  }
  const double count = double(gains.size());
  fmt::print(stderr,
             "{}: ours for {} of {}: {:.3f} of cuBLAS's speed, {:.3f} of ours, {:.3f} of the better one, "
             "least {:.3f}\n",
             dtype, taken, gains.size(), std::exp(over_theirs / count), std::exp(over_ours / count),
             std::exp(below_best / count), std::exp(worst));
}

json fitted_line(json line, const Measured& all) {
  GemmLargeForecastModel model = forecast_model(line.at("coefficients"));
  const auto theirs = held_out_errors(model.theirs, all.theirs), ours = held_out_errors(model.ours, all.ours);
  std::vector<Gain> gains;
  std::vector<double> errors;
  for (const auto& [text, pair] : all.pairs) {
    if (pair.first == 0 || pair.second == 0) continue;
    const Row &their = all.theirs[pair.first - 1], &own = all.ours[pair.second - 1];
    errors.push_back(theirs[pair.first - 1] - ours[pair.second - 1]);
    const double measured = std::log(their.seconds / own.seconds);
    gains.push_back({measured + errors.back(), measured});
  }
  json& coefficients = line["coefficients"];
  const double theirs_sd = usual_error(theirs), ours_sd = usual_error(ours);
  // The errors outside these sizes (*_sd_outside) stay: bench_choice measures them.
  coefficients["theirs_sd"] = theirs_sd, coefficients["ours_sd"] = ours_sd;
  coefficients.erase("classes");
  coefficients["theirs"] = to_json(fit(model.theirs, all.theirs));
  coefficients["ours"] = to_json(fit(model.ours, all.ours));
  line["residual"] = root_mean_square(errors), line["samples"] = gains.size();
  const std::string dtype = line.at("dtype");
  fmt::print(
      stderr,
      "{}: 68 of 100 held out are within: cuBLAS +-{:.1f} %, ours +-{:.1f} %, their ratio +-{:.1f} %\n",
      dtype, 100 * theirs_sd, 100 * ours_sd, 100 * usual_error(errors));
  tell_choice(dtype, gains, (theirs_sd * theirs_sd - ours_sd * ours_sd) / 2);
  return line;
}

int run(int argc, char** argv) {
  std::map<std::string, Measured> by_type;
  for (int i = 2; i < argc; ++i) {
    std::istringstream file = read_recorded(argv[i], "FILE", ErrorCode::io);
    for (std::string line; std::getline(file, line);) {
      const auto row = parse_json_or_discard(line);
      if (row.is_object()) add_row(row, by_type[row.value("dtype", "")]);
    }
  }
  std::istringstream models = read_recorded(argv[1], "MODELS", ErrorCode::io);
  for (std::string text; std::getline(models, text);) {
    json line = parse_json(text);
    if (line.value("model", "") == "gemm_large_forecast") {
      line = fitted_line(line, by_type[line.at("dtype").get<std::string>()]);
      line["time"] = time_now();
      line["command"] = fmt::format("bench_gemm_large_forecast {}", fmt::join(argv + 1, argv + argc, " "));
    }
    fmt::print("{}\n", line.dump());
  }
  return 0;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_gemm_large_forecast", argc, 2, "MODELS FILE...",
                                        [&] { return tilewright::bench::run(argc, argv); });
}
