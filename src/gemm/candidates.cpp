// The list, and what stands in it for the ways of a GPU in builds that have no GPU runtime. Per-size choices
// are configs, hence data, and never an if in this file.
#include "gemm/candidates.hpp"

#include <array>

#include "gemm/run/ways.hpp"

namespace tilewright {
namespace {

// Hybrid: CPU and GPU together. Not built; it keeps its place.
std::string hybrid_declines(const PlanRequest&) { return "CPU and GPU do not work together yet"; }

}  // namespace

#if !TILEWRIGHT_HAS_GPU
namespace {
std::string no_gpu(const PlanRequest&) { return "this build has no GPU runtime"; }
}  // namespace
std::string device_scale_declines(const PlanRequest& r) { return no_gpu(r); }
Offers device_scale_offers(const PlanRequest&) { return {}; }
constinit const Candidate small_way{"gemm_small", Tier::small, no_gpu};
constinit const Candidate large_way{"gemm", Tier::large, no_gpu};
constinit const Candidate cublas_way{"cublas", Tier::large, no_gpu};
#endif

std::span<const Candidate> gemm_candidates() {
  static const std::array candidates = {
      scale_way, small_cpu_way, small_way,
      large_way, cublas_way,    Candidate{"hybrid", Tier::large, hybrid_declines},
      cblas_way, reference_way,
  };
  return candidates;
}

}  // namespace tilewright
