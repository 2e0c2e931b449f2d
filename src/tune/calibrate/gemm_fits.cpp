// Models of products: the general form that splits are computed with, and the two of Bernabe 2014, whose
// names the coefficients keep: k1 m^2 n + k2 m^2 + k3 m (equations 1, 2) and k1 m n b + k2 m b + k3 m
// (equations 7, 8).
#include <algorithm>

#include "tune/calibrate/fits.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {
namespace {

// Below it the paper has no sizes, and its forms no term for what every product takes to start.
constexpr std::int64_t least_m = 512;

std::vector<double> general_terms(const Experiment& e) {
  const auto m = double(e.m), n = double(e.n), k = double(e.k);
  return {1, m * n * k, m * n, (m + n) * k};
}
std::vector<double> square_terms(const Experiment& e) {
  const auto m = double(e.m), n = double(e.n);
  return {m * m * n, m * m, m};
}
std::vector<double> panel_terms(const Experiment& e) {
  const auto m = double(e.m), n = double(e.n), b = double(e.k);
  return {m * n * b, m * b, m};
}

nlohmann::json named(const FittedPart& part) {
  nlohmann::json object = {{"residual", part.fit.residual}, {"r_squared", part.fit.r_squared}};
  for (std::size_t i = 0; i < part.terms.size(); ++i) object[part.terms[i]] = part.fit.coefficients[i];
  return object;
}

// The term of m n has two causes that no timing of a product alone can tell apart: C passes through memory,
// and every element of C waits for its first products however deep k is. Memory's share is known where its
// rate is; waiting has the rest.
GemmTime time_of(const FittedPart& general, double c_s) {
  const auto& c = general.fit.coefficients;
  GemmTime time;
  time.start_s = c[0], time.s_per_product = c[1], time.s_per_ab = c[3];
  time.s_per_c = time.s_per_product > 0 ? std::min(c[2], c_s) : c[2];
  time.waiting_k = time.s_per_product > 0 ? (c[2] - time.s_per_c) / time.s_per_product : 0;
  return time;
}

// The shortest run of products in a row has the rate of the beginning, what the longest takes beyond the next
// shorter one that of the end.
SustainedRate sustained_of(const CalibrationTask& task, const Timings& timings) {
  std::vector<std::pair<double, double>> runs;  // multiplications of elements, seconds
  for (const Experiment& e : task.installation)
    if (const TimedPoint* point = e.in_a_row > 0 ? timings.find(e) : nullptr)
      runs.emplace_back(double(e.in_a_row) * double(e.m) * double(e.n) * double(e.k), point->seconds);
  if (runs.size() < 2) return {};
  std::sort(runs.begin(), runs.end());
  const auto &shortest = runs.front(), &shorter = runs[runs.size() - 2], &longest = runs.back();
  const double early = shortest.second / shortest.first;
  const double late = (longest.second - shorter.second) / (longest.first - shorter.first);
  if (late <= early) return {early, early, 0};
  return {early, late, std::max(0.0, (late * longest.first - longest.second) / (late - early))};
}

}  // namespace

FittedTask fit_products(const CalibrationTask& task, const Timings& timings, double c_s) {
  FittedTask fitted;
  const auto single = chosen(task.installation, [](const Experiment& e) { return e.in_a_row == 0; });
  const auto square = chosen(single, [](const Experiment& e) { return e.m >= least_m && e.k == e.m; });
  const auto panel = chosen(single, [](const Experiment& e) { return e.m >= least_m && e.k < e.m; });
  const FittedPart* general =
      add_fit(fitted, {"general", {"start_s", "s_per_product", "s_per_mn", "s_per_ab"}, general_terms},
              single, timings);
  if (general == nullptr) return fitted;
  const GemmTime time = time_of(*general, c_s);
  fitted.coefficients = gemm_device_coefficients(time, sustained_of(task, timings));
  fitted.predict = [time](const Experiment& e) { return time.of(double(e.m), double(e.n), double(e.k)); };
  if (const auto* part =
          add_fit(fitted, {"square", {"k1", "k2", "k3"}, square_terms, false}, square, timings))
    fitted.coefficients["square"] = named(*part);
  if (const auto* part = add_fit(fitted, {"panel", {"k1", "k2", "k3"}, panel_terms, false}, panel, timings))
    fitted.coefficients["panel"] = named(*part);
  return fitted;
}

}  // namespace tilewright
