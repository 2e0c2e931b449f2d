// Times queued calls by two events, which are asked and never waited for.
#include "gemm/run/device.hpp"
#include "gemm/run/learning.hpp"

namespace tilewright {
namespace {

class DeviceCallTimer : public CallTimer {
 public:
  explicit DeviceCallTimer(std::shared_ptr<const GpuMachine> machine)
      : machine_(std::move(machine)), begin_(machine_->gpu()), end_(machine_->gpu()) {}

  // A graph would hold the trial for ever.
  bool begin(const Operands& o) override {
    if (is_capturing(machine_->gpu(), stream_of(o))) return false;
    begin_.record(stream_of(o));
    return true;
  }
  void end(const Operands& o) override { end_.record(stream_of(o)); }
  std::optional<double> seconds() override {
    if (!end_.has_passed()) return std::nullopt;
    return end_.seconds_since(begin_);
  }

 private:
  std::shared_ptr<const GpuMachine> machine_;
  GpuEvent begin_, end_;
};

}  // namespace

std::unique_ptr<CallTimer> device_call_timer(const PlanRequest& r) {
  return std::make_unique<DeviceCallTimer>(machine_of(r));
}

}  // namespace tilewright
