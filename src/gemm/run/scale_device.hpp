// C = beta * C of operands on a GPU: what products are left with where a general alpha turns out to be 0, and
// what the candidate scale runs there.
#pragma once

#include <algorithm>
#include <optional>

#include "gemm/run/small_kernels.hpp"

namespace tilewright {

// Values and sizes that only the device knows of, among which there may be zeros.
bool is_seen_on_device(const PlanRequest& request);
// Why no kernel takes the layout; "" where some do.
std::string why_no_layout(Layout layout);

// For whichever beta a call of the problem's class may bring: sizes of any kind at one distance, small ones
// in every layout.
class DeviceScaling {
 public:
  DeviceScaling(const PlanRequest& request, std::shared_ptr<const GpuMachine> machine);

  // Whether null pointers of C are found, for whichever beta a call brings.
  bool reports() const { return small_.has_value(); }
  void run(const Operands& operands) const;

 private:
  GemmProblem problem_;
  std::shared_ptr<const GpuMachine> machine_;
  bool does_nothing_ = false;
  std::shared_ptr<const GpuScale> zero_, general_;
  std::optional<GemmSmallKernelSet> small_;
};

}  // namespace tilewright
