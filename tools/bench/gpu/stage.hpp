// One case in device memory: batches that are cycled through at least 1 GiB of operands, arrays of pointers
// if the layout needs them, the check of an implementation's result, and samples of several launches between
// two events, each on the next batch.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bench/calls.hpp"
#include "bench/gpu/machine.hpp"
#include "core/problem.hpp"
#include "gemm/kept.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/check.hpp"
#include "measure/gpu/energy.hpp"
#include "measure/isolated.hpp"

namespace tilewright::bench {

// The length of a sample, and of the untimed runs of the same contender before it.
struct GpuPace {
  double turn_s = 2e-4, untimed_s = 0;
  std::int64_t most_launches = 512;
};
// Small products are bound by memory: the work before a sample does not matter.
constexpr GpuPace small_gpu_pace{};
// At the card's power limit a short sample depends on the work before it: the clock follows within tens of
// milliseconds.
constexpr GpuPace large_gpu_pace{.turn_s = 0.05, .untimed_s = 0.05, .most_launches = 8192};

class GpuStage : public Stage {
 public:
  // A large problem may enlarge the arena. Throws Error naming the flag if its operands do not fit.
  GpuStage(GpuBench& bench, GpuArena& arena, const Case& c);

  GemmOptions options() const override { return bench_.options(case_); }
  Contender tested(const std::string& impl, Context& context, const GemmOptions& options) override;
  std::vector<nlohmann::json> promising(std::size_t count) const override;
  std::vector<Variant> variants(std::size_t count) const override;
  void add_peers(std::vector<Contender>& to, std::vector<Absence>& absences) override;
  void add_loops(std::vector<Contender>& to) override;
  void expect_sound(const Contender& one, const Error& fault) const override;
  double turn(Contender& one) override;
  RoundRules rules() const override;
  void measure_energy(Contender& one) override;
  int moved(const Contender& one, int runs) override;
  nlohmann::json launch_once(const Contender& one) override;
  double bytes() const override { return traffic_.bytes; }
  void tell(const std::vector<Contender>& timed, CaseResult& result) const override;

  std::int64_t batches() const override { return ring_->batches(); }
  // For a pointer batch, returns its arrays of pointers.
  Operands batch(std::int64_t index) const override;
  // Loads the GPU without pauses; NVML's meter measures if it answers.
  GpuLoad steady(const Contender& one, const GpuLoadWindow& window, Observer* observer = nullptr);
  // Returns the same batch by its base addresses, and as arrays of pointers for peers that accept nothing
  // else.
  Operands in_place(std::int64_t index) const;
  Operands pointers_to(std::int64_t index);
  // Returns the error of some problems, including the first and the last, or of some elements of large ones.
  Accuracy check(const std::function<void()>& run) override { return check_->check(run); }

 private:
  BatchCall variable_call(Context& context, const GemmOptions& options) const;
  BatchCall peer_call(const std::string& name);
  double launched(const Contender& one, std::int64_t launches);
  GpuBench& bench_;
  GpuArena& arena_;
  Case case_;
  GpuTraffic traffic_;
  std::optional<GpuRing> ring_;
  std::optional<SampledCheck> check_;
  std::optional<GpuPointers> pointers_;
  std::vector<std::int64_t> order_;  // order of the matrices of a pointer batch
  GpuPace pace_;
  std::optional<IsolatedCalls> isolated_;  // empty for launches back to back
  std::int64_t next_ = 0;                  // next batch
};

}  // namespace tilewright::bench
