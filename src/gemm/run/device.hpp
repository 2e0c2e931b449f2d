// What all candidates whose operands lie on a GPU share: the reasons for which none of them serves, what a
// plan promises about addresses, zeros among general scalars, and the part of their runners that is the same.
#pragma once

#include <string>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/candidate.hpp"
#include "gemm/device/machine.hpp"
#include "gemm/device/operands.hpp"
#include "plan/config_choice.hpp"
#include "wisdom/families.hpp"

namespace tilewright {

inline CUstream_st* stream_of(const Operands& o) { return static_cast<CUstream_st*>(o.stream); }

// What the options promise of all addresses, at most what kernels gain from. Throws Error(invalid_argument)
// for what is no alignment.
int align_bytes(const PlanRequest& request);

// Why the GPU does not serve data that lie elsewhere or calls that were meant for the CPU; why it cannot be
// used; "" for no reason.
std::string why_not_on_gpu(const PlanRequest& request);
std::string why_no_machine(const PlanRequest& request);
// Why there is no one large product for all problems.
std::string why_no_product(const PlanRequest& request);

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

// Whether a scalar of the class is zero; general ones are looked at.
bool is_zero(const GemmProblem& problem, Scalar kind, const void* value);

class DeviceRunner : public Runner {
 public:
  DeviceRunner(const PlanRequest& request, std::shared_ptr<const GpuMachine> machine, int align_bytes);

  // Of runners that take one alpha and one beta and form products unless alpha is zero.
  void check(const Operands& operands) const override;
  std::string device() const override { return machine_->gpu().limits().name; }
  std::string threads_text() const override;
  bool uses_gpus() const override { return true; }

 protected:
  const GemmProblem& problem() const { return problem_; }
  const GpuMachine& machine() const { return *machine_; }
  // What check() consists of.
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
