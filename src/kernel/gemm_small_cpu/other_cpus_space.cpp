// The columns part on CPUs other than x86-64, for which no code is generated: its space is empty. These CPUs
// compile none of the files columns*.cpp (cmake/sources.cmake).
#if !defined(__x86_64__)

#include "kernel/gemm_small_cpu/parts.hpp"

namespace tilewright {
namespace {

constexpr const char* refusal = "generated kernels exist for x86-64 only";

}  // namespace

Space<GemmSmallCpuConfig> columns_space(const GemmProblem&, Isa) {
  Space<GemmSmallCpuConfig> none;
  none.require(refusal, [](const GemmSmallCpuConfig&) { return false; });
  return none;
}

Space<GemmSmallCpuConfig> columns_search(const GemmProblem& problem, Isa isa) {
  return columns_space(problem, isa);
}

GemmSmallCpuConfig columns_default(const GemmProblem&, Isa isa) { return {.isa = isa}; }

std::shared_ptr<const GemmSmallCpuKernel> make_columns(const GemmProblem&, const GemmSmallCpuConfig&) {
  throw Error(ErrorCode::unsupported, "cpu", refusal);
}

}  // namespace tilewright
#endif
