// The conversion rule as a family: the best block to interleave a strided or pointer batch to. A turn
// converts in, multiplies and converts out, each over other batches, so that no part finds its operands in
// caches. The times of the winner's parts and of multiplying in place are measured as well, for `explain`.
#include "kernel/layout/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/build_info.hpp"
#include "core/estimate.hpp"
#include "device/cpu.hpp"
#include "kernel/jit/perf_map.hpp"
#include "measure/check_sampled.hpp"
#include "measure/clock.hpp"
#include "measure/conversion.hpp"
#include "tune/family/family.hpp"
#include "tune/kernel_timer.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {
namespace {

// All blocks meet in the contest; the rest of the budget measures the winner and multiplying in place.
constexpr SearchPace layout_pace{.shortest_turn_s = 2e-4,
                                 .longest_screening_s = 2e-4,
                                 .longest_halving_s = 2e-4,
                                 .longest_final_s = 4e-3,
                                 .strategy_share = 0.1,
                                 .halving_share = 0.1,
                                 .incumbent_tie = 0.03,
                                 .search_share = 0.6};
constexpr int wanted_samples = 11;

// The blocks of the space that fit into the batch.
Space<LayoutConfig> blocks_of(DType dtype, std::int64_t batch_count) {
  auto space = layout_space(dtype);
  space.require("the timed batch contains a whole block",
                [batch_count](const LayoutConfig& c) { return c.block <= batch_count; });
  return space;
}

// The batch in whole blocks of every candidate, at least one, so that none is measured with padding.
GemmProblem convertible_problem(const GemmProblem& problem) {
  GemmProblem timed = timed_problem(problem);
  std::int64_t largest = layout_default(problem.dtype).block;
  blocks_of(problem.dtype, timed.batch_count).visit([&](const LayoutConfig& c) {
    largest = std::max(largest, c.block);
  });
  timed.batch_count = std::max(largest, timed.batch_count / largest * largest);
  return timed;
}

std::int64_t rounds_of(const GemmProblem& problem) { return batches_for(problem, problem.residency, 1); }

std::vector<Operands> batches_of(const OperandSet& set) {
  std::vector<Operands> batches;
  for (std::int64_t batch = 0; batch < set.batches(); ++batch) batches.push_back(set.batch(batch));
  return batches;
}

// The config that a call on this problem would use.
using ConfigOf = std::function<GemmSmallCpuConfig(const GemmProblem&)>;

// A batch in place and in blocks of one size, with the kernels of both.
class Block {
 public:
  Block(const GemmProblem& from, LayoutConfig config, const ConfigOf& config_for,
        const std::vector<Operands>& from_batches, Arena& arena)
      : from_(from),
        to_(interleaved_problem(from, config.block)),
        kernel_(make_named_kernel(to_, config_for(to_))),
        call_(to_),
        conversion_(from, to_, 1),
        from_batches_(from_batches),
        set_(arena, to_, std::ssize(from_batches)),
        batches_(batches_of(set_)),
        timers_(3, {from.residency != Residency::cold, std::ssize(batches_), from.batch_count}) {}

  enum Part : std::size_t { in, multiply, out };
  static constexpr std::array parts = {in, multiply, out};

  void run(Part part, std::int64_t batch) const {
    const Operands &f = from_batches_[std::size_t(batch)], &t = batches_[std::size_t(batch)];
    if (part == in) conversion_.in(f, t);
    if (part == multiply) call_.run(*kernel_, t, from_.batch_count);
    if (part == out) conversion_.out(t, f);
  }
  TurnTimer::Turn time(Part part, double turn_s) {
    return timers_[part].time([&](std::int64_t batch) { run(part, batch); }, turn_s);
  }

  // Compares a converted multiplication with the reference.
  CheckResult check() const {
    const SampledCheck check(from_, from_batches_.front(), representative(from_.alpha),
                             representative(from_.beta));
    const Accuracy seen = check.check([&] {
      for (const Part part : parts) run(part, 0);
    });
    return {seen.fault(), seen};
  }

 private:
  GemmProblem from_, to_;
  std::shared_ptr<const GemmSmallCpuKernel> kernel_;
  PreparedCall call_;
  BatchConversion conversion_;
  const std::vector<Operands>& from_batches_;
  OperandSet set_;
  std::vector<Operands> batches_;
  std::vector<TurnTimer> timers_;
};

class LayoutPool : public PoolOf<LayoutConfig> {
 public:
  LayoutPool(const GemmProblem& problem, std::vector<LayoutConfig> configs, const ConfigOf& config_for,
             TuneMachine& machine)
      : PoolOf(std::move(configs)),
        problem_(problem),
        direct_(problem, machine.arena()),
        direct_kernel_(make_named_kernel(problem, config_for(problem))),
        set_(machine.arena(), problem, rounds_of(problem)),
        batches_(batches_of(set_)) {
    for (const LayoutConfig& config : configs_)
      blocks_.push_back(
          std::make_unique<Block>(problem, config, config_for, batches_, machine.second_arena()));
  }

  Origin origin() const override {
    return {"layout", cpu_info().device, "", "", gemm_small_cpu_source_hash, build_compiler};
  }

  // Times the parts of the winner and multiplying in place alternately.
  nlohmann::json findings(std::size_t winner, double budget_s) override {
    std::array<std::vector<double>, 4> samples;
    const double end_s = wall_seconds() + budget_s;
    const double turn_s =
        std::clamp(budget_s / wanted_samples / 4, layout_pace.shortest_turn_s, layout_pace.longest_final_s);
    for (int i = 0; i < wanted_samples && (i == 0 || wall_seconds() < end_s); ++i) {
      for (const Block::Part part : Block::parts)
        samples[part].push_back(blocks_[winner]->time(part, turn_s).seconds);
      samples[3].push_back(direct_.time(*direct_kernel_, turn_s).seconds);
    }
    const GemmProblem& p = problem_;
    const auto centre = [&](std::size_t what) { return estimate(samples[what]).centre; };
    const LayoutCosts costs{p.dtype,
                            p.m,
                            p.n,
                            p.k,
                            p.layout,
                            configs_[winner].block,
                            p.residency,
                            centre(Block::in),
                            centre(Block::out),
                            centre(3),
                            centre(Block::multiply)};
    const auto threshold = conversion_reuse_threshold(costs);
    return {{"costs", to_json(costs)},
            {"reuse_threshold", threshold ? nlohmann::json(*threshold) : nlohmann::json()}};
  }

 private:
  CheckResult check(std::size_t i) override { return blocks_[i]->check(); }
  TurnTimer::Turn time_made(std::size_t i, double turn_s) override {
    TurnTimer::Turn sum;
    for (const Block::Part part : Block::parts) {
      const TurnTimer::Turn one = blocks_[i]->time(part, turn_s / 3);
      sum.seconds += one.seconds, sum.problems = one.problems;
    }
    return sum;
  }

  GemmProblem problem_;
  KernelTimer direct_;
  std::shared_ptr<const GemmSmallCpuKernel> direct_kernel_;
  OperandSet set_;
  std::vector<Operands> batches_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

class LayoutFamily : public FamilyOf<LayoutConfig> {
 public:
  using FamilyOf::FamilyOf;
  std::string source_hash() const override { return gemm_small_cpu_source_hash; }

  // Serves strided and pointer batches on the host, of the sizes of the small kernels.
  std::optional<Decline> declines(const GemmProblem& p) const override {
    if (p.location == Location::device)
      return Decline{
          .argument = "location",
          .reason =
              "location = device: 'tilewright bench layout --location device' measures conversions on a GPU"};
    if (auto decline = gemm_small_cpu_family().declines(p)) return decline;
    if (p.arrival != Arrival::back_to_back)
      return Decline{.argument = "arrival", .reason = "conversions are tuned back to back only"};
    if (p.layout != Layout::strided && p.layout != Layout::pointer)
      return Decline{.argument = "layout", .reason = "only strided and pointer batches can be interleaved"};
    return std::nullopt;
  }

  // Conversions need the whole ring, twice.
  OperandRing operands(const GemmProblem& p, TuneMachine& machine, double most_s) const override {
    OperandRing ring = gemm_small_cpu_family().operands(p, machine, most_s);
    if (ring.bytes < cold_bytes || 2 * ring.fill_s > most_s) ring.bytes = 0;
    return ring;
  }
  void fill(const GemmProblem& p, TuneMachine& machine, double) const override {
    const GemmProblem timed = convertible_problem(p);
    const OperandSet from(machine.arena(), timed, rounds_of(timed));
    const OperandSet to(machine.second_arena(), interleaved_problem(timed, layout_default(timed.dtype).block),
                        rounds_of(timed));
  }

  OpenProblem open(const GemmProblem& problem, const ChoiceRules& rules, TuneMachine& machine,
                   double) const override {
    const GemmProblem timed = convertible_problem(problem);
    OpenProblem open{.subject = to_string(timed)};
    fill(problem, machine, cold_bytes);
    const auto space = blocks_of(problem.dtype, timed.batch_count);
    auto choice = choose_configs(
        timed, rules, layout_default(problem.dtype), space, {SIZE_MAX, SIZE_MAX, 0}, [&](std::size_t) {
          std::vector<LayoutConfig> all;
          space.visit([&](const LayoutConfig& config) { all.push_back(config); }, {}, &open.removed);
          return all;
        });
    open.incumbent = choice.incumbent;
    const auto config_for = [&](const GemmProblem& p) {
      const auto legal = gemm_small_cpu_space(p, machine.isa());
      auto best = gemm_small_cpu_default(p, machine.isa());
      if (machine.wisdom() == nullptr) return best;
      machine.wisdom()->offer({"gemm_small_cpu", to_string(machine.isa()), p}, [&](const auto& answer) {
        const auto config = config_of<GemmSmallCpuConfig>(answer.config);
        const bool is_legal = config && legal.contains(*config);
        if (is_legal) best = *config;
        return is_legal;
      });
      return best;
    };
    open.pool = std::make_unique<LayoutPool>(timed, std::move(choice.configs), config_for, machine);
    return open;
  }
};

}  // namespace

const TuneFamily& layout_family() {
  static const LayoutFamily family("layout", layout_pace);
  return family;
}

}  // namespace tilewright
