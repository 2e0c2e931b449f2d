// What the tuner asks of a family of kernels, wherever they run: which problems it serves, how long turns
// are, what operands cost, and the configs of one problem as a pool that is made, checked and timed. One file
// and one line of families.cpp are a family; searching, deciding and keeping are the same for all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "kernel/space_values.hpp"
#include "tune/config_pool.hpp"
#include "tune/family/config_choice.hpp"
#include "tune/family/machine.hpp"
#include "tune/kernel_timer.hpp"

namespace tilewright {

// Why a family has no configs for a problem.
struct Decline {
  ErrorCode code = ErrorCode::unsupported;
  std::string argument, reason;
  bool elsewhere = false;  // by where it lies or how large it is, it is another family's
};

// One problem ready to be searched.
struct OpenProblem {
  GemmProblem timed;  // with as many matrices as are timed together
  std::unique_ptr<ConfigPool> pool{};
  std::optional<std::size_t> incumbent{};   // the place of what was known as best before
  std::vector<Removed> removed{};           // what the constraints cut off the space
  std::vector<std::string> absent_peers{};  // "name: reason"
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

  // What filling memory with the operands costs, of cold ones as many as `most_s` pays for; and doing so.
  virtual OperandRing operands(const GemmProblem&, TuneMachine&, double /*most_s*/) const { return {}; }
  virtual void fill(const GemmProblem&, TuneMachine&, double /*ring_bytes*/) const {}

  // Throws Error(unsupported) for what does not fit the device, Error(invalid_argument) naming an axis or
  // value that does not exist, or when no config remains. The machine must outlive what is opened.
  virtual OpenProblem open(const GemmProblem& problem, const ChoiceRules& rules, TuneMachine& machine,
                           double ring_bytes) const = 0;
};

using FamilyList = std::vector<const TuneFamily*>;

// Those of this build that problems are searched among.
const FamilyList& tune_families();

// The problem that is searched: for a group of a batch the pointer batch that it is.
GemmProblem searched_problem(GemmProblem problem);

// The first of the list that serves the problem. Throws the Error of the one whose it is.
const TuneFamily& family_for(const FamilyList& families, const GemmProblem& problem);

}  // namespace tilewright
