// A machine, host or GPU, on which cases are measured, and its stage, which holds the operands of one case,
// calls implementations on them, and times samples; and the meter of the CPU packages. run_case() decides who
// takes part in which order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/contender.hpp"
#include "bench/machine.hpp"
#include "core/problem.hpp"
#include "device/energy_meter.hpp"

namespace tilewright::bench {

class Stage {
 public:
  virtual ~Stage() = default;

  // Makes a contender of a plan of the case, with or without wisdom, run as the public interface runs it.
  // `options` are options() or extend them.
  virtual Contender tested(const std::string& impl, Context& context, const GemmOptions& options) = 0;
  virtual GemmOptions options() const = 0;
  // Returns the promising configs to try in addition to the plan's; empty if there is no choice.
  virtual std::vector<nlohmann::json> promising(std::size_t) const { return {}; }
  // For interleaved batches: the methods of multiplying that are reported separately, by name, with the
  // promising configs of each. A method without a name is the plan's own choice.
  struct Variant {
    std::string name;
    std::vector<nlohmann::json> configs{};
    bool (*is_of)(const nlohmann::json& config) = [](const nlohmann::json&) { return true; };
  };
  virtual std::vector<Variant> variants(std::size_t) const { return {{""}}; }
  // Adds the run's peers that support the case, and the reasons why others do not.
  virtual void add_peers(std::vector<Contender>& to, std::vector<Absence>& absences) = 0;
  // Adds the streaming and multiply-add loops that bound it.
  virtual void add_loops(std::vector<Contender>& to) = 0;
  // Called after an implementation failed: throws if nothing can run any more.
  virtual void expect_sound(const Contender&, const Error&) const {}

  // Returns seconds of one run; a contender's first sample sets its `runs`.
  virtual double turn(Contender& contender) = 0;
  virtual RoundRules rules() const = 0;
  // Returns how many of `runs` runs on the first batch leave other bits in C than the first one: every kernel
  // of tilewright is deterministic, so a difference is a race.
  virtual int moved(const Contender&, int) { return 0; }
  // Runs once and waits; returns blocks and threads of tilewright's launch.
  virtual nlohmann::json launch_once(const Contender& one) {
    one.run(0);
    return nlohmann::json::object();
  }
  // Stores joules of one run under steady load in the contender, or the reason why there are none.
  virtual void measure_energy(Contender&) {}

  // The number of batches in the ring, and the operands of one with the stream to queue on.
  virtual std::int64_t batches() const = 0;
  virtual Operands batch(std::int64_t index) const = 0;
  // Runs once and compares C of the first batch with a reference. Rethrows the errors of `run`.
  virtual Accuracy check(const std::function<void()>& run) = 0;
  // Returns the bytes that must move in the batch.
  virtual double bytes() const = 0;
  // Adds current metrics, notes and provenance. The ceilings are among `timed`.
  virtual void tell(const std::vector<Contender>& timed, CaseResult& result) const = 0;
};

class Machine {
 public:
  explicit Machine(const Plan& run) : plan(run), context(options(true)), without_wisdom(options(false)) {}
  virtual ~Machine() = default;

  // Returns a line for each part of the machine, present or missing.
  virtual std::vector<std::string> describe() const = 0;
  // Compiles the kernels of all of these on every core.
  virtual void prepare(const std::vector<Case>&) {}
  // One stage at a time may exist in each of two places, which have memory of their own.
  virtual std::unique_ptr<Stage> stage(const Case& c, int place = 0) = 0;
  // Converts a strided or pointer batch to the same problems interleaved, and back.
  struct Conversion {
    std::function<void(const Operands& from, const Operands& to)> in;   // A, B and, if it is read, C
    std::function<void(const Operands& to, const Operands& from)> out;  // C
    // Bytes that must move; 0 if no bound is reported, otherwise bounded by the loops "multiplying" and
    // "copying".
    double in_bytes = 0, out_bytes = 0;
    std::vector<Contender> loops{};
  };
  virtual Conversion conversion(const GemmProblem& from, const GemmProblem& to, int threads) = 0;
  // The key of costs measured here.
  virtual std::string device() const = 0;
  // Returns lines of hardware counters, in addition to the counts of the plan itself.
  virtual std::vector<std::string> hardware_counts(const Case& c) = 0;

  const Plan& plan;
  Context context, without_wisdom;

 private:
  // The match of a wisdom record is a column of bench's output.
  static ContextOptions options(bool use_wisdom) {
    ContextOptions all;
    all.use_wisdom = use_wisdom;
    all.notices = false;
    return all;
  }
};

// The plan must outlive the machine.
std::unique_ptr<Machine> host_machine(const Plan& plan);
// Throws Error(unsupported) with the reason if there is no GPU, or no runtime for one in this build.
std::unique_ptr<Machine> gpu_machine(const Plan& plan);
// Returns the machine for the plan's family and location.
std::unique_ptr<Machine> machine_for(const Plan& plan);

// Returns cublas_strided, cublas_pointer and cublas_grouped for small matrices on a GPU; cublas for large
// ones.
std::vector<std::string> gpu_peer_names(const std::string& family);

// Measures one case: tilewright and its peers are checked, then timed in alternation with the loops that
// bound them. Throws Error(internal) if tilewright's result is wrong, and the errors of planning the case.
// With plan.check_only nothing is timed.
CaseResult run_case(Machine& machine, const Case& c);

// Checks all contenders and moves those that are wrong or fail to `absences`. Throws if tilewright is among
// them.
void check_all(const Stage& stage, const Case& c, std::vector<Contender>& contenders,
               std::vector<Absence>& absences);

// Allocates host memory for operands that GPUs use: `kind` is pageable, from malloc, or pinned. Throws
// Error(unsupported) for pinned memory if there is no GPU.
std::shared_ptr<void> host_memory(const std::string& kind, std::int64_t bytes);

// Measures joules of contenders on the host by the meter of the CPU packages. If the meter does not answer,
// gives the reason in place of a number.
class HostEnergy {
 public:
  explicit HostEnergy(const std::string& sysfs = "/sys") : meters_(find_energy_meters(sysfs)) {}

  // Repeats turn(), which returns its number of runs, for as long as the meter needs, and keeps the joules of
  // one run in the contender, or the reason why there are none.
  void measure(Contender& one, const std::function<double()>& turn) const;
  // Keeps the joules of one run while it is timed, and returns the result of `turn`, its seconds. Keeps
  // nothing if GPUs work: no meter covers both.
  double watch(Contender& one, bool with_gpus, const std::function<double()>& turn) const;
  // Returns why a family that measures no energy has none: there is no meter, or else `otherwise`.
  std::string why_none(const std::string& otherwise) const;

 private:
  EnergyMeters meters_;
};

}  // namespace tilewright::bench
