// A case to measure, of any family and with operands anywhere, and the plan of a run: a list of cases and the
// settings that they share. It parses nothing and measures nothing.
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

// One line of the table. `layout` is the user's name of the batch; grouped and variable batches lie in memory
// like pointer batches, so problem.layout says pointer.
struct Case {
  std::string family;
  GemmProblem problem;
  Layout layout = Layout::strided;
  double alpha = 1;
  double beta = 0;
  std::int64_t convert_block = 0;  // for the layout family, the block to convert to; 0: recommended_block()
  int threads = 1;
  PointerOrder pointer_order = PointerOrder::sequential;
  Data data = Data::uniform;
  std::string numa;
  std::string target = "cpu";
  GemmOptions options;  // `threads` is not set here

  bool hot() const { return problem.residency != Residency::cold; }
  bool on_device() const { return problem.location == Location::device; }
  bool is_large() const { return family == "gemm"; }
  // With hot operands, every thread works on a batch of its own; with cold ones, all share one.
  double batches_at_once() const { return hot() ? threads : 1; }
};

// The settings of lu that are tried for every matrix: the products of these lists.
struct LuTrials {
  // Shared by all; implementation, panels, selections and threads are tried or come from the case.
  LuOptions options;
  std::vector<LuSelect> selects{LuSelect::panel, LuSelect::square, LuSelect::flops};
  std::vector<std::int64_t> panels{0};  // columns of each; 0: the rule's
  SimulatedGpu simulated{};             // replaces the machine's GPU
  bool exhaustive = false;              // panels and the CPU's share of each update are found by timing
};

// The settings that all cases of a run share.
struct Plan {
  std::string family{};
  std::vector<Case> cases{};
  std::vector<std::string> peers{};  // names requested; empty with all_peers
  bool all_peers = true;
  std::vector<std::string> ways{};  // methods of sharing host operands; empty: all that the machine supports
  LuTrials lu{};
  int repetitions = 11;
  bool counters = false;
  bool usual_batch = true;  // the user requested no batch
  // The following are for the GPU only.
  std::vector<std::string> memories{};  // host memory: pageable, pinned
  int configs = 0;                      // promising configs to try in addition to the plan's
  std::int64_t operand_bytes = 0;
  int device = 0;
  bool check_only = false;  // nothing is timed
  bool once = false;        // nothing is checked or timed: one launch each, for a profiler
  int races = 0;            // launches of tilewright's kernel that must all give the same bits
  double energy_window_s =
      1.5;                // for large products; the meter's edges are known to a third of a percent of this
  int energy_rounds = 1;  // windows per contender
  double most_error_ratio = 0;  // 0: no limit

  bool on_device() const { return !cases.empty() && cases.front().on_device(); }
  bool wants(const std::string& peer) const;
};

// Returns the problem that the case of lu factors.
LuProblem lu_problem(const Case& c);

// The problem as text, as files name it; the size and the whole case as tables name them.
std::string problem_text(const Case& c);
std::string size_text(const GemmProblem& problem);
std::string case_text(const Case& c);
// Returns the keys of the case itself, the same for every implementation (docs/measuring.md).
nlohmann::json case_keys(const Case& c);

// Returns the problem that plans of the case are made for: the largest sizes of a variable batch in device
// memory, otherwise the case's own.
GemmProblem planned_problem(const Case& c);

// Returns the number of such problems whose operands fit this many bytes of device memory.
std::int64_t device_batch_count(const GemmProblem& problem, std::size_t operand_bytes);

}  // namespace tilewright::bench
