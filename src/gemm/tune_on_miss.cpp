// One miss at a time: threads that miss the same problem wait for the first and find what it has learned.
#include "gemm/tune_on_miss.hpp"

#include "gemm/context_impl.hpp"

namespace tilewright {

GemmProblem problem_to_tune(const GemmProblem& problem) {
  GemmProblem tuned = without_levels(problem);
  tuned.batch_count = tuned.layout == Layout::block_interleaved ? tuned.block : 1;
  if (tuned.layout == Layout::interleaved) tuned.block = 1;
  tuned.lda = tuned.ldb = tuned.ldc = tuned.stride_a = tuned.stride_b = tuned.stride_c = 0;
  tuned.alpha = Scalar::one;
  return packed(tuned);
}

void check_tune_on_miss(const Context::Impl& context, const GemmProblem& problem,
                        const GemmOptions& options) {
  const double budget_s = options.tune_on_miss.budget_s;
  if (budget_s == 0) return;
  const auto refuse = [&](ErrorCode code, const char* reason) {
    throw Error(code, "tune_on_miss", fmt::format("tune_on_miss.budget_s = {} {}", budget_s, reason));
  };
  if (!(budget_s > 0)) refuse(ErrorCode::invalid_argument, "must be positive");
  if (options.objective != Objective::time)
    refuse(ErrorCode::unsupported, "is for objective = time; `tilewright tune --objective` tunes for others");
  if (problem.location == Location::device)
    refuse(ErrorCode::unsupported, "is for operands on the host; `tilewright tune` tunes problems on a GPU");
  if (!context.misses.tuner)
    refuse(
        ErrorCode::unsupported,
        "asks for a tuner and the Context has none: link tilewright::tune and call install_tuner(context)");
  if (context.own_wisdom.empty())
    refuse(ErrorCode::unsupported,
           "needs a wisdom of the user's to keep results in, and the Context uses none");
  if (is_lines_file(context.own_wisdom))
    throw Error(
        ErrorCode::invalid_argument, "wisdom",
        fmt::format("wisdom = '{}' holds JSON lines, which are only read: tune_on_miss needs a database",
                    context.own_wisdom));
}

void tune_missing(const PlanRequest& r) {
  Context::Impl::Misses& misses = r.context.misses;
  const GemmProblem problem = problem_to_tune(r.problem);
  std::lock_guard lock(misses.mutex);
  // Once for each problem, though a record may not be exact afterwards: its config can be illegal for the
  // leading dimensions of this call.
  const std::string name = to_string(problem);
  if (misses.tuned.contains(name)) return;
  misses.tuner({problem, to_string(r.context.isa), r.context.own_wisdom, r.options.tune_on_miss.budget_s});
  misses.tuned.insert(name);
  r.context.forget_host_plans();  // those made before know nothing of it
}

}  // namespace tilewright
