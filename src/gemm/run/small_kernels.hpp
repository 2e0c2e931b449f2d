// Launches of batched small GEMM on a GPU: kernels, chosen by the value of beta, by size if sizes vary, and
// by one alpha and beta or a value per problem; and scaling, for alpha = 0.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "device/gpu/workspace.hpp"
#include "gemm/run/device.hpp"

namespace tilewright {

class GemmSmallKernelSet {
 public:
  // Serves every beta of the problem's class; k = 0 or alpha = 0 scales C. Throws as GpuMachine::gemm_small.
  GemmSmallKernelSet(const GemmProblem& problem, const GpuMachine& machine, const GemmSmallConfig& config,
                     int align_bytes, const PlanRequest& request);

  // Throws Error(invalid_argument) if alpha or beta vary and the plan is for one value, or vice versa.
  void check_values(const Operands& operands) const;
  void launch(const Operands& operands) const;

  const GemmSmallShape& shape() const { return launches_.back().shape; }
  const GemmSmallKernel& kernel() const { return *launches_.back().kernel; }
  bool scalars_vary() const { return alpha_varies_ || beta_varies_; }

 private:
  // Problems of one range of sizes: larger than `above` and within the shape.
  struct Launch {
    GemmSmallShape shape;
    std::shared_ptr<const GemmSmallKernel> kernel, beta_zero;
    GpuLaunch geometry, beta_zero_geometry;
    int above = 0;
    bool last = true;
  };

  void add(const GemmProblem& problem, const GpuMachine& machine, const GemmSmallConfig& config,
           int align_bytes, bool may_compile);
  void queue(const Operands& operands, const GemmSmallOperands& prepared) const;
  std::size_t repeated_bytes() const {
    return std::size_t(problem_.batch_count) * std::size_t(size_bytes(problem_.dtype));
  }

  GemmProblem problem_;
  const Gpu* gpu_;
  bool alpha_varies_, beta_varies_;
  std::vector<Launch> launches_;            // smaller sizes first
  std::unique_ptr<GpuWorkspace> repeated_;  // copies, one per problem, of the scalar that does not vary
};

// Returns why no kernel takes the layout; "" if one does.
std::string why_no_layout(Layout layout);

// C = beta * C on a GPU, for all beta of a class: any size at one stride, small ones in any layout.
class DeviceScaling {
 public:
  DeviceScaling(const PlanRequest& request, std::shared_ptr<const GpuMachine> machine);

  // True if null pointers of C are found for every beta.
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
