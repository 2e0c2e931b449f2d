// The implementations that are timed on one case: tilewright, the peers that support it, and the loops that
// bound it; the rounds in which all are timed in alternation, so that one struct describes them; and what
// came of a case. The machine provides what they run on.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/contender.hpp"
#include "core/estimate.hpp"
#include "core/json.hpp"
#include "measure/accuracy.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::bench {

// A peer that runs a strided batch where tilewright has another layout is judged separately. Loops of the
// last kind are reported, but bound nothing.
enum class Role { tested, peer, strided_peer, memory_loop, l2_loop, compute_loop, other_loop };

struct Contender {
  Role role = Role::peer;
  std::string impl;
  std::string version{};
  std::string variant{};  // the call, if a peer has several; the config, if several are tried
  std::string what{};     // the part that is timed, in a family that times several
  Layout stored = Layout::strided;
  // Runs once on a batch: with cold operands, any of the ring, with all threads; with hot operands, the
  // calling thread's batch, on that thread alone.
  std::function<void(std::int64_t batch)> run{};
  std::function<Accuracy()> check{};       // runs it on the first batch; empty for loops
  std::shared_ptr<const GemmPlan> plan{};  // tilewright only
  double work = 0;                         // for a loop: bytes or operations of one run
  std::int64_t runs = 0;                   // in a sample; 0 before the first sample
  std::vector<double> rounds{};            // seconds of one run; hot with several threads: of one run on each
  Estimate seconds{};                      // estimated from `rounds`
  Accuracy accuracy{};
  std::vector<double> energy_samples{};  // joules of one run, by windows under steady load
  std::optional<double> joules{};        // median of `energy_samples`
  double watts = 0;                      // under that load
  std::string energy_note = "bench measures no energy of such cases";  // why there are no joules
  int moved = 0;  // runs of several that gave other bits than the first

  bool is_loop() const { return role >= Role::memory_loop; }
  double rate() const { return work / seconds.centre; }  // for a loop
};

// An implementation that does not take part, and the reason.
struct Absence {
  std::string impl;
  std::string reason;
  bool wrong = false;  // it ran and its result was wrong
};

// Interleaved timing: in every round each contender has one sample, in an order that changes, so that changes
// of the machine (clock, neighbours, temperature) affect all of them alike. Results were checked before, and
// the machine decides how a sample is timed.
struct RoundRules {
  int rounds = 11;
  int screening = 3;  // rounds in which all take part
  // A contender slower than the best of its role by this factor is dropped after screening.
  double drop_factor = 1.2;
  // A few samples suffice for contenders slower than this.
  double slow_s = std::numeric_limits<double>::infinity();
  int slow_rounds = 0;
  // Busy work before each sample, so that threads of the previous contender, which spin while they wait, fall
  // asleep and this contender's core does not.
  double pause_s = 0;
};

// Rules for calls of milliseconds to seconds in which the CPU's threads and GPUs take part.
RoundRules rules_of_long_turns(int rounds);

// Appends turn(contender) to every contender's `rounds` and estimates `seconds`. Loops come last in a round.
// Contenders of tilewright are never dropped; those that are dropped keep their samples.
void hold_rounds(std::vector<Contender>& contenders, const std::function<double(Contender&)>& turn,
                 const RoundRules& rules);

// The measurements of one case: every implementation's best variant, and the bound from the ceilings of the
// same minutes. report.hpp prints them.

// Returns the ratio of the peer over tilewright within rounds that both have; absent if these are fewer than
// `least`.
std::optional<Estimate> paired_ratio(const std::vector<double>& peer_runs, const std::vector<double>& tested,
                                     std::size_t least);

struct CaseResult {
  Case bench_case;
  std::vector<Contender> impls;  // tilewright first
  std::vector<Absence> absences;
  double work_flops = 0;  // operations that `seconds` is the time of
  double bound_s = 0;
  std::string bound_kind;    // memory or compute
  double ceiling = 0;        // GB/s or GFLOP/s
  std::string ceiling_loop;  // the loop that reached it
  double memory_gbytes = 0;  // 0 if not measured
  double compute_gflops = 0;
  // 0 unless interleaved in l2: the larger of 4/3 of the compute time and L2 streaming.
  double interleaved_bound_s = 0;
  std::vector<std::string> notes;  // possible disturbances of the case
  // Keys in addition to those of every family; provenance here describes the GPU.
  nlohmann::json metrics = nlohmann::json::object(), provenance = nlohmann::json::object();

  const Contender& tested() const { return impls.front(); }
  // Returns the fastest of a role; null without any.
  const Contender* best(Role role) const;
  // Returns the time of best(role) over tilewright's: on a GPU the median of the ratios within rounds,
  // otherwise the ratio of medians; 0 without any.
  double ratio(Role role) const;
  // Returns the former with its interval; absent if it is not taken.
  std::optional<Estimate> paired_ratio(Role role) const;
  // Returns tilewright's work per joule over that of best(role), paired by windows; absent with fewer than
  // two windows.
  std::optional<Estimate> paired_efficiency(Role role) const;
  // Returns tilewright's error over that of best(role); absent without any.
  std::optional<double> error_ratio(Role role) const;
  // Returns tilewright without wisdom; null if it was not timed.
  const Contender* without_wisdom() const;
  // Returns the time without wisdom over the time with it: 1 if wisdom agrees with the rule of thumb, 0 if no
  // wisdom is in use.
  double default_ratio() const;
  double bound_share() const { return bound_s / tested().seconds.centre; }
};

}  // namespace tilewright::bench
