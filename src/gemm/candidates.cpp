// The list, and what stands in it for the ways of a GPU in builds that have no GPU runtime. Per-size choices
// are configs, hence data, and never an if in this file.
#include <vector>

#include "core/host/fork_gate.hpp"
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/gpus.hpp"
#include "gemm/run/ways.hpp"
#include "plan/rank.hpp"

namespace tilewright {
#if !TILEWRIGHT_HAS_GPU
namespace {
std::string no_gpu(const PlanRequest&) { return "this build has no GPU runtime"; }
}  // namespace
std::string device_scale_declines(const PlanRequest& r) { return no_gpu(r); }
GemmOffers device_scale_offers(const PlanRequest&) { return {}; }
constinit const GemmCandidate small_way{"gemm_small", Tier::small, no_gpu};
constinit const GemmCandidate large_way{"gemm", Tier::large, no_gpu};
constinit const GemmCandidate cublas_way{"cublas", Tier::large, no_gpu};

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

std::span<const GemmCandidate> gemm_candidates() {
  static constinit Once<const std::vector<GemmCandidate>> once;
  return once.get([] {
    return std::vector<GemmCandidate>{
        scale_way,  small_cpu_way, bands_way, small_way, large_way,
        cublas_way, hybrid_way,    cblas_way, sums_way,  reference_way,
    };
  });
}

Asked GemmOperation::asked(const PlanRequest& r) {
  return {r.options.candidate, r.options.config, objective_of(r.options)};
}

bool GemmOperation::records(const PlanRequest& r, const char* family, const std::string& architecture,
                            const std::string& device, const std::string& objective,
                            const Wisdom::Take& take) {
  const Wisdom* const wisdom = r.context.wisdom();
  return wisdom != nullptr &&
         wisdom->offer({family, architecture, r.problem, objective, device, to_string(r.options.math_mode)},
                       take);
}

double GemmOperation::work(GemmProblem p) {
  p.batch_count = 1;
  return std::max(1.0, flops(p));
}

std::string GemmOperation::why_not(const GemmCandidate& candidate, const PlanRequest& r) {
  if (r.options.math_mode != candidate.traits.math_mode)
    return fmt::format("math_mode = {} is not served by it", to_string(r.options.math_mode));
  if (r.problem.sums != Sums::none && !candidate.traits.forms_sums)
    return "it forms no sums of products into one C";
  return "";
}

template Ranking<GemmOperation> rank(const PlanRequest&, std::span<const GemmCandidate>);

}  // namespace tilewright
