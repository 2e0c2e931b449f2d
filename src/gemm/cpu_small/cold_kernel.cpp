// Binds the portable kernel.
#include "gemm/cpu_small/cold_kernel.hpp"

namespace tilewright {

ColdKernel::ColdKernel(const GemmProblem& problem)
    : plan_(bind_portable_columns(problem, portable_blocks(problem))) {
  function_ = [](const GemmSmallCpuArguments* arguments) {
    const PortableColumns& plan = static_cast<const ColdKernel*>(arguments->self)->plan_;
    plan.run(plan, *arguments);
  };
}

}  // namespace tilewright
