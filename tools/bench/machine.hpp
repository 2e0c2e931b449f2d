// Where cases are measured: a machine, host or GPU, and on it a stage, which holds the operands of one case,
// calls implementations on them, and times turns. Who takes part in which order is run.hpp's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/contender.hpp"
#include "bench/result.hpp"
#include "bench/rounds.hpp"
#include "core/problem.hpp"

namespace tilewright::bench {

class Stage {
 public:
  virtual ~Stage() = default;

  // A plan with and without wisdom of the case as the public interface runs it. `options` are options() or
  // with more.
  virtual Contender ours(const std::string& impl, Context& context, const GemmOptions& options) = 0;
  virtual GemmOptions options() const = 0;
  // The promising configs that may be tried beside the plan's; none where there are none to choose from.
  virtual std::vector<nlohmann::json> promising(std::size_t) const { return {}; }
  // Of interleaved batches: the ways of multiplying that are told apart, by name, with the promising configs
  // of each. One without a name: what the plan says.
  struct Way {
    std::string name;
    std::vector<nlohmann::json> configs{};
    bool (*is_of)(const nlohmann::json& config) = [](const nlohmann::json&) { return true; };
  };
  virtual std::vector<Way> ways(std::size_t) const { return {{""}}; }
  // Those of the run's peers that take the case, and why others do not.
  virtual void add_peers(std::vector<Contender>& to, std::vector<Absence>& absences) = 0;
  // The streaming and multiply-add loops that bound it.
  virtual void add_loops(std::vector<Contender>& to) = 0;
  // After an implementation failed: throws when nothing runs any more.
  virtual void expect_sound(const Contender&, const Error&) const {}

  // Seconds of one run; a first turn of somebody sets his `runs`.
  virtual double turn(Contender& contender) = 0;
  virtual RoundRules rules() const = 0;
  // How many of so many runs on the first batch leave other bits in C than the first one: every kernel of
  // ours is deterministic, so that what moves is a race.
  virtual int moved(const Contender&, int) { return 0; }
  // Runs once and waits; blocks and threads of what was launched, where it is ours.
  virtual nlohmann::json launch_once(const Contender& one) {
    one.run(0);
    return nlohmann::json::object();
  }
  // Joules of one run under steady load, into the contender, or why there are none.
  virtual void weigh(Contender&) {}

  // The operands of a batch of the ring, with the stream to queue on.
  virtual std::int64_t batches() const = 0;
  virtual Operands batch(std::int64_t index) const = 0;
  // Runs once and compares what becomes of C in the first batch. Throws what `run` throws.
  virtual Accuracy check(const std::function<void()>& run) = 0;
  // Bytes that must move in the batch.
  virtual double bytes() const = 0;
  // Metrics, notes and provenance of now. The ceilings are among `timed`.
  virtual void tell(const std::vector<Contender>& timed, CaseResult& result) const = 0;
};

class Machine {
 public:
  explicit Machine(const Plan& run) : plan(run), context(options(true)), without_wisdom(options(false)) {}
  virtual ~Machine() = default;

  // What is there and what is not, a line each.
  virtual std::vector<std::string> describe() const = 0;
  // Compiles what all of these need, on every core.
  virtual void prepare(const std::vector<Case>&) {}
  // One at a time in each of two places, which have memory of their own.
  virtual std::unique_ptr<Stage> stage(const Case& c, int place = 0) = 0;
  // From a strided or pointer batch to the same problems interleaved, and back.
  struct Conversion {
    std::function<void(const Operands& from, const Operands& to)> in;   // A, B and, where it is read, C
    std::function<void(const Operands& to, const Operands& from)> out;  // C
    // That must move; 0 where no bound is told, else with the loops "multiplying" and "copying".
    double in_bytes = 0, out_bytes = 0;
    std::vector<Contender> loops{};
  };
  virtual Conversion conversion(const GemmProblem& from, const GemmProblem& to, int threads) = 0;
  // Under which costs measured here are kept.
  virtual std::string device() const = 0;
  // Lines of counters beside those of the plan itself.
  virtual std::vector<std::string> hardware_counts(const Case& c) = 0;

  const Plan& plan;
  Context context, without_wisdom;

 private:
  // The match is a column of what bench writes.
  static ContextOptions options(bool use_wisdom) {
    ContextOptions all;
    all.use_wisdom = use_wisdom;
    all.notices = false;
    return all;
  }
};

// The plan must outlive the machine.
std::unique_ptr<Machine> host_machine(const Plan& plan);
// Throws Error(unsupported) where there is no GPU, or no runtime for one in this build, with the reason.
std::unique_ptr<Machine> gpu_machine(const Plan& plan);
// Of the family and the location.
std::unique_ptr<Machine> machine_for(const Plan& plan);

// cublas_strided, cublas_pointer and cublas_grouped of small matrices on a GPU; cublas of large ones.
std::vector<std::string> gpu_peer_names(const std::string& family);

}  // namespace tilewright::bench
