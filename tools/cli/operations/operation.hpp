// The operations that the verbs serve, each by a folder of its own: what its problems are called, what
// `explain` says of one, what `tune` searches and records, and which families of `bench` measure it. A
// further operation is one line of the list in operation.cpp; `wisdom` shows its records as everybody's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench_flags.hpp"
#include "core/json.hpp"
#include "lists.hpp"
#include "plan/offer.hpp"
#include "tilewright/context.hpp"
#include "tune/operation.hpp"
#include "tune_flags.hpp"
#include "wisdom/record.hpp"

namespace tilewright::cli {

struct ExplainFlags {
  std::vector<std::string> problems;
  std::string target = "auto", objective = "time", candidate, config;
  int threads = 0;
  HybridFlags hybrid;
  std::string json;
  bool all = false;  // tell what every candidate said
};

struct Explained {
  std::string verdict;  // for people: what runs, or that nothing does
  std::string reasons;  // and what every candidate said
  nlohmann::json json;  // for scripts
  bool served = true;
};

// The part of a record's line that describes its problem.
struct RecordedProblem {
  nlohmann::json keys;
  double flops_each = 0;  // of one problem of a batch
};

class ToolOperation {
 public:
  virtual ~ToolOperation() = default;
  virtual std::string name() const = 0;     // with which the texts of its problems begin, before the colon
  virtual std::string things() const = 0;   // its problems in the plural, as sentences call them
  virtual std::string example() const = 0;  // of a problem

  // Reads the problem and the flags, and throws Error for what is wrong with either; the rest is asked for
  // once all problems of the command line have been read.
  using Explainer = std::function<Explained(Context& context)>;
  virtual Explainer explainer(const std::string& problem, const ExplainFlags& flags) const = 0;

  // Throws Error naming a flag that has no meaning with its problems.
  virtual void check_flags(const TuneFlags& flags) const { refuse_flags_of_products(flags, things()); }
  // The problems that the flags name. The context and the machine outlive them.
  virtual Operations tuned(const TuneFlags& flags, Context& context, TuneMachine& machine) const = 0;
  virtual std::string sweep_name() const { return "sweep_" + name() + ".jsonl"; }  // of the default log
  virtual nlohmann::json run_keys(const TuneFlags&) const { return nlohmann::json::object(); }  // of its head
  // Returns advice for a problem on a GPU if there is none; "" for no advice.
  virtual std::string without_gpu() const { return ""; }
  virtual RecordedProblem recorded(const std::string& problem) const = 0;
  // Adds the bound to the line about a record, where one is known.
  virtual void add_bound(nlohmann::json& /*line*/, const WisdomRecord&) const {}

  virtual std::vector<const BenchFamily*> bench_families() const = 0;
};

// The first is that of problems whose name no other has, and of none.
const ToolOperations& tool_operations();
const ToolOperation& operation_of(const ToolOperations& operations, const std::string& problem);
// The one operation of all. Throws Error(invalid_argument) where there are several.
const ToolOperation& operation_of(const ToolOperations& operations, const std::vector<std::string>& problems);
// An example of each, such as "gemm:... or lu:...".
std::string example_problems(const ToolOperations& operations, const char* separator);

// Returns the JSON of `explain` that all operations share: of each candidate name, taken, reason and, where
// it offers them, seconds of one problem and their error; and the config with its record (null if none).
nlohmann::json explanation_json(const Explanation& said, const std::string& text);

// Return the families of all operations, and those of no operation: layout, transfer and overhead.
std::vector<const BenchFamily*> bench_families(const ToolOperations& operations);
std::vector<const BenchFamily*> other_families();
std::string family_names(const ToolOperations& operations);
// Throws Error(invalid_argument).
const BenchFamily& family_named(const ToolOperations& operations, const std::string& name);

// The operations of the folders here, and the families that measure them.
const ToolOperation& product_verbs();
std::vector<const BenchFamily*> product_families();
const ToolOperation& lu_verbs();
const BenchFamily& lu_bench();
const BenchFamily& factor_bench();

}  // namespace tilewright::cli
