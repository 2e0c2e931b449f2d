// Sums of small products into one C by kernels that hold it in registers; gemm_small_cpu makes these runners.
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/run/sums.hpp"
#include "gemm/small/calls.hpp"
#include "gemm/small/stack_bytes.hpp"

namespace tilewright {
namespace {

class SmallSumsRunner : public SumsRunner {
 public:
  SmallSumsRunner(const PlanRequest& r, const GemmSmallCpuConfig& config)
      : SumsRunner(r), kernels_(r.context.kernels) {
    code_.first_kernel = code_.later_kernel = kernels_->get(problem(), config);
    if (problem().beta == Scalar::one) return;
    // The config may not be legal for it.
    GemmProblem adds = problem();
    adds.beta = Scalar::one;
    const bool serves = gemm_small_cpu_space(adds, config.isa).contains(config);
    code_.later_kernel = kernels_->get(adds, serves ? config : gemm_small_cpu_default(adds, config.isa));
  }

  nlohmann::json config() const override { return to_json(code_.first_kernel->config()); }
  std::string config_text() const override { return describe(code_.first_kernel->config()); }
  nlohmann::json metrics() const override {
    return {{"kernel_counts", to_json(code_.first_kernel->counts())}};
  }
  std::shared_ptr<const GemmSmallCpuKernel> small_kernel() const override { return code_.first_kernel; }

 private:
  void reduce(const Operands& o, const SumCode& code) const override {
    const GemmProblem& p = problem();
    kernel_call(p, layouts_of(p), o, 0, p.batch_count)
        .run(*code.first_kernel, small_stack_bytes(p, code.first_kernel->config()));
  }

  std::shared_ptr<KernelCache> kernels_;
};

}  // namespace

std::shared_ptr<const Runner> small_sums_runner(const PlanRequest& request,
                                                const GemmSmallCpuConfig& config) {
  return std::make_shared<const SmallSumsRunner>(request, config);
}

}  // namespace tilewright
