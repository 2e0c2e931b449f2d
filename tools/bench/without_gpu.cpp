// Builds without GPU sources use this file: every entry point to them fails with the reason.
#include <fmt/format.h>

#include "bench/gpu_parts.hpp"
#include "bench/machine.hpp"
#include "people/refusal.hpp"

namespace tilewright::bench {
namespace {

constexpr const char* no_runtime = "this build has no GPU runtime";

[[noreturn]] void refuse(const Plan& plan) {
  not_supported("FAMILY", "FAMILY = '{}' needs a GPU: {}", plan.family, no_runtime);
}

}  // namespace

std::unique_ptr<Machine> gpu_machine(const Plan& plan) { refuse(plan); }
void check_gpu_transfer(const Plan& plan) { refuse(plan); }
TransferResult measure_gpu_transfer(const Plan& plan, const TransferBatch&) { refuse(plan); }

HybridPeers hybrid_peers(const std::vector<int>&, std::string& why_none) {
  why_none = no_runtime;
  return {};
}
LuPeers lu_peers(const std::vector<int>&, std::string& why_none) {
  why_none = no_runtime;
  return {};
}
GpuLaunchCosts measure_gpu_launches(int) { return {"", no_runtime, "", {}}; }

}  // namespace tilewright::bench
