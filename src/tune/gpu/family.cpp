// Which family serves a problem.
#include "tune/gpu/family.hpp"

#include <algorithm>

#include "kernel/gemm_small/gemm_small.hpp"

namespace tilewright {

std::string gpu_family_of(const GemmProblem& p) {
  const auto refuse = [&](const char* argument, const std::string& why) {
    throw Error(ErrorCode::unsupported, argument, fmt::format("{}: {}", to_string(p), why));
  };
  if (std::min({p.m, p.n, p.k}) < 1) refuse("problem", "only sizes from 1 on have a space to search");
  if (p.residency == Residency::l1 || p.residency == Residency::l2)
    refuse("residency", "on the GPU operands are taken from device memory (cold)");
  const bool small = std::max({p.m, p.n, p.k}) <= gemm_small_limit;
  const bool one_size =
      p.layout == Layout::strided || p.layout == Layout::pointer || is_interleaved(p.layout);
  if (small && !one_size)
    refuse("layout",
           fmt::format("of sizes up to {} batches of one size are tuned for on the GPU: strided, pointer, "
                       "interleaved or block_interleaved",
                       gemm_small_limit));
  if (!small && p.layout != Layout::strided && p.layout != Layout::single)
    refuse("layout", "only single problems and strided batches are tuned for on the GPU so far");
  return small ? "gemm_small" : "gemm";
}

std::unique_ptr<GpuFamily> make_gpu_family(const GemmProblem& problem, const StencilCompiler& compiler,
                                           const GpuChoiceRules& rules, const GpuArena& arena) {
  return gpu_family_of(problem) == "gemm" ? gpu_large_family(problem, compiler, rules, arena)
                                          : gpu_small_family(problem, compiler, rules, arena);
}

}  // namespace tilewright
