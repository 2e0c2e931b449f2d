// Builds without GPU sources use this file: every entry point to them fails with the reason.
#include <fmt/format.h>

#include "bench/hybrid_peers.hpp"
#include "bench/launch_cost.hpp"
#include "bench/lu/peers.hpp"
#include "bench/machine.hpp"
#include "bench/transfer.hpp"

namespace tilewright::bench {

namespace {

[[noreturn]] void refuse(const Plan& plan) {
  throw Error(ErrorCode::unsupported, "FAMILY",
              fmt::format("FAMILY = '{}' is refused on a GPU: this build has no GPU runtime", plan.family));
}

}  // namespace

std::unique_ptr<Machine> gpu_machine(const Plan& plan) { refuse(plan); }
void check_gpu_transfer(const Plan& plan) { refuse(plan); }
TransferResult measure_gpu_transfer(const Plan& plan, const TransferBatch&) { refuse(plan); }

std::unique_ptr<HybridPeers> hybrid_peers(const std::vector<int>&, std::string& why_none) {
  why_none = "this build has no GPU runtime";
  return nullptr;
}

std::unique_ptr<LuPeers> lu_peers(const std::vector<int>&, std::string& why_none) {
  why_none = "this build has no GPU runtime";
  return nullptr;
}

GpuLaunchCosts measure_gpu_launches(int) {
  GpuLaunchCosts none;
  none.why_none = "this build has no GPU runtime";
  return none;
}

}  // namespace tilewright::bench
