// The runner of a plan that learns from its calls: it runs the plan's best offers in turn, times them without
// waiting, and stays with the fastest, which it adds to the user's wisdom.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "gemm/candidate.hpp"

namespace tilewright {

// Times one call at a time. Not thread-safe.
class CallTimer {
 public:
  virtual ~CallTimer() = default;
  // Returns false if this call cannot be timed.
  virtual bool begin(const Operands& operands) = 0;
  virtual void end(const Operands& operands) = 0;
  // Returns the seconds between the two once they are known, without waiting.
  virtual std::optional<double> seconds() = 0;
};

// Return a timer of calls that are queued on the GPU of the request, or of calls wherever its operands lie.
std::unique_ptr<CallTimer> device_call_timer(const PlanRequest& request);
std::unique_ptr<CallTimer> call_timer(const PlanRequest& request);

// `chosen` is the runner of the ranking's winner; its rivals are taken out. Each offer gets a timer of its
// own. Returns `chosen` where nothing is to be learned: wisdom has an exact record, or no rival is another
// choice that fills the same reports.
using MakeCallTimer = std::function<std::unique_ptr<CallTimer>(const PlanRequest&)>;
std::shared_ptr<const Runner> learning_runner(const PlanRequest& request,
                                              std::shared_ptr<const Runner> chosen,
                                              Ranking<GemmOperation>& ranking,
                                              const MakeCallTimer& make_timer = call_timer);

}  // namespace tilewright
