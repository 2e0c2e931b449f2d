// The list, and what stands in it for the ways of a GPU in builds that have no GPU runtime. Per-size choices
// are configs, hence data, and never an if in this file.
#include "gemm/candidates.hpp"

#include <vector>

#include "core/host/fork_gate.hpp"
#include "gemm/hybrid/gpus.hpp"
#include "gemm/run/ways.hpp"

namespace tilewright {
#if !TILEWRIGHT_HAS_GPU
namespace {
std::string no_gpu(const PlanRequest&) { return "this build has no GPU runtime"; }
}  // namespace
std::string device_scale_declines(const PlanRequest& r) { return no_gpu(r); }
Offers device_scale_offers(const PlanRequest&) { return {}; }
constinit const Candidate small_way{"gemm_small", Tier::small, no_gpu};
constinit const Candidate large_way{"gemm", Tier::large, no_gpu};
constinit const Candidate cublas_way{"cublas", Tier::large, no_gpu};

namespace {
class NoGpus : public HybridGpus {
 public:
  std::vector<HybridGpu> list(std::string& why_none) override {
    why_none = "this build has no GPU runtime";
    return {};
  }
  std::unique_ptr<StreamDevice> open(int, DeviceMultiply) override { return nullptr; }
  DeviceProduct prepare(Context::Impl&, const StreamProduct&, int, bool) override { return {}; }
};
}  // namespace
std::unique_ptr<HybridGpus> machine_gpus() { return std::make_unique<NoGpus>(); }
#endif

std::span<const Candidate> gemm_candidates() {
  static constinit Once<const std::vector<Candidate>> once;
  return once.get([] {
    return std::vector<Candidate>{
        scale_way,  small_cpu_way, bands_way, small_way, large_way,
        cublas_way, hybrid_way,    cblas_way, sums_way,  reference_way,
    };
  });
}

}  // namespace tilewright
