// Selects the part of gemm_small_cpu for a problem: by ISA (portable serves every layout), then by layout.
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "kernel/gemm_small_cpu/parts.hpp"
#include "kernel/jit/x86.hpp"

namespace tilewright {
namespace {

bool is_interleaved(const GemmProblem& problem) {
  return problem.layout == Layout::interleaved || problem.layout == Layout::block_interleaved;
}

}  // namespace

Space<GemmSmallCpuConfig> gemm_small_cpu_space(const GemmProblem& problem, Isa isa) {
  if (isa == Isa::portable) return portable_space(problem);
  return is_interleaved(problem) ? interleaved_space(problem, isa) : columns_space(problem, isa);
}

Space<GemmSmallCpuConfig> gemm_small_cpu_search(const GemmProblem& problem, Isa isa) {
  if (isa == Isa::portable) return portable_space(problem);
  return is_interleaved(problem) ? interleaved_search(problem, isa) : columns_search(problem, isa);
}

GemmSmallCpuConfig gemm_small_cpu_default(const GemmProblem& problem, Isa isa) {
  if (isa == Isa::portable) return portable_default(problem);
  return is_interleaved(problem) ? interleaved_default(problem, isa) : columns_default(problem, isa);
}

std::shared_ptr<const GemmSmallCpuKernel> make_gemm_small_cpu(const GemmProblem& problem,
                                                              const GemmSmallCpuConfig& config) {
  if (config.isa == Isa::portable) return make_portable(problem, config);
  try {
    return is_interleaved(problem) ? make_interleaved(problem, config) : make_columns(problem, config);
  } catch (const Xbyak::Error& error) {
    throw Error(ErrorCode::unsupported, "config",
                fmt::format("no code for {}: {}", describe(config), error.what()));
  }
}

}  // namespace tilewright
