// Batched small GEMM on the CPU as a family: kernels made on every core, timed by one thread's CPU time.
#include <algorithm>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "kernel/jit/perf_map.hpp"
#include "tune/family/family.hpp"
#include "tune/gate.hpp"
#include "tune/kernel_timer.hpp"

namespace tilewright {
namespace {

using CpuConfig = GemmSmallCpuConfig;

// A larger space, of up to millions, is sampled.
constexpr ChoiceSizes cpu_sizes{.standard = SIZE_MAX, .whole = 20000, .fewest = 0};

constexpr SearchPace cpu_pace{.shortest_turn_s = 5e-5,
                              .longest_screening_s = 5e-4,
                              .longest_halving_s = 1e-3,
                              .longest_final_s = 2e-3,
                              .strategy_share = 0.5,
                              .halving_share = 0.7,
                              .incumbent_tie = 0.03};

class CpuPool : public PoolOf<CpuConfig> {
 public:
  CpuPool(const GemmProblem& problem, Isa isa, std::vector<CpuConfig> configs, Arena& arena,
          double ring_bytes)
      : PoolOf(std::move(configs), made_together),
        problem_(problem),
        kernels_(size()),
        gate_(problem, isa),
        timer_(problem, arena, ring_bytes) {}

  Origin origin() const override {
    return {"gemm_small_cpu", cpu_info().device, "", "", gemm_small_cpu_source_hash, build_compiler};
  }
  std::vector<std::unique_ptr<Observer>> observers() const override {
    std::vector<std::unique_ptr<Observer>> all;
    all.push_back(clock_observer());
    all.push_back(temperature_observer());
    return all;
  }

 private:
  void make(std::size_t i) override { kernels_[i] = make_named_kernel(problem_, configs_[i]); }
  CheckResult check(std::size_t i) override {
    CheckResult result;
    result.fault = gate_.run(*kernels_[i], &result.accuracy);
    return result;
  }
  void drop(std::size_t i) override { kernels_[i].reset(); }
  TurnTimer::Turn time_made(std::size_t i, double turn_s) override {
    return timer_.time(*kernels_[i], turn_s);
  }

  GemmProblem problem_;
  std::vector<std::shared_ptr<const GemmSmallCpuKernel>> kernels_;
  Gate gate_;
  KernelTimer timer_;
};

class SmallCpuFamily : public FamilyOf<CpuConfig> {
 public:
  using FamilyOf::FamilyOf;
  std::string architecture(const TuneMachine& machine) const override { return to_string(machine.isa()); }
  bool runs(const nlohmann::json& config, const TuneMachine& machine) const override {
    return from_json<CpuConfig>(config).isa <= machine.isa();
  }

  std::optional<Decline> declines(const GemmProblem& p) const override {
    if (p.location != Location::host)
      return Decline{.argument = "location",
                     .reason = "location = device: this build has no GPU runtime",
                     .elsewhere = true};
    if (p.residency == Residency::automatic)
      return Decline{ErrorCode::invalid_argument, "residency",
                     "residency = auto: tuning needs cold, l2 or l1"};
    const std::int64_t largest = std::max({p.m, p.n, p.k});
    if (largest > gemm_small_cpu_limit || std::min({p.m, p.n, p.k}) < 1)
      return Decline{.argument = "problem",
                     .reason = fmt::format("on the host sizes from 1 to {} are tuned", gemm_small_cpu_limit)};
    if (p.layout == Layout::grouped || p.layout == Layout::variable)
      return Decline{.argument = "layout", .reason = "tune its pointer batches instead"};
    return std::nullopt;
  }

  OperandRing operands(const GemmProblem& p, TuneMachine& machine, double most_s) const override {
    return affordable_ring(p, machine.arena(), most_s);
  }
  void fill(const GemmProblem& p, TuneMachine& machine, double ring_bytes) const override {
    prepare_operands(p, machine.arena(), ring_bytes);
  }

  OpenProblem open(const GemmProblem& problem, const ChoiceRules& rules, TuneMachine& machine,
                   double ring_bytes) const override {
    const GemmProblem timed = timed_problem(problem);
    OpenProblem open{.subject = to_string(timed)};
    // A stored config competes with the default of its own instruction set.
    const Isa isa = rules.incumbent_only ? from_json<CpuConfig>(rules.incumbent.value()).isa : machine.isa();
    const CpuConfig standard = gemm_small_cpu_default(timed, isa);
    auto choice = choose_configs(
        timed, rules, standard, gemm_small_cpu_space(timed, isa), cpu_sizes,
        [&](std::size_t most) {
          std::vector<CpuConfig> common, some;
          gemm_small_cpu_search(timed, isa)
              .visit([&](const CpuConfig& config) { common.push_back(config); }, standard, &open.removed);
          std::mt19937_64 random(1);  // nothing ranks them
          std::sample(common.begin(), common.end(), std::back_inserter(some), std::min(most, common.size()),
                      random);
          return some;
        },
        &open.removed);
    open.incumbent = choice.incumbent;
    open.pool = std::make_unique<CpuPool>(timed, isa, std::move(choice.configs), machine.arena(), ring_bytes);
    return open;
  }
};

}  // namespace

const TuneFamily& gemm_small_cpu_family() {
  static const SmallCpuFamily family("gemm_small_cpu", cpu_pace);
  return family;
}

}  // namespace tilewright
