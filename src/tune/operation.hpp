// One problem to tune: a product with its family of kernels, a conversion of layouts, or a factorization. An
// operation names its problem and opens the pool of its configs. session.hpp searches, decides and keeps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/space.hpp"
#include "measure/operands.hpp"
#include "tilewright/problem.hpp"
#include "tune/checked_pool.hpp"

namespace tilewright {

// A problem ready to be searched.
struct OpenProblem {
  std::string subject;  // the problem's text as records have it, with the batch count that is timed
  std::unique_ptr<CheckedPool> pool{};
  std::optional<std::size_t> incumbent{};   // the place of what was known as best before
  std::vector<Removed> removed{};           // what the constraints cut off the space
  std::vector<std::string> absent_peers{};  // "name: reason"
};

// The cost of a problem's operands before anything can be timed.
struct OperandRing {
  double bytes = cold_bytes;  // of cold operands in all; 0: not even the smallest ring can be afforded
  double fill_s = 0;          // that filling it is expected to take; of the smallest ring where bytes = 0
};

class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::string text() const = 0;  // of the problem, by which logs and reports name it
  virtual Location location() const { return Location::host; }
  virtual const SearchPace& pace() const = 0;
  // Adds what must be the same for the turns of an earlier run to count.
  virtual void describe_run(nlohmann::json& /*run*/) const {}
  // The config known as best for exactly this problem and objective, found on this machine.
  virtual std::optional<nlohmann::json> known(const TuneObjective&) const { return std::nullopt; }
  // Throws Error(unsupported) naming the objective where nothing measures the energy of the problem.
  virtual EnergyMeter& meter(const TuneObjective& objective) {
    throw Error(ErrorCode::unsupported, "objective",
                fmt::format("objective = {}: {} is tuned for time only", objective.text(), text()));
  }

  // Problems of one such name take their operands from the same memory; "" where filling costs nothing.
  virtual std::string operand_pool() const { return ""; }
  // The first returns the cost of filling memory with as many operands as `most_s` pays for; the second fills
  // it.
  virtual OperandRing operands(double /*most_s*/) { return {}; }
  virtual void fill(double /*ring_bytes*/) {}

  // Throws Error(unsupported) for what does not fit the device, Error(invalid_argument) naming an axis or a
  // value where no config remains. The operation must outlive what it opens.
  virtual OpenProblem open(const std::optional<nlohmann::json>& incumbent, double ring_bytes) = 0;
};

using Operations = std::vector<std::unique_ptr<Operation>>;

}  // namespace tilewright
