// The kernels of batched small GEMM that one plan needs, and which of them a call launches: by the value of
// beta, by size where sizes vary, with one alpha and beta or a value per problem.
#pragma once

#include <memory>
#include <vector>

#include "device/gpu/workspace.hpp"
#include "gemm/run/device.hpp"

namespace tilewright {

class GemmSmallKernelSet {
 public:
  // For whichever beta a call of the problem's class may bring. With k = 0 or alpha = 0 they scale C. Throws
  // what GpuMachine::gemm_small throws.
  GemmSmallKernelSet(const GemmProblem& problem, const GpuMachine& machine, const GemmSmallConfig& config,
                     int align_bytes, const PlanRequest& request);

  // Throws Error(invalid_argument) where alpha or beta come otherwise than the plan was made for: one for
  // all, or a value per problem.
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
  std::unique_ptr<GpuWorkspace> repeated_;  // of the one scalar that does not vary, once per problem
};

}  // namespace tilewright
