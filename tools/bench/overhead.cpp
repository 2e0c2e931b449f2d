// The family overhead: the cost of a multiplication besides multiplying. Measures generating a kernel,
// calling it through a plan, calling the API, and LIBXSMM's dispatch and call for the same single problem,
// all hot and interleaved; and, last, launches on a GPU and lookups in a large wisdom.
#include <fmt/format.h>

#include <algorithm>

#include "bench/calls.hpp"
#include "bench/family.hpp"
#include "bench/host_energy.hpp"
#include "bench/launch_cost.hpp"
#include "bench/machine.hpp"
#include "bench/plans.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "bench/wisdom_cost.hpp"
#include "peers/peer.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

// One problem in L1, the smallest call of a user.
Case single_problem(const Case& c) {
  Case one = c;
  one.problem.layout = one.layout = Layout::single;
  one.problem.batch_count = 1;
  one.problem.block = 0;
  one.problem.stride_a = one.problem.stride_b = one.problem.stride_c = 0;
  one.problem.residency = one.options.residency = Residency::l1;
  one.problem = packed(one.problem);
  one.threads = 1;
  return one;
}

BatchCall api_call(Context& context, const Case& one, const GemmOptions& options, const Operands& o) {
  return dispatch(one.problem.dtype, [&]<class T>() -> BatchCall {
    const GemmProblem& p = one.problem;
    const T alpha = value_from<T>(one.alpha, 0), beta = value_from<T>(one.beta, 0);
    const MatrixView<const T> a{static_cast<const T*>(o.a), p.a_rows(), p.a_cols(), p.lda};
    const MatrixView<const T> b{static_cast<const T*>(o.b), p.b_rows(), p.b_cols(), p.ldb};
    const MatrixView<T> c{static_cast<T*>(o.c), p.m, p.n, p.ldc};
    return [&context, p, alpha, a, b, beta, c, options](std::int64_t) {
      gemm<T>(context, p.op_a, p.op_b, alpha, a, b, beta, c, options);
    };
  });
}

json row_of(const json& problem, const std::string& impl, const std::string& what, const char* clock,
            const Estimate& seconds) {
  json object = {{"family", "overhead"}, {"problem", problem}, {"impl", impl}};
  if (impl == "tilewright") object["impl_version"] = TILEWRIGHT_VERSION;
  object.update(seconds_keys(seconds));
  object["metrics"] = {{"what", what}, {"clock", clock}};
  add_provenance(object);
  add_no_energy(object, HostEnergy().why_none("calls of nanoseconds are not weighed"));
  add_missing_keys(object);
  return object;
}

class Overhead : public Family {
 public:
  explicit Overhead(const Plan& plan) : plan_(plan), machine_(host_machine(plan)) {}

  std::vector<std::string> head() override {
    return {fmt::format("{:<28} {:>14} {:>12} {:>12} {:>22}", "problem", "generate (us)", "plan (ns)",
                        "API (ns)", "LIBXSMM dispatch (ns)")};
  }

  Told measure(const Case& c) override {
    const Case one = single_problem(c);
    // Residencies and layouts do not matter here.
    if (std::find(seen_.begin(), seen_.end(), problem_text(one)) != seen_.end()) return {};
    seen_.push_back(problem_text(one));
    const auto stage = machine_->stage(one);
    std::vector<Contender> calls = {stage->ours("tilewright", machine_->context, stage->options())};
    calls[0].what = "plan_call";
    calls.push_back({.role = Role::ours, .impl = "tilewright", .what = "api_call"});
    calls[1].run = api_call(machine_->context, one, stage->options(), stage->batch(0));
    const peers::PeerCase request{one.problem, one.alpha, one.beta, 1};
    if (const peers::PeerVariant peer = peers::libxsmm_dispatch_call(request); peer.run) {
      calls.push_back({.role = Role::peer, .impl = "libxsmm", .what = "dispatch_call"});
      calls[2].run = [peer, o = stage->batch(0)](std::int64_t) { peer.run(o); };
    }
    hold_rounds(
        calls, [&](Contender& call) { return stage->turn(call); }, stage->rules());
    summary_.add(one, calls.size() > 2 ? calls[2].seconds.centre / calls[0].seconds.centre : 0, 0);
    return told_of(one, calls);
  }

  Told finish() override {
    Told told;
    tell_launches(told);
    constexpr std::int64_t record_count = 100000;
    told.lines.push_back(fmt::format("\nwisdom of {} records (us)", record_count));
    for (const WisdomCost& cost : measure_wisdom(record_count)) {
      told.rows.push_back(row_of(nullptr, "tilewright", cost.what, "wall", cost.seconds));
      told.rows.back()["metrics"]["records"] = record_count;
      told.rows.back()["target"] = "cpu", told.rows.back()["threads"] = 1;
      told.lines.push_back(fmt::format("{:<28} {:>14.3f}", cost.what, cost.seconds.centre * 1e6));
    }
    for (json& object : summary_.objects()) told.rows.push_back(std::move(object));
    return told;
  }

 private:
  Told told_of(const Case& one, const std::vector<Contender>& calls) const {
    const GemmProblem& p = one.problem;
    Told told;
    const auto add = [&](const std::string& impl, const std::string& what, const Estimate& seconds) {
      told.rows.push_back(row_of(problem_text(one), impl, what, "thread_cpu", seconds));
      json keys = case_keys(one);
      keys["family"] = "overhead";
      told.rows.back().update(keys);
    };
    std::vector<double> generations;
    for (int r = 0; r < std::max(plan_.repetitions, 5); ++r)
      if (const auto seconds = generation_seconds(*calls[0].plan)) generations.push_back(*seconds);
    std::string generated = "none";
    if (!generations.empty()) {
      const Estimate generation = estimate(generations);
      generated = fmt::format("{:.1f}", generation.centre * 1e6);
      add("tilewright", "generate", generation);
    }
    for (const Contender& call : calls) add(call.impl, call.what, call.seconds);
    told.lines.push_back(
        fmt::format("{:<28} {:>14} {:>12.1f} {:>12.1f} {:>22}",
                    fmt::format("{} {}x{}x{} b{:g}", to_string(p.dtype), p.m, p.n, p.k, one.beta), generated,
                    calls[0].seconds.centre * 1e9, calls[1].seconds.centre * 1e9,
                    calls.size() > 2 ? fmt::format("{:.1f}", calls[2].seconds.centre * 1e9) : "none"));
    return told;
  }

  void tell_launches(Told& told) const {
    const GpuLaunchCosts costs = measure_gpu_launches(plan_.repetitions);
    if (!costs.why_none.empty()) {
      told.lines.push_back("\nno launches on a GPU: " + costs.why_none);
      return;
    }
    told.lines.push_back(fmt::format("\nlaunches on {} (ns of the host)", costs.device));
    for (const GpuLaunchCost& cost : costs.costs) {
      told.rows.push_back(row_of(cost.problem, cost.impl, cost.what, "wall", cost.seconds));
      told.rows.back()["device"] = costs.device;
      told.rows.back()["target"] = "gpu", told.rows.back()["location"] = "device";
      told.lines.push_back(fmt::format("{:<28} {:>14.1f}", cost.what, cost.seconds.centre * 1e9));
    }
    if (!costs.why_no_blas.empty())
      told.lines.push_back("no call of cuBLAS to compare with: " + costs.why_no_blas);
  }

  const Plan& plan_;
  std::unique_ptr<Machine> machine_;
  std::vector<std::string> seen_;
  Summary summary_;  // compares a planned call with LIBXSMM's dispatch and call
};

}  // namespace

std::unique_ptr<Family> overhead_family(const Plan& plan) { return std::make_unique<Overhead>(plan); }

}  // namespace tilewright::bench
