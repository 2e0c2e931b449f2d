// Contenders of one case on the GPU, their turns, and the result in the words that all families share.
#include "gpu_bench_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_array_calls.hpp"
#include "gpu_bench_peers.hpp"
#include "gpu_case.hpp"
#include "gpu_ceiling.hpp"
#include "gpu_turns.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "measure/contest.hpp"
#include "measure/gpu/energy.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

constexpr double slow_turn_s = 0.02;               // a few samples of contenders this slow say enough
constexpr int slow_samples = least_paired_rounds;  // as many as give ratios an interval
constexpr double energy_window_s = 1.5;    // edges of the meter are known to a third of a percent of it
constexpr std::size_t most_finalists = 3;  // of the configs tried beside the plan's

struct GpuEntry : GpuContender {
  Role role = Role::peer;
  std::string impl, version, variant;
  std::shared_ptr<const GemmPlan> plan;
  Accuracy accuracy;
  std::optional<double> joules;  // of one launch
  double watts = 0;              // of the load that gave them
};

// One case: who takes part, whether they are right, their turns.
class GpuRun {
 public:
  GpuRun(GpuBenchMachine::Impl& machine, const BenchCase& bench_case)
      : m_(machine), case_(bench_case), operands_(machine.arena, bench_case) {
    result_.bench_case = bench_case;
    traffic_.bytes += gpu_array_bytes(case_);
    add_ours("tilewright", m_.context);
    if (case_.options.config.empty() &&
        (case_.options.candidate.empty() || (is_large() && case_.options.candidate == "gemm")))
      add_ours("tilewright_default", m_.without_wisdom);
    add_configs();
    add_peers();
    check_all();
  }

  CaseResult run(bool check_only) {
    if (!check_only) {
      screen();
      for (int r = 0; r < m_.plan.repetitions; ++r) turns(r);
      if (is_large()) measure_energy();
    }
    return finish(check_only);
  }

 private:
  GemmOptions options() const { return gpu_options(m_.plan, case_); }
  bool is_large() const { return case_.family == "gemm"; }

  void add_plan(const std::string& impl, const std::string& variant, Context& context,
                const GemmOptions& with) {
    GpuEntry entry;
    entry.role = Role::ours, entry.impl = impl, entry.version = TILEWRIGHT_VERSION, entry.variant = variant;
    entry.plan = std::make_shared<const GemmPlan>(plan(context, planned_problem(case_), with));
    GemmOptions on_stream = with;
    on_stream.stream = m_.stream.get();
    const bool described = case_.layout == Layout::grouped || case_.layout == Layout::variable;
    const auto call = described ? gpu_array_call(m_.gpu, context, case_, on_stream)
                                : gpu_call(entry.plan, case_, m_.stream.get());
    entry.run = [this, run = call](std::int64_t batch) { run(operands_.batch(batch)); };
    entries_.push_back(std::move(entry));
  }
  void add_ours(const std::string& impl, Context& context) { add_plan(impl, "", context, options()); }

  // As plans see it: nothing is known of where the matrices of pointer batches lie.
  static GemmSmallShape planned_small_shape(const GemmProblem& p) {
    return gemm_small_shape(p, p.layout == Layout::pointer ? static_cast<int>(size_bytes(p.dtype)) : 128);
  }

  std::vector<nlohmann::json> promising(std::size_t count) const {
    const GemmProblem& p = case_.problem;
    const GpuLimits& limits = m_.gpu.limits();
    const auto device = [&] {
      return gemm_large_device(limits, fitted_coefficients(nullptr, limits.name, architecture_of(limits)));
    };
    std::vector<nlohmann::json> configs;
    if (is_large())
      for (const auto& config : gemm_large_promising(p, gemm_large_shape(p), device(), count))
        configs.push_back(to_json(config));
    else
      for (const auto& config : gemm_small_promising(planned_small_shape(p), p.dtype, limits, count))
        configs.push_back(to_json(config));
    return configs;
  }

  // The promising configs of the space, compiled side by side; those that do not compile or fit are left out.
  void add_configs() {
    if (m_.plan.configs == 0) return;
    std::vector<GemmOptions> all;
    for (const nlohmann::json& config : promising(std::size_t(m_.plan.configs))) {
      all.push_back(options());
      all.back().config = config.dump();
      if (is_large()) all.back().candidate = "gemm";
    }
    std::vector<std::string> declined(all.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < all.size(); ++i) try {
        plan(m_.context, case_.problem, all[i]);
      } catch (const Error& error) {
        declined[i] = error.what();
      }
    for (std::size_t i = 0; i < all.size(); ++i)
      if (declined[i].empty())
        add_plan("tilewright", all[i].config, m_.context, all[i]);
      else
        result_.absences.push_back({"tilewright " + all[i].config, declined[i]});
  }

  void add_peers() {
    for (const std::string& name : gpu_peer_names(case_.family)) {
      if (!m_.wanted(name)) continue;
      if (!m_.blas) {
        result_.absences.push_back({name, m_.no_blas});
        continue;
      }
      try {
        GpuEntry entry;
        entry.impl = name, entry.version = m_.blas->version();
        if (name == "cublas_strided" && case_.problem.layout == Layout::pointer)
          entry.role = Role::strided_peer;
        entry.run = gpu_peer(name, *m_.blas, case_, operands_);
        entries_.push_back(std::move(entry));
      } catch (const Error& error) {
        result_.absences.push_back({name, error.what()});
      }
    }
  }

  // Nobody who is wrong is timed. Ours being wrong ends the run.
  void check_all() {
    std::erase_if(entries_, [&](GpuEntry& entry) {
      std::string wrong;
      try {
        entry.accuracy = operands_.check([&] { entry.run(0); });
        if (!entry.accuracy.passed())
          wrong = fmt::format("error {:.3g} above bound {:.3g} in problem {}", entry.accuracy.error,
                              entry.accuracy.bound, entry.accuracy.problem_index);
      } catch (const Error& error) {
        if (entry.role == Role::ours) throw;
        expect_sound_context(entry.impl, error);
        result_.absences.push_back({entry.impl, error.what()});
        return true;
      }
      if (wrong.empty()) return false;
      if (entry.role == Role::ours)
        throw JobFailed(
            fmt::format("{} {} on {}: {}", entry.impl, entry.variant, problem_text(case_), wrong));
      result_.absences.push_back({entry.impl, wrong, true});
      return true;
    });
  }

  // After a fault on the device nothing runs any more in this process: the peer that did it is named.
  void expect_sound_context(const std::string& impl, const Error& fault) const {
    try {
      m_.gpu.synchronize();
    } catch (const Error&) {
      throw JobFailed(fmt::format("{} on {} broke the device's context ({}); leave it out with --peers", impl,
                                  problem_text(case_), fault.what()));
    }
  }

  // How many launches a turn takes, and which of the configs tried go on.
  void screen() {
    for (GpuEntry& entry : entries_) {
      turns_.screen(entry);
      if (!entry.variant.empty()) entry.samples = {turns_.turn(entry), turns_.turn(entry), entry.samples[0]};
    }
    std::vector<double> tried;
    for (const GpuEntry& entry : entries_)
      if (!entry.variant.empty()) tried.push_back(estimate(entry.samples).centre);
    std::sort(tried.begin(), tried.end());
    std::erase_if(entries_, [&](const GpuEntry& entry) {
      return !entry.variant.empty() && tried.size() > most_finalists &&
             estimate(entry.samples).centre > tried[most_finalists - 1];
    });
    for (GpuEntry& entry : entries_) entry.samples.clear();  // those that follow are of the same rounds
  }

  void turns(int repetition) {
    for (const std::size_t i : turns_.order(entries_.size()))
      if (GpuEntry& entry = entries_[i]; repetition < slow_samples || entry.samples.back() < slow_turn_s)
        entry.samples.push_back(turns_.turn(entry));
    streaming_.turn();
    const auto& multiplies = m_.multiplies.loops();
    flops_.resize(multiplies.size());
    for (std::size_t i = 0; i < multiplies.size(); ++i)
      flops_[i].push_back(multiplies[i].flops / m_.timer.seconds([&] {
        GpuMultiplies::launch(multiplies[i], m_.arena.a(), m_.stream.get());
      }) * 1e-9);
  }

  // Of each that is reported: windows are too long to be among the turns.
  void measure_energy() {
    const Nvml* nvml = m_.use.nvml();
    if (nvml == nullptr) {
      result_.energy_note = m_.use.absence();
      return;
    }
    for (GpuEntry& entry : entries_) {
      const GpuLoad load = run_steadily(
          m_.gpu, m_.stream, [&] { entry.run(turns_.next_batch()); }, estimate(entry.samples).centre,
          {.heat_s = energy_window_s / 4, .window_s = energy_window_s}, [&] { return nvml->energy_j(); });
      if (load.energy.fault.empty())
        std::tie(entry.joules, entry.watts) = std::tuple(load.joules_per_launch(), load.energy.watts());
      else
        result_.energy_note = load.energy.fault;
    }
  }

  void set_bound() {
    nlohmann::json gflops = nlohmann::json::object();
    const GpuCeiling::Best streaming = streaming_.best();
    result_.memory_gbytes = streaming.gbytes;
    result_.ceiling_loop = streaming.loop;
    const bool wide = case_.problem.dtype == DType::f64 || case_.problem.dtype == DType::c128;
    std::string multiply_loop;
    for (std::size_t i = 0; i < flops_.size(); ++i) {
      const auto& loop = m_.multiplies.loops()[i];
      const double rate = estimate(flops_[i]).centre;
      gflops[loop.name] = rate;
      if (loop.is_double != wide || rate <= result_.compute_gflops) continue;
      result_.compute_gflops = rate;
      multiply_loop = loop.name;
    }
    const double memory_s = traffic_.bytes / (result_.memory_gbytes * 1e9);
    const double compute_s = result_.work_flops / (result_.compute_gflops * 1e9);
    result_.bound_s = std::max(memory_s, compute_s);
    result_.bound_kind = memory_s >= compute_s ? "memory" : "compute";
    result_.ceiling = memory_s >= compute_s ? result_.memory_gbytes : result_.compute_gflops;
    if (memory_s < compute_s) result_.ceiling_loop = multiply_loop;
    result_.metrics["streaming_gbs"] = streaming_.rates();
    result_.metrics["multiply_gflops"] = gflops;
    result_.metrics["sector_bytes"] = traffic_.bytes;
  }

  CaseResult finish(bool check_only) {
    result_.work_flops = flops(case_.problem);
    for (GpuEntry& entry : entries_) {
      const Estimate seconds = check_only ? Estimate{} : estimate(entry.samples);
      ImplResult impl{entry.role,     entry.impl, entry.version, entry.variant, Layout::strided, seconds,
                      entry.accuracy, entry.plan, entry.joules,  entry.watts,   entry.samples};
      const auto known = std::find_if(result_.impls.begin(), result_.impls.end(),
                                      [&](const ImplResult& r) { return r.impl == entry.impl; });
      if (known == result_.impls.end())
        result_.impls.push_back(std::move(impl));
      else if (seconds.centre < known->seconds.centre)
        *known = std::move(impl);
    }
    if (!check_only) set_bound();
    result_.metrics["clock"] = "device events";
    result_.metrics.update(m_.readings());
    result_.notes = m_.use.notes();
    result_.provenance = m_.provenance();
    return std::move(result_);
  }

  GpuBenchMachine::Impl& m_;
  const BenchCase& case_;
  GpuCase operands_;
  GpuTraffic traffic_ = gpu_traffic(case_.problem);
  std::vector<GpuEntry> entries_;
  GpuTurns turns_{m_.timer, operands_.batches(), is_large() ? large_gpu_pace : small_gpu_pace};
  GpuCeiling streaming_{m_, traffic_.mix};
  std::vector<std::vector<double>> flops_;
  CaseResult result_;
};

}  // namespace

CaseResult run_gpu_case(GpuBenchMachine::Impl& machine, const BenchCase& bench_case, bool check_only) {
  return GpuRun(machine, bench_case).run(check_only);
}

}  // namespace tilewright::cli
