// Common to candidates with operands on a GPU: reasons to decline, promised alignments, base of runners.
#pragma once

#include <optional>
#include <string>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/candidate.hpp"
#include "gemm/device/machine.hpp"
#include "gemm/device/operands.hpp"
#include "gemm/operand.hpp"
#include "kernel/gemm_large/forecast.hpp"
#include "plan/config_choice.hpp"
#include "wisdom/families.hpp"

namespace tilewright {

inline CUstream_st* stream_of(const Operands& o) { return static_cast<CUstream_st*>(o.stream); }

// Returns the promised alignment of all addresses, at most as large as kernels gain from. Throws
// Error(invalid_argument) for an invalid alignment.
int align_bytes(const PlanRequest& request);

// Return why the GPU does not serve operands elsewhere or calls for the CPU, or cannot run; "" if it can.
std::string why_not_on_gpu(const PlanRequest& request);
std::string why_no_machine(const PlanRequest& request);
// Returns why there is no single large product for all problems, or "".
std::string why_no_product(const PlanRequest& request);
// True if only the device knows some values or sizes, among which there may be zeros.
bool is_seen_on_device(const PlanRequest& request);
// Throws Error(invalid_argument) if alpha or beta vary and the plan is for one value, or vice versa.
void check_forms(const ScalarsVary& planned, const Operands& operands);

// Returns the model, fitted to this device or one of its architecture, that forecasts large products of this
// type; null without one, and for calls that minimise energy. It is read once for a request, whose problem
// is served by one of the two models.
std::shared_ptr<const GemmLargeForecastModel> large_forecast_model(const PlanRequest& request,
                                                                   const GpuLimits& limits);
// The same of batches of one launch.
std::shared_ptr<const GemmLargeBatchModel> large_batch_model(const PlanRequest& request,
                                                             const GpuLimits& limits);
// True if the batch's problems are products that gpu_large computes by one launch.
bool is_large_batch(const GemmProblem& problem);

// The GPU that the operands lie on.
std::shared_ptr<const GpuMachine> machine_of(const PlanRequest& request);

// A family of kernels on that GPU.
template <class Config>
ConfigFamily<GemmOperation, Config> device_family(const char* name, const GpuMachine& machine,
                                                  std::function<Space<Config>()> space,
                                                  std::function<std::vector<Config>()> rules_of_thumb) {
  return {name, architecture_of_all(name), machine.gpu().limits().name, std::move(space),
          std::move(rules_of_thumb)};
}

class DeviceRunner : public Runner {
 public:
  DeviceRunner(const PlanRequest& request, std::shared_ptr<const GpuMachine> machine, int align_bytes);

  // For runners that take one alpha and beta and form products unless alpha is zero.
  void check(const Operands& operands) const override;
  std::string device() const override { return machine_->gpu().limits().name; }
  std::string threads_text() const override;
  bool uses_gpus() const override { return true; }

 protected:
  const GemmProblem& problem() const { return problem_; }
  const GpuMachine& machine() const { return *machine_; }
  // The two parts of check().
  static void refuse_values(const Operands& operands);
  void check_addresses(const Operands& operands, bool reads_ab) const;

 private:
  GemmProblem problem_;
  std::shared_ptr<const GpuMachine> machine_;
  int align_bytes_;
  bool asks_driver_;
  GpuOperandCheck check_;

  GpuOperandCheck check_of(const GemmProblem& problem) const {
    return GpuOperandCheck(problem, align_bytes_, asks_driver_ ? &machine_->gpu() : nullptr);
  }
};

}  // namespace tilewright
