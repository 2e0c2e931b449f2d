// The GPUs of this machine for products of host operands: a tile's product is a plan of operands in device
// memory, made by the same Context.
#include "device/gpu/gpu.hpp"
#include "gemm/execute.hpp"
#include "gemm/hybrid/gpus.hpp"
#include "gemm/hybrid/stream/cuda_device.hpp"
#include "gemm/plan.hpp"

namespace tilewright {
namespace {

class MachineGpus : public HybridGpus {
 public:
  std::vector<HybridGpu> list(std::string& why_none) override {
    std::vector<HybridGpu> all;
    const int count = Gpu::count(why_none);
    for (int device = 0; device < count; ++device) {
      const GpuLimits limits = Gpu::limits_of(device);
      if (const std::string too_old = why_too_old(limits); !too_old.empty())
        why_none = too_old;
      else
        all.push_back({device, limits.name, limits.memory_bytes});
    }
    if (!all.empty()) why_none.clear();
    return all;
  }

  std::unique_ptr<StreamDevice> open(int ordinal, DeviceMultiply multiply) override {
    return make_cuda_device(ordinal, std::move(multiply));
  }

  DeviceProduct prepare(Context::Impl& context, const StreamProduct& what, int ordinal,
                        bool may_compile) override {
    GemmProblem problem = what.problem;
    problem.residency = Residency::cold;
    GemmOptions options;
    options.queue.device = ordinal;
    options.align_bytes = what.align_bytes;
    auto plan = context.part_plans.find(problem, options);
    constexpr bool shares_configs = true;
    if (plan == nullptr) plan = make_plan(context, problem, options, may_compile, shares_configs);
    if (plan->candidate.empty())
      throw Error(ErrorCode::unsupported, "problem",
                  fmt::format("no candidate runs {} on a GPU: {}", to_string(problem),
                              plan->decisions.empty() ? "" : plan->decisions.front().reason));
    plan = context.part_plans.add(problem, options, plan);
    return [plan](const Operands& operands) { execute(*plan, operands); };
  }
};

}  // namespace

std::unique_ptr<HybridGpus> machine_gpus() { return std::make_unique<MachineGpus>(); }

}  // namespace tilewright
