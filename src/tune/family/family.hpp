// Families of kernels that multiply, as the tuner sees them: which problems a family serves, the lengths of
// its turns, the cost of its operands, and the configs of one problem as a pool. A family is one file and one
// line of tune_families(). product_operation() makes operations of problems and their families.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "tune/family/config_choice.hpp"
#include "tune/family/machine.hpp"
#include "tune/operation.hpp"
#include "wisdom/families.hpp"

namespace tilewright {

// The reason why a family has no configs for a problem.
struct Decline {
  ErrorCode code = ErrorCode::unsupported;
  std::string argument, reason;
  bool elsewhere = false;  // its location or size belongs to another family
};

class TuneFamily {
 public:
  TuneFamily(const char* name, const SearchPace& pace) : name_(name), pace_(pace) {}
  virtual ~TuneFamily() = default;
  const char* name() const { return name_; }  // in its records
  const SearchPace& pace() const { return pace_; }
  virtual std::string source_hash() const { return current_source_hash(name_); }
  virtual std::optional<Decline> declines(const GemmProblem& problem) const = 0;
  // Throws Error(invalid_argument) naming an axis that its configs do not have, or a value of the wrong type.
  virtual void check_axes(const AxisRules& rules) const = 0;

  // The architecture that lookups compare: on CPUs the instruction set.
  virtual std::string architecture(const TuneMachine&) const { return architecture_of_all(name_); }
  // True if a recorded config runs on this machine.
  virtual bool runs(const nlohmann::json& /*config*/, const TuneMachine&) const { return true; }

  // As in Operation.
  virtual OperandRing operands(const GemmProblem&, TuneMachine&, double /*most_s*/) const { return {}; }
  virtual void fill(const GemmProblem&, TuneMachine&, double /*ring_bytes*/) const {}

  // Throws Error(unsupported) for a problem that does not fit the device, Error(invalid_argument) naming an
  // axis or value that does not exist, or if no config remains. The machine must outlive the result.
  virtual OpenProblem open(const GemmProblem& problem, const ChoiceRules& rules, TuneMachine& machine,
                           double ring_bytes) const = 0;

 private:
  const char* name_;
  const SearchPace& pace_;
};

template <class Config>
class FamilyOf : public TuneFamily {
 public:
  using TuneFamily::TuneFamily;
  void check_axes(const AxisRules& rules) const override { tilewright::check_axes<Config>(rules); }
};

using FamilyList = std::vector<const TuneFamily*>;

// The families of this build, each in the file of its name.
const TuneFamily& gemm_small_cpu_family();
const TuneFamily& gemm_small_family();  // GPU
const TuneFamily& gemm_large_family();  // GPU
// Not searched by default: it tunes no kernel but the conversion of batches.
const TuneFamily& layout_family();

// All others: the families that problems are searched among.
const FamilyList& tune_families();

// The problem that is searched: of a group of a batch its pointer batch.
GemmProblem searched_problem(GemmProblem problem);

// The first family that serves the problem. Throws the Error of the family that it belongs to.
const TuneFamily& family_for(const FamilyList& families, const GemmProblem& problem);

// Declines empty problems and warm operands, for families of the GPU.
std::optional<Decline> gpu_declines(const GemmProblem& problem);

struct ProductTuning {
  FamilyList families = tune_families();
  ChoiceRules rules{};  // without seeds, which depend on the problem
  // Configs of earlier runs for a problem of the family.
  std::function<std::vector<nlohmann::json>(const std::string& family, const GemmProblem&)> seeds{};
  // The best config known before, for families without wisdom; default: the machine's wisdom.
  std::function<std::optional<nlohmann::json>(const GemmProblem&)> known{};
};

// Outer levels are dropped, and a grouped batch stands for its pointer batches. Throws Error for a problem
// that no family serves or an axis that does not exist. The machine must outlive the operation.
std::unique_ptr<Operation> product_operation(const GemmProblem& problem, TuneMachine& machine,
                                             const ProductTuning& how = {});
Operations product_operations(const std::vector<GemmProblem>& problems, TuneMachine& machine,
                              const ProductTuning& how = {});

}  // namespace tilewright
