// The list of candidates, with stand-ins for those of a GPU. Choices per size are configs, never code here.
#include <vector>

#include "core/host/fork_gate.hpp"
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/run/learning.hpp"
#include "plan/rank.hpp"

namespace tilewright {
#if !TILEWRIGHT_HAS_GPU
namespace {
std::string no_gpu(const PlanRequest&) { return "this build has no GPU runtime"; }
}  // namespace
std::string device_scale_declines(const PlanRequest& r) { return no_gpu(r); }
GemmOffers device_scale_offers(const PlanRequest&) { return {}; }
std::unique_ptr<CallTimer> device_call_timer(const PlanRequest&) { return nullptr; }
constinit const GemmCandidate gpu_small_candidate{"gpu_small", Tier::small, no_gpu};
constinit const GemmCandidate gpu_converted_candidate{"gpu_converted", Tier::small, no_gpu};
constinit const GemmCandidate gpu_thin_candidate{"gpu_thin", Tier::large, no_gpu};
constinit const GemmCandidate gpu_large_candidate{"gpu_large", Tier::large, no_gpu};
constinit const GemmCandidate cublas_candidate{"cublas", Tier::large, no_gpu};

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
        scale_candidate,         cpu_small_candidate, cpu_bands_candidate,    gpu_small_candidate,
        gpu_converted_candidate, gpu_thin_candidate,  gpu_large_candidate,    cublas_candidate,
        hybrid_candidate,        host_blas_candidate, batch_reduce_candidate, reference_candidate,
    };
  });
}

Asked GemmOperation::asked(const PlanRequest& r) {
  return {current_candidate(r.options.candidate), r.options.config, objective_of(r.options)};
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

int GemmOperation::aligned_in_one(const GemmProblem& x, const GemmProblem& y) {
  if (x.location != Location::device) return 0;
  constexpr std::int64_t line = 16;
  const auto differ = [&](std::int64_t ld_of_x, std::int64_t ld_of_y) {
    const auto is_aligned = [&](std::int64_t ld) {
      return ld * std::int64_t(size_bytes(x.dtype)) % line == 0;
    };
    return is_aligned(ld_of_x) != is_aligned(ld_of_y) ? 1 : 0;
  };
  return differ(x.lda, y.lda) + differ(x.ldb, y.ldb) + differ(x.ldc, y.ldc);
}

std::string GemmOperation::why_not(const GemmCandidate& candidate, const PlanRequest& r) {
  if (r.options.math_mode != candidate.traits.math_mode)
    return fmt::format("does not support math_mode = {}", to_string(r.options.math_mode));
  if (r.problem.sums != Sums::none && !candidate.traits.forms_sums) return "does not sum products into one C";
  return "";
}

GemmProblem problem_to_tune(const GemmProblem& problem) {
  GemmProblem tuned = without_levels(problem);
  tuned.batch_count = tuned.layout == Layout::block_interleaved ? tuned.block : 1;
  if (tuned.layout == Layout::interleaved) tuned.block = 1;
  tuned.lda = tuned.ldb = tuned.ldc = tuned.stride_a = tuned.stride_b = tuned.stride_c = 0;
  tuned.alpha = Scalar::one;
  return packed(tuned);
}

template Ranking<GemmOperation> rank(const PlanRequest&, std::span<const GemmCandidate>);

}  // namespace tilewright
