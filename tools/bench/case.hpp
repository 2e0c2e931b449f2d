// A case to measure, of any family and with operands anywhere, and the plan of a run: a list of cases and the
// settings that they share. It parses nothing and measures nothing.
#pragma once

#include <any>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "measure/buffers.hpp"
#include "measure/operands.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::bench {

struct Case;

// Names the cases of an operation other than a product; their sizes and type are in Case::problem.
struct CaseForm {
  std::string (*problem)(const Case& c);
  nlohmann::json (*keys)(const Case& c);
};

// One line of the table. `layout` is the user's name of the batch; grouped and variable batches lie in memory
// like pointer batches, so problem.layout says pointer.
struct Case {
  std::string family;
  const CaseForm* form = nullptr;  // null: it is a product
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
  std::string routine;  // of the family factor, whose orders are problem.m and right sides problem.k
  GemmOptions options;  // `threads` is not set here

  bool hot() const { return problem.residency != Residency::cold; }
  bool on_device() const { return problem.location == Location::device; }
  bool is_large() const { return family == "gemm"; }
  // With hot operands, every thread works on a batch of its own; with cold ones, all share one.
  double batches_at_once() const { return hot() ? threads : 1; }
};

// The settings that all cases of a run share.
struct Plan {
  std::string family{};
  std::vector<Case> cases{};
  std::vector<std::string> peers{};  // names requested; empty with all_peers
  bool all_peers = true;
  std::vector<std::string> ways{};  // methods of sharing host operands; empty: all that the machine supports
  std::any own{};                   // of the family alone
  int repetitions = 11;
  bool counters = false;
  bool is_default_batch = true;  // the user requested no batch
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

// The problem as text, as files name it; the size and the whole case as tables name them.
std::string problem_text(const Case& c);
std::string size_text(const GemmProblem& problem);
std::string case_text(const Case& c);
// Returns the keys of a product's problem alone: types, sizes, where its operands lie.
nlohmann::json product_keys(const GemmProblem& problem);
// Returns the keys of the case itself, the same for every implementation (docs/measuring.md).
nlohmann::json case_keys(const Case& c);

// Returns the problem that plans of the case are made for: the largest sizes of a variable batch in device
// memory, otherwise the case's own.
GemmProblem planned_problem(const Case& c);

// Returns the number of such problems whose operands fit this many bytes of device memory.
std::int64_t device_batch_count(const GemmProblem& problem, std::size_t operand_bytes);

}  // namespace tilewright::bench
