// Everybody who is timed on one case, on operands prepared for all of them: ours, the peers that take the
// case, and the streaming and multiply-add loops that bound it. Implementations are checked here, before
// anything is timed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench_cases.hpp"
#include "measure/benchmark.hpp"
#include "measure/check_sampled.hpp"
#include "peer.hpp"

namespace tilewright::cli {

// What lives as long as the run of `bench`.
struct BenchMachine {
  peers::PeerSearch search;  // first: it sets what libraries read while loading
  Context context;
  Context without_wisdom;
  Arena arena;

  BenchMachine();
};

enum class Role { ours, peer, strided_peer, memory_loop, l2_loop, compute_loop };

struct Entry {
  Role role = Role::peer;
  std::string impl;
  std::string version;
  std::string variant;
  Layout stored = Layout::strided;
  Contender contender;
  Accuracy accuracy;
  std::shared_ptr<const GemmPlan> plan;  // ours only
  double loop_flops = 0;                 // compute loop: operations per run
};

// An implementation that does not take part, and why.
struct Absence {
  std::string impl;
  std::string reason;
  bool wrong = false;  // it ran and its result was wrong
};

class Contenders {
 public:
  Contenders(BenchMachine& machine, const BenchPlan& plan, const BenchCase& bench_case);

  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Absence>& absences() const { return absences_; }
  TimingSchedule schedule(int repetitions) const;

 private:
  // Operands as one stored layout wants them, with the check that goes with them.
  struct Stored {
    OperandSet set;
    std::vector<Operands> batches;
    std::unique_ptr<SampledCheck> check;
  };

  void reserve(const std::vector<GemmProblem>& problems);
  std::shared_ptr<Stored> stored(const GemmProblem& problem);
  bool wanted(const std::string& peer) const;
  void add_ours();
  void add_one_of_ours(const std::string& impl, Context& context);
  void add_peer(const peers::Peer& peer);
  void add_memory_loops();
  void add_l2_loops();
  void add_compute_loop();
  void check_all();
  int threads_per_call() const { return case_.hot() ? 1 : case_.threads; }

  BenchMachine& machine_;
  const BenchPlan& plan_;
  const BenchCase& case_;
  std::int64_t batches_ = 1;
  std::int64_t batches_per_turn_ = 1;
  std::vector<std::shared_ptr<Stored>> stored_;
  std::vector<std::shared_ptr<Stored>> entry_stored_;  // parallel to entries_; null for loops
  std::vector<Entry> entries_;
  std::vector<Absence> absences_;
};

}  // namespace tilewright::cli
