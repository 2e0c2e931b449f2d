// LU of a matrix in the memory of one GPU, queued on the caller's stream. Nothing waits on the host.
#pragma once

#include "lu/device/schedule.hpp"

namespace tilewright {

class DeviceLu {
 public:
  // As LuEngine.
  DeviceLu(std::shared_ptr<LuTools> tools, const LuShape& shape, const LuPace& pace)
      : engine_(std::move(tools), shape, pace), schedule_({&engine_}) {}

  const LuShape& shape() const { return engine_.shape(); }
  std::int64_t workspace_bytes() const { return engine_.workspace_bytes(); }
  // After what is in `stream`; what is queued there later waits for it. By several threads in turn.
  void factor(const DeviceLuOperands& operands, CUstream_st* stream) {
    const std::lock_guard lock(engine_.tools().mutex());
    schedule_.queue({operands}, stream, nullptr);
  }

 private:
  LuEngine engine_;
  LuSchedule schedule_;
};

}  // namespace tilewright
