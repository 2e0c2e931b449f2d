// What is measured: one case, whatever its family and wherever its operands lie, and the plan of a run, which
// is a list of cases with what they share. It parses nothing and measures nothing.
#pragma once

#include <string>
#include <vector>

#include "bench/lu/simulated.hpp"
#include "core/json.hpp"
#include "measure/buffers.hpp"
#include "measure/operands.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"

namespace tilewright::bench {

// One line of the table. `layout` is what the user calls the batch; grouped and variable batches lie in
// memory like pointer batches, which is what problem.layout then says.
struct Case {
  std::string family;
  GemmProblem problem;
  Layout layout = Layout::strided;
  double alpha = 1;
  double beta = 0;
  std::int64_t convert_block = 0;  // of the layout family: the blocks converted to; 0: recommended_block()
  int threads = 1;
  PointerOrder pointer_order = PointerOrder::sequential;
  Data data = Data::uniform;
  std::string numa;
  std::string target = "cpu";
  GemmOptions options;  // without threads

  bool hot() const { return problem.residency != Residency::cold; }
  bool on_device() const { return problem.location == Location::device; }
  bool is_large() const { return family == "gemm"; }
  // Hot, every thread works on a batch of its own; cold, all share one.
  double batches_at_once() const { return hot() ? threads : 1; }
};

// Of lu: what is tried of every matrix, the products of these lists.
struct LuTrials {
  LuOptions options;  // that all have; who computes, panels, selections and threads are tried or the case's
  std::vector<LuSelect> selects{LuSelect::panel, LuSelect::square, LuSelect::flops};
  std::vector<std::int64_t> panels{0};  // columns of each; 0: by the rule
  SimulatedGpu simulated{};             // that takes the place of the machine's
  bool exhaustive = false;  // panels and the CPU's share of each update are searched for by timing
};

// What every case of a run shares.
struct Plan {
  std::string family{};
  std::vector<Case> cases{};
  std::vector<std::string> peers{};  // names wanted; empty with all_peers
  bool all_peers = true;
  std::vector<std::string> ways{};  // of sharing host operands; empty: all that the machine has
  LuTrials lu{};
  int repetitions = 11;
  bool counters = false;
  bool usual_batch = true;  // no batch was asked for
  // On the GPU only.
  std::vector<std::string> memories{};  // of the host: pageable, pinned
  int configs = 0;                      // promising ones that are tried beside the plan's
  std::int64_t operand_bytes = 0;
  int device = 0;
  bool check_only = false;  // nothing is timed
  bool once = false;        // nothing is checked or timed: one launch each, for a profiler
  int races = 0;            // launches of ours that must all give the same bits
  double energy_window_s =
      1.5;                // of large products; edges of the meter are known to a third of a percent of it
  int energy_rounds = 1;  // windows of each
  double most_error_ratio = 0;  // 0: no limit

  bool on_device() const { return !cases.empty() && cases.front().on_device(); }
  bool wants(const std::string& peer) const;
};

// What the case of lu factors.
LuProblem lu_problem(const Case& c);

// The problem as text, the way it is named in files; the size and the whole case as tables name them.
std::string problem_text(const Case& c);
std::string size_text(const GemmProblem& problem);
std::string case_text(const Case& c);
// Keys of the case itself, the same for every implementation (docs/measuring.md).
nlohmann::json case_keys(const Case& c);

// The problem that plans of the case are made for: of a variable batch in device memory the largest sizes,
// else the case's own.
GemmProblem planned_problem(const Case& c);

// How many problems like this fit operands of so many bytes in device memory.
std::int64_t device_batch_count(const GemmProblem& problem, std::size_t operand_bytes);

}  // namespace tilewright::bench
