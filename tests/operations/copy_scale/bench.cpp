// The plan and memcpy in turn, beside a loop that reads x alone, by which both are bound.
#include "operations/copy_scale/bench.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "bench/contender.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "gemm/context_impl.hpp"
#include "lists.hpp"
#include "measure/clock.hpp"
#include "operations/copy_scale/plan.hpp"

namespace tilewright::testing {
namespace {

using nlohmann::json;

CopyScaleProblem problem_of(const bench::Case& c) { return {c.problem.m}; }

std::string copy_scale_case(const bench::Case& c) { return to_string(problem_of(c)); }

json copy_scale_keys(const bench::Case& c) {
  json keys = {{"family", "copy_scale"}, {"problem", copy_scale_case(c)}, {"dtype", "f64"},
               {"layout", "single"},     {"threads", c.threads},          {"target", "cpu"}};
  for (const char* none : {"op", "beta", "residency", "arrival"}) keys[none] = nullptr;
  return keys;
}
constinit const bench::CaseForm copy_scale_form{copy_scale_case, copy_scale_keys};

class CopyScaleFamily : public bench::Family {
 public:
  explicit CopyScaleFamily(const bench::Plan& plan)
      : plan_(plan), a_(std::any_cast<double>(plan.own)), context_(ContextOptions{.notices = false}) {}

  std::vector<std::string> head() override { return {"case  who  ns  share of bound"}; }

  bench::CaseOutput measure(const bench::Case& c) override {
    const CopyScaleProblem problem = problem_of(c);
    const auto decided = decide_copy_scale({Access::impl(context_).wisdom(), problem, c.options.candidate});
    std::vector<double> x(std::size_t(problem.n), 1.0), y(x.size());
    std::vector<bench::Contender> all;
    all.push_back({.role = bench::Role::tested, .impl = "tilewright"});
    all.back().run = [&](std::int64_t) { decided.made.runner->run(a_, x.data(), y.data()); };
    if (plan_.wants("memcpy")) {
      all.push_back({.impl = "memcpy"});
      all.back().run = [&](std::int64_t) { std::memcpy(y.data(), x.data(), x.size() * sizeof(double)); };
    }
    all.push_back({.role = bench::Role::memory_loop, .impl = "read"});
    volatile double sum = 0;
    all.back().run = [&](std::int64_t) { sum = std::accumulate(x.begin(), x.end(), 0.0); };
    const auto turn = [](bench::Contender& one) {
      const double begin = wall_seconds();
      one.run(0);
      return wall_seconds() - begin;
    };
    hold_rounds(all, turn, {.rounds = plan_.repetitions, .drop_factor = 1e9});
    double bound_s = all.back().seconds.centre;
    for (const bench::Contender& one : all) bound_s = std::min(bound_s, one.seconds.centre);
    all.pop_back();
    return tell(c, decided, all, bound_s);
  }

  bench::CaseOutput finish() override {
    bench::CaseOutput told;
    for (json& object : summary_.objects()) {
      object["memory"] = nullptr;
      told.lines.push_back(bench::summary_line(object));
      told.rows.push_back(std::move(object));
    }
    return told;
  }

 private:
  bench::CaseOutput tell(const bench::Case& c, const Ranking<CopyScale>& decided,
                         const std::vector<bench::Contender>& all, double bound_s) {
    bench::CaseOutput told;
    const double flops = CopyScale::work(problem_of(c));
    for (const bench::Contender& one : all) {
      json row = bench::measured_row(c, one.impl, one.seconds);
      row["gflops"] = flops / one.seconds.centre * 1e-9, row["bound_gflops"] = flops / bound_s * 1e-9;
      row["bound_share"] = bound_s / one.seconds.centre, row["bound_kind"] = "memory";
      add_no_energy(row, "nobody weighs it");
      if (one.role == bench::Role::tested) {
        row["config"] = decided.made.runner->config();
        row["wisdom_match"] = to_string(decided.known.match);
      }
      told.lines.push_back(fmt::format("{}  {}  {:.0f}  {:.2f}", copy_scale_case(c), one.impl,
                                       one.seconds.centre * 1e9, bound_s / one.seconds.centre));
      told.rows.push_back(std::move(row));
    }
    const double ratio = all.size() > 1 ? all[1].seconds.centre / all[0].seconds.centre : 0;
    summary_.add(c, ratio, bound_s / all[0].seconds.centre);
    return told;
  }

  const bench::Plan& plan_;
  double a_;
  Context context_;
  bench::Summary summary_;
};

std::unique_ptr<bench::Family> make_copy_scale(const bench::Plan& plan) {
  return std::make_unique<CopyScaleFamily>(plan);
}
std::vector<std::string> copy_scale_peers() { return {"memcpy"}; }
void complete_copy_scale(const cli::FamilyFlags& flags, bench::Plan& plan) {
  plan.own = cli::parse_number("--scale", flags.own_value("--scale"));
}

}  // namespace

const cli::BenchFamily& copy_scale_bench() {
  static const cli::BenchFamily family{.name = "copy_scale",
                                       .make = make_copy_scale,
                                       .sizes = "1000",
                                       .edges = 1,
                                       .residencies = "cold",
                                       .unused = {"--op", "--layout", "--batch", "--alpha", "--beta"},
                                       .peers = copy_scale_peers,
                                       .own = {{"--scale", "of copy_scale: the factor a", "3"}},
                                       .form = &copy_scale_form,
                                       .complete = complete_copy_scale};
  return family;
}

}  // namespace tilewright::testing
