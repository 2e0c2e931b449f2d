// What the tuner asks of a family of kernels that multiply, wherever they run: which problems it serves, how
// long turns are, what operands cost, and the configs of one problem as a pool that is made, checked and
// timed. One file and one line of families.cpp are a family; product.hpp makes operations of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "tune/family/config_choice.hpp"
#include "tune/family/machine.hpp"
#include "tune/operation.hpp"

namespace tilewright {

// Why a family has no configs for a problem.
struct Decline {
  ErrorCode code = ErrorCode::unsupported;
  std::string argument, reason;
  bool elsewhere = false;  // by where it lies or how large it is, it is another family's
};

class TuneFamily {
 public:
  virtual ~TuneFamily() = default;
  virtual const char* name() const = 0;  // of its records
  virtual const SearchPace& pace() const = 0;
  // The hash of the sources that its kernels are made of.
  virtual std::string source_hash() const = 0;
  virtual std::optional<Decline> declines(const GemmProblem& problem) const = 0;
  // Throws Error(invalid_argument) naming an axis that its configs do not have, or a value of the wrong type.
  virtual void check_axes(const AxisRules& rules) const = 0;

  // How records of its configs name the architecture, for lookups; of CPUs the instruction set.
  virtual std::string architecture(const TuneMachine& machine) const = 0;
  // Whether a recorded config runs on this machine at all.
  virtual bool runs(const nlohmann::json& /*config*/, const TuneMachine&) const { return true; }

  // As Operation has them.
  virtual OperandRing operands(const GemmProblem&, TuneMachine&, double /*most_s*/) const { return {}; }
  virtual void fill(const GemmProblem&, TuneMachine&, double /*ring_bytes*/) const {}

  // Throws Error(unsupported) for what does not fit the device, Error(invalid_argument) naming an axis or
  // value that does not exist, or when no config remains. The machine must outlive what is opened.
  virtual OpenProblem open(const GemmProblem& problem, const ChoiceRules& rules, TuneMachine& machine,
                           double ring_bytes) const = 0;
};

using FamilyList = std::vector<const TuneFamily*>;

// Those of this build, each defined in the file of its name.
const TuneFamily& gemm_small_cpu_family();
const TuneFamily& gemm_small_family();  // GPU
const TuneFamily& gemm_large_family();  // GPU
// Not searched among: asked for by name, for it tunes no kernel but what converting a batch costs.
const TuneFamily& layout_family();

// The others, that problems are searched among.
const FamilyList& tune_families();

// The problem that is searched: for a group of a batch the pointer batch that it is.
GemmProblem searched_problem(GemmProblem problem);

// The first of the list that serves the problem. Throws the Error of the one whose it is.
const TuneFamily& family_for(const FamilyList& families, const GemmProblem& problem);

}  // namespace tilewright
