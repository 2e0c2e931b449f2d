// Checks a call, joins its levels, and runs it: by a small kernel if possible, else by a plan.
#include "gemm/call.hpp"

#include "core/dispatch.hpp"
#include "core/host/host_state.hpp"
#include "core/refuse.hpp"
#include "gemm/cpu_small/calls.hpp"
#include "gemm/device/batches.hpp"
#include "gemm/device/operands.hpp"
#include "gemm/plan.hpp"
#include "gemm/pointers.hpp"
#include "gemm/report.hpp"

namespace tilewright {
namespace {

class RunningCall {
 public:
  RunningCall(Context::Impl& context, ProductCall& call, const GemmOptions& options, const BatchInfo& info)
      : context_(context),
        p_(call.problem),
        o_(call.operands),
        names_(call.names),
        options_(options),
        info_(info),
        fault_(call.fault) {
    check_call_options(context, options, p_.location);
    if (!fault_) fault_ = find_call_fault();
    // A bad count or block is not an argument of the BLAS routine and has no code.
    if (fault_ && fault_->blas_number == 0) refuse_argument(fault_->argument, fault_->message);
    if (has_levels(p_) && !fault_) p_ = with_joined_levels(p_);
  }

  void run() {
    if (p_.location == Location::device) return run_on_device();
    InfoReport report(info_, p_.batch_count, 1);
    if (fault_) return report.group(0, p_.batch_count, 0, *fault_);
    if (p_.layout == Layout::pointer && run_around_bad_problems(report)) return;
    if (run_small(context_, p_, o_, options_)) return;
    execute_all(*find_plan(context_, p_, options_));
  }

 private:
  [[gnu::noinline]] std::optional<Fault> find_call_fault() const {
    if (auto fault = find_fault(p_, names_)) return fault;
    if (p_.m == 0 || p_.n == 0 || p_.batch_count == 0) return {};
    // Neither zeros among alphas per problem nor addresses that a GPU reads are checked here.
    const Addresses at{o_.a, o_.b, o_.c};
    return p_.location == Location::host ? address_fault(at, reads_ab(p_), names_)
                                         : null_fault(at, reads_ab(p_), names_);
  }

  // Rare paths stay out of the stack frame of the others.
  [[gnu::noinline]] bool run_around_bad_problems(InfoReport& report) const {
    const auto bad = find_bad_problems(p_, o_, options_.checked, names_);
    for (const BadProblem& problem : bad) report.problem(problem.index, 0, problem.fault);
    if (bad.empty()) return false;
    const GoodProblems good(p_, o_, bad);
    execute(*find_plan(context_, good.problem(), options_), good.operands());
    return true;
  }

  // The pointers of a pointer batch are in device memory too, so the device checks them.
  [[gnu::noinline]] void run_on_device() {
    const NoCancel uncancelled;  // the driver waits now and then
    DeviceReport report(context_, options_, info_, p_.batch_count, 1);
    if (fault_) {
      report.group(0, p_.batch_count, 0, *fault_);
      return report.write();
    }
    o_.stream = options_.queue.stream;
    GemmOptions stated = options_;
    stated.align_bytes = common_alignment(p_, o_.a, o_.b, o_.c);
    run_device_batch(context_, p_, o_, stated, report);
  }

  void execute_all(const GemmPlan::Impl& plan) const {
    const bool is_one_call =
        o_.alpha_stride == 0 && o_.beta_stride == 0 && dispatch(p_.dtype, [&]<class T>() {
          return is_one_kernel_call(plan, *static_cast<const T*>(o_.alpha), *static_cast<const T*>(o_.beta));
        });
    if (is_one_call)
      call_kernel(plan, o_.a, o_.b, o_.c, o_.alpha, o_.beta);
    else
      execute(plan, o_);
  }

  Context::Impl& context_;
  GemmProblem& p_;
  Operands& o_;
  const ArgumentNames& names_;
  const GemmOptions& options_;
  const BatchInfo& info_;
  std::optional<Fault>& fault_;
};

}  // namespace

void run_call(Context::Impl& context, ProductCall& call, const GemmOptions& options, const BatchInfo& info) {
  RunningCall(context, call, options, info).run();
}

}  // namespace tilewright
