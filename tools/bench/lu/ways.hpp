// The methods of factoring one matrix that bench lu tries: the paper's cpuLU, gpuLU and cpugpuLU with each of
// its selections (Bernabe 2014, section 5), the default of a program that sets no options, and panels whose
// shares are found by timing; and the keys of rows about a factorization, common to the verb lu and bench lu.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/family.hpp"
#include "bench/simulated_gpu.hpp"
#include "core/json.hpp"
#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"
#include "tilewright/types.hpp"

namespace tilewright::bench {

// The settings that are tried for every matrix: the products of these lists.
struct LuTrials {
  // Shared by all; implementation, panels, selections and threads are tried or come from the case.
  LuOptions options;
  std::vector<LuSelect> selects{LuSelect::panel, LuSelect::square, LuSelect::flops};
  std::vector<std::int64_t> panels{0};  // columns of each; 0: the rule's
  SimulatedGpu simulated{};             // replaces the machine's GPU
  bool exhaustive = false;              // panels and the CPU's share of each update are found by timing
};
// Returns the trials that a plan of lu holds.
inline const LuTrials& lu_trials(const Plan& plan) { return std::any_cast<const LuTrials&>(plan.own); }

// Factorizations of matrices in host memory, by the CPU, GPUs or both, with the panels and shares of the
// plan's trials.
std::vector<std::string> lu_variants();
std::vector<std::string> lu_peer_names();
std::unique_ptr<Family> lu_family(const Plan& plan);

struct LuVariant {
  std::string name;  // "hybrid square nb=128"
  LuOptions options;
  SplitRule split =
      SplitRule::model;  // exhaustive: the CPU's share of each update is timed when it first occurs
};

// Returns the methods that plan.ways names; if it is empty, all that the machine supports. Adds a line for
// each method left out, such as panels wider than the matrix.
std::vector<LuVariant> lu_variants_of(const Plan& plan, const Case& c, bool has_gpu,
                                      std::vector<std::string>& lines);

// Returns the candidates for the optimum: the panels that the trials name, or widths from 64 to 768.
std::vector<LuVariant> lu_searched_variants(const Plan& plan, const Case& c, bool has_gpu);

// `a` holds elements of the problem's type.
LuReport run_lu_variant(Context& context, const LuProblem& problem, const LuVariant& variant, void* a,
                        std::int64_t* pivots);

// Returns the problem that a case of lu factors, and how such cases are named.
LuProblem lu_problem(const Case& c);
extern const CaseForm lu_form;

// Returns the keys of the problem, with null for keys that only products have.
nlohmann::json lu_problem_keys(const LuProblem& problem);

// Returns the implementation and the columns of its panels (0: its own choice).
nlohmann::json lu_config(const LuReport& report);

// Returns cpu, gpu or hybrid: where a run with these options computed.
std::string lu_target(Context& context, const LuProblem& problem, const LuOptions& options,
                      const LuReport& report);

// True if the implementation that ran factors panels one after the other and reports the time of each part.
bool is_by_panels(const LuReport& report);

// Returns the time of each part, or null if the implementation does not report it.
nlohmann::json lu_breakdown(const LuReport& report);

}  // namespace tilewright::bench
