// Batched small GEMM on the CPU as a family that is tuned: kernels made on every core, run on the calling
// thread, whose CPU time is the clock, over operands as hot or cold as the problem says.
#include <algorithm>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "tune/family/families.hpp"
#include "tune/gate.hpp"

namespace tilewright {
namespace {

using CpuConfig = GemmSmallCpuConfig;

// A whole space can hold millions: beyond this it is drawn from.
constexpr ChoiceSizes cpu_sizes{.usual = SIZE_MAX, .whole = 20000, .fewest = 0};

constexpr SearchPace cpu_pace{.shortest_turn_s = 5e-5,
                              .longest_screening_s = 5e-4,
                              .longest_halving_s = 1e-3,
                              .longest_final_s = 2e-3,
                              .strategy_share = 0.5,
                              .halving_share = 0.7,
                              .incumbent_tie = 0.03};

class CpuPool : public ConfigPool {
 public:
  CpuPool(const GemmProblem& problem, Isa isa, std::vector<CpuConfig> configs, Arena& arena,
          double ring_bytes)
      : problem_(problem),
        configs_(std::move(configs)),
        slots_(configs_.size()),
        gate_(problem, isa),
        timer_(problem, arena, ring_bytes) {}

  std::size_t size() const override { return configs_.size(); }
  nlohmann::json fields(std::size_t i) const override { return to_json(configs_[i]); }
  Origin origin() const override {
    return {"gemm_small_cpu", cpu_info().device, "", "", gemm_small_cpu_source_hash, build_compiler};
  }
  void announce(std::span<const std::size_t> wanted) override {
    announced_.assign(wanted.begin(), wanted.end());
    next_announced_ = 0;
  }
  // Without making a kernel of what passed before.
  bool is_right(std::size_t i) override {
    return slots_[i].checked ? slots_[i].failure.empty() : kernel(i) != nullptr;
  }
  const std::string& failure(std::size_t i) const override { return slots_[i].failure; }
  const Accuracy& accuracy(std::size_t i) const override { return slots_[i].accuracy; }
  void set_failure(std::size_t i, std::string reason) override {
    slots_[i].failure = std::move(reason);
    slots_[i].checked = true;
  }
  void set_passed(std::size_t i, const Accuracy& accuracy) override {
    slots_[i].accuracy = accuracy;
    slots_[i].checked = true;
  }

  TurnTimer::Turn time(std::size_t i, double turn_s) override {
    const GemmSmallCpuKernel* made = kernel(i);
    if (made == nullptr)
      throw Error(ErrorCode::internal, "config",
                  fmt::format("{} passed the gate before and cannot be made now: {}", describe(configs_[i]),
                              slots_[i].failure));
    return timer_.time(*made, turn_s);
  }
  std::vector<std::unique_ptr<Observer>> observers() const override {
    std::vector<std::unique_ptr<Observer>> all;
    all.push_back(clock_observer());
    all.push_back(temperature_observer());
    return all;
  }

 private:
  struct Slot {
    std::shared_ptr<const GemmSmallCpuKernel> kernel;
    std::string failure;
    Accuracy accuracy;     // the error nearest to its bound that the gate saw
    bool checked = false;  // by the gate, now or in an earlier run
  };

  // Nothing is timed while kernels are made, so every core may help.
  void make(std::span<const std::size_t> wanted) {
    const auto count = static_cast<std::int64_t>(wanted.size());
#pragma omp parallel for schedule(dynamic) if (count > 1)
    for (std::int64_t w = 0; w < count; ++w) {
      Slot& slot = slots_[wanted[std::size_t(w)]];
      try {
        slot.kernel = make_gemm_small_cpu(problem_, configs_[wanted[std::size_t(w)]]);
      } catch (const std::exception& error) {
        slot.failure = error.what();
      }
    }
  }

  // The kernel if it is right; null, with the reason in its slot, if it is not.
  const GemmSmallCpuKernel* kernel(std::size_t i) {
    Slot& slot = slots_[i];
    if (slot.kernel && slot.checked) return slot.kernel.get();
    if (!slot.failure.empty()) return nullptr;
    if (!slot.kernel) {
      std::vector<std::size_t> wanted = {i};
      for (; next_announced_ < announced_.size() && wanted.size() < made_together; ++next_announced_) {
        const std::size_t other = announced_[next_announced_];
        const Slot& next = slots_[other];
        if (other != i && !next.checked && next.failure.empty() && !next.kernel) wanted.push_back(other);
      }
      make(wanted);
    }
    if (slot.kernel && !slot.checked)
      if (slot.failure = gate_.run(*slot.kernel, &slot.accuracy); !slot.failure.empty()) slot.kernel.reset();
    slot.checked = true;
    return slot.kernel.get();
  }

  GemmProblem problem_;
  std::vector<CpuConfig> configs_;
  std::vector<Slot> slots_;
  Gate gate_;
  KernelTimer timer_;
  std::vector<std::size_t> announced_;
  std::size_t next_announced_ = 0;
};

class SmallCpuFamily : public TuneFamily {
 public:
  const char* name() const override { return "gemm_small_cpu"; }
  const SearchPace& pace() const override { return cpu_pace; }
  std::string source_hash() const override { return gemm_small_cpu_source_hash; }
  std::string architecture(const TuneMachine& machine) const override { return to_string(machine.isa()); }
  bool runs(const nlohmann::json& config, const TuneMachine& machine) const override {
    return from_json<CpuConfig>(config).isa <= machine.isa();
  }
  void check_axes(const AxisRules& rules) const override { tilewright::check_axes<CpuConfig>(rules); }

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
                     .reason = fmt::format("only sizes from 1 to {} have a space to search on the host",
                                           gemm_small_cpu_limit)};
    if (p.layout == Layout::grouped || p.layout == Layout::variable)
      return Decline{.argument = "layout", .reason = "tune the pointer batches that it consists of"};
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
    OpenProblem open{.timed = timed_problem(problem)};
    // A stored config is compared with the default of its own instruction set.
    const Isa isa = rules.incumbent_only ? from_json<CpuConfig>(rules.incumbent.value()).isa : machine.isa();
    const CpuConfig standard = gemm_small_cpu_default(open.timed, isa);
    auto choice = choose_configs(
        open.timed, rules, standard, gemm_small_cpu_space(open.timed, isa), cpu_sizes,
        [&](std::size_t most) {
          std::vector<CpuConfig> usual, some;
          gemm_small_cpu_search(open.timed, isa)
              .visit([&](const CpuConfig& config) { usual.push_back(config); }, standard, &open.removed);
          std::mt19937_64 random(1);  // none of them is known to be better than the others
          std::sample(usual.begin(), usual.end(), std::back_inserter(some), std::min(most, usual.size()),
                      random);
          return some;
        },
        &open.removed);
    open.incumbent = choice.incumbent;
    open.pool =
        std::make_unique<CpuPool>(open.timed, isa, std::move(choice.configs), machine.arena(), ring_bytes);
    return open;
  }
};

}  // namespace

const TuneFamily& gemm_small_cpu_family() {
  static const SmallCpuFamily family;
  return family;
}

}  // namespace tilewright
