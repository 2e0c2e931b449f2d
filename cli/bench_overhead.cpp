// `bench overhead`: what a multiplication costs besides multiplying. Generating a kernel, calling it through
// a plan, calling the API, and beside them LIBXSMM's dispatch and call for the same single problem, all hot
// and interleaved; and, last, what lookups in a large wisdom cost.
#include <fmt/format.h>

#include "bench_families.hpp"
#include "bench_ours.hpp"
#include "bench_wisdom.hpp"
#include "cblas_library.hpp"
#include "core/dispatch.hpp"
#include "gemm/plan.hpp"
#include "gpu_overhead.hpp"
#include "json_lines.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "measure/clock.hpp"
#include "progress.hpp"
#include "provenance.hpp"

namespace tilewright::cli {
namespace {

using nlohmann::json;

// One problem in L1, as the smallest thing a caller can ask for.
BenchCase single_problem(const BenchCase& bench_case) {
  BenchCase one = bench_case;
  one.problem.layout = one.layout = Layout::single;
  one.problem.batch_count = 1;
  one.problem.block = 0;
  one.problem.stride_a = one.problem.stride_b = one.problem.stride_c = 0;
  one.problem.residency = one.options.residency = Residency::l1;
  one.problem = packed(one.problem);
  one.threads = 1;
  one.options.threads = 1;
  return one;
}

// Seconds to generate the kernel that the plan chose, by itself: no cache, no plan.
Estimate time_generation(const GemmPlan& plan, int repetitions) {
  const auto config = from_json<GemmSmallCpuConfig>(plan.impl().runner->config());
  std::vector<double> samples;
  for (int r = 0; r < std::max(repetitions, 5); ++r) {
    const double begin = thread_cpu_seconds();
    const auto kernel = make_gemm_small_cpu(plan.impl().problem, config);
    samples.push_back(thread_cpu_seconds() - begin);
  }
  return estimate(samples);
}

template <class T>
std::function<void(std::int64_t)> api_call(Context& context, const BenchCase& one, const Operands& o) {
  const GemmProblem& p = one.problem;
  const T alpha = peers::scalar_as<T>(one.alpha);
  const T beta = peers::scalar_as<T>(one.beta);
  const MatrixView<const T> a{static_cast<const T*>(o.a), p.a_rows(), p.a_cols(), p.lda};
  const MatrixView<const T> b{static_cast<const T*>(o.b), p.b_rows(), p.b_cols(), p.ldb};
  const MatrixView<T> c{static_cast<T*>(o.c), p.m, p.n, p.ldc};
  return [&context, p, alpha, a, b, beta, c, options = one.options](std::int64_t) {
    gemm<T>(context, p.op_a, p.op_b, alpha, a, b, beta, c, options);
  };
}

class OverheadRun {
 public:
  OverheadRun(const BenchFlags& flags, const BenchPlan& plan) : plan_(plan), json_(flags.json) {
    json_.head({{"command", command_line()}});
    fmt::print(json_.people(), "{:<28} {:>14} {:>12} {:>12} {:>22}\n", "problem", "generate (us)",
               "plan (ns)", "API (ns)", "LIBXSMM dispatch (ns)");
  }

  void run(const BenchCase& bench_case) {
    const BenchCase one = single_problem(bench_case);
    const OperandSet set(machine_.arena, one.problem, 1, one.data);
    const std::vector<Operands> batches = {set.batch(0)};
    const Ours ours = prepare_ours(machine_.context, one, one.options, batches);
    std::vector<Contender> calls = {{"plan", ours.run, -1, true}};
    dispatch(one.problem.dtype, [&]<class T>() {
      calls.push_back({"api", api_call<T>(machine_.context, one, batches[0]), -1, true});
    });
    const peers::PeerCase request{one.problem, one.alpha, one.beta, 1};
    if (const peers::PeerVariant peer = peers::libxsmm_dispatch_call(request); peer.run)
      calls.push_back({"libxsmm", [peer, o = batches[0]](std::int64_t) { peer.run(o); }, -1, true});
    TimingSchedule schedule;
    schedule.hot = true;
    schedule.repetitions = plan_.repetitions;
    const std::vector<Estimate> seconds = benchmark(calls, schedule);
    report(one, ours, calls, seconds);
  }

  void wisdom() {
    constexpr std::int64_t record_count = 100000;
    fmt::print(json_.people(), "\nwisdom of {} records (us)\n", record_count);
    for (const WisdomCost& cost : measure_wisdom(record_count)) {
      json object = {{"family", "overhead"},
                     {"problem", nullptr},
                     {"impl", "tilewright"},
                     {"seconds", cost.seconds.centre}};
      object["seconds_low"] = cost.seconds.low, object["seconds_high"] = cost.seconds.high;
      object["samples"] = cost.seconds.samples;
      object["metrics"] = {{"what", cost.what}, {"clock", "wall"}, {"records", record_count}};
      add_provenance(object);
      json_.write(object);
      fmt::print(json_.people(), "{:<28} {:>14.3f}\n", cost.what, cost.seconds.centre * 1e6);
    }
  }

  void gpu() {
#if TILEWRIGHT_HAS_GPU
    const GpuLaunchCosts costs = measure_gpu_launches(plan_.repetitions);
    if (!costs.why_none.empty()) {
      fmt::print(json_.people(), "\nno launches on a GPU: {}\n", costs.why_none);
      return;
    }
    fmt::print(json_.people(), "\nlaunches on {} (ns of the host)\n", costs.device);
    for (const GpuLaunchCost& cost : costs.costs) {
      json object = {{"family", "overhead"},
                     {"problem", cost.problem},
                     {"impl", cost.impl},
                     {"seconds", cost.seconds.centre}};
      object["seconds_low"] = cost.seconds.low, object["seconds_high"] = cost.seconds.high;
      object["samples"] = cost.seconds.samples;
      object["metrics"] = {{"what", cost.what}, {"clock", "wall"}};
      add_provenance(object);
      object["device"] = costs.device;
      json_.write(object);
      fmt::print(json_.people(), "{:<28} {:>14.1f}\n", cost.what, cost.seconds.centre * 1e9);
    }
    if (!costs.why_no_blas.empty())
      fmt::print(json_.people(), "no call of cuBLAS to compare with: {}\n", costs.why_no_blas);
#else
    fmt::print(json_.people(), "\nno launches on a GPU: this build has no GPU runtime\n");
#endif
  }

 private:
  void report(const BenchCase& one, const Ours& ours, const std::vector<Contender>& calls,
              const std::vector<Estimate>& seconds) {
    const GemmProblem& p = one.problem;
    std::string generated = "none";
    if (!ours.plan->impl().runner->config().is_null()) {
      const Estimate generation = time_generation(*ours.plan, plan_.repetitions);
      generated = fmt::format("{:.1f}", generation.centre * 1e6);
      write(one, "tilewright", "generate", generation);
    }
    write(one, "tilewright", "plan_call", seconds[0]);
    write(one, "tilewright", "api_call", seconds[1]);
    if (calls.size() > 2) write(one, "libxsmm", "dispatch_call", seconds[2]);
    fmt::print(json_.people(), "{:<28} {:>14} {:>12.1f} {:>12.1f} {:>22}\n",
               fmt::format("{} {}x{}x{} b{:g}", to_string(p.dtype), p.m, p.n, p.k, one.beta), generated,
               seconds[0].centre * 1e9, seconds[1].centre * 1e9,
               calls.size() > 2 ? fmt::format("{:.1f}", seconds[2].centre * 1e9) : "none");
  }

  void write(const BenchCase& one, const std::string& impl, const std::string& what,
             const Estimate& seconds) {
    json object = {{"family", "overhead"},
                   {"problem", problem_text(one)},
                   {"dtype", to_string(one.problem.dtype)},
                   {"m", one.problem.m},
                   {"n", one.problem.n},
                   {"k", one.problem.k},
                   {"beta", one.beta},
                   {"impl", impl},
                   {"seconds", seconds.centre}};
    object["seconds_low"] = seconds.low, object["seconds_high"] = seconds.high;
    object["samples"] = seconds.samples;
    object["metrics"] = {{"what", what}, {"clock", "thread_cpu"}};
    add_provenance(object);
    json_.write(object);
  }

  const BenchPlan& plan_;
  JsonLines json_;
  BenchMachine machine_;
};

}  // namespace

void bench_overhead(const BenchFlags& flags, const BenchPlan& plan) {
  OverheadRun run(flags, plan);
  Progress progress("bench", std::int64_t(plan.cases.size()));
  std::vector<std::string> seen;  // residencies and layouts do not matter here: one problem in L1 is measured
  for (const BenchCase& bench_case : plan.cases) {
    const std::string text = problem_text(single_problem(bench_case));
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
    seen.push_back(text);
    run.run(bench_case);
  }
  progress.clear();
  run.gpu();
  run.wisdom();
}

}  // namespace tilewright::cli
