// A stored record's kernel against the default's, timed again and judged, whatever they run on; and who does
// so on one device.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/problem.hpp"
#include "gemm/context_impl.hpp"
#include "measure/estimate.hpp"
#include "tune_flags.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::cli {

struct StoredRecord : WisdomRecord {
  GemmProblem what;
};

struct Checked {
  std::string verdict = "holds";  // or why not
  bool holds() const { return verdict == "holds"; }
  bool regressed() const { return verdict.starts_with("regression"); }
  Estimate seconds = {};
  double gain = 0, gain_before = 0;  // the default's time over the record's; 0: not known
};

// Looks several times, for about `budget_s` in all, before it calls something a regression. `time_turn` takes
// a turn of the record's kernel (0) or of the default's (1) and gives the seconds of one problem.
Checked rematch(const WisdomRecord& record, const std::function<double(std::size_t)>& time_turn,
                double budget_s);

class RecordChecker {
 public:
  virtual ~RecordChecker() = default;
  virtual const std::string& device() const = 0;
  // Whether the record is of this device and of a family that is measured here.
  virtual bool is_for(const StoredRecord& record) const = 0;
  virtual double usual_budget_s(const StoredRecord& record) const = 0;
  virtual Checked check(const StoredRecord& record, double budget_s) = 0;
};

// Records of the GPU that the flags name. Throws Error(unsupported) where there is none.
std::unique_ptr<RecordChecker> gpu_record_checker(const TuneFlags& flags, const Context& context);

}  // namespace tilewright::cli
