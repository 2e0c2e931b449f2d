// Loading the kernels of a plan, and filling in what a launch passes.
#include "gemm/run/small_kernels.hpp"

#include <algorithm>
#include <optional>

#include "gemm/operand.hpp"

namespace tilewright {
namespace {

// Stages of a kernel hold matrices of its largest sizes: problems of sizes up to this get a launch of their
// own, which keeps more of them in flight.
constexpr std::int64_t small_class = 32;

void check_form(const char* name, bool varies, std::int64_t stride) {
  if (varies == (stride != 0)) return;
  throw Error(ErrorCode::invalid_argument, name,
              varies ? fmt::format("{} is one value, but the plan was made for a value per problem "
                                   "(options.{}_varies)",
                                   name, name)
                     : fmt::format("{} holds a value per problem, but the plan was made for one value "
                                   "(options.{}_varies)",
                                   name, name));
}

}  // namespace

GemmSmallKernelSet::GemmSmallKernelSet(const GemmProblem& problem, const GpuMachine& machine,
                                       const GemmSmallConfig& config, int align_bytes,
                                       const PlanRequest& request)
    : problem_(problem),
      gpu_(&machine.gpu()),
      alpha_varies_(request.options.alpha_varies),
      beta_varies_(request.options.beta_varies) {
  const GpuLimits& limits = machine.gpu().limits();
  if (problem.layout == Layout::variable && std::max({problem.m, problem.n, problem.k}) > small_class) {
    GemmProblem small = problem;
    small.m = std::min(small.m, small_class);
    small.n = std::min(small.n, small_class);
    small.k = std::min(small.k, small_class);
    const auto shape = gemm_small_shape(small, align_bytes, scalars_vary());
    add(small, machine, gemm_small_default(shape, small.dtype, limits, small.batch_count), align_bytes,
        request.may_compile);
    launches_.back().last = false;
  }
  add(problem, machine, config, align_bytes, request.may_compile);
  if (launches_.size() > 1) launches_.back().above = int(small_class);
  if (alpha_varies_ != beta_varies_) repeated_ = std::make_unique<GpuWorkspace>(machine.gpu());
  if (repeated_ != nullptr) repeated_->reserve(repeated_bytes(), 0);
}

void GemmSmallKernelSet::add(const GemmProblem& problem, const GpuMachine& machine,
                             const GemmSmallConfig& config, int align_bytes, bool may_compile) {
  const GpuLimits& limits = machine.gpu().limits();
  Launch launch;
  launch.shape = gemm_small_shape(problem, align_bytes, scalars_vary());
  launch.kernel = machine.gemm_small(launch.shape, config, problem.dtype, may_compile);
  launch.geometry = launch.kernel->geometry(problem.batch_count);
  if (problem.beta == Scalar::general && !scalars_vary()) {  // which else look at each beta
    GemmSmallShape shape = launch.shape;
    shape.reads_c = false;
    // The config may not be legal where C is not read, though it seldom is not.
    GemmSmallConfig same = config;
    same.c_direct = false;
    const bool legal = gemm_small_space(shape, problem.dtype, limits).contains(same);
    launch.beta_zero = machine.gemm_small(
        shape, legal ? same : gemm_small_default(shape, problem.dtype, limits, problem.batch_count),
        problem.dtype, may_compile);
    launch.beta_zero_geometry = launch.beta_zero->geometry(problem.batch_count);
  }
  launches_.push_back(std::move(launch));
}

void GemmSmallKernelSet::check_values(const Operands& o) const {
  check_form("alpha", alpha_varies_, o.alpha_stride);
  check_form("beta", beta_varies_, o.beta_stride);
}

void GemmSmallKernelSet::launch(const Operands& o) const {
  GemmSmallOperands operands = gemm_small_operands(problem_, o, scalars_vary());
  if (!scalars_vary()) return queue(o, operands);
  std::optional<GpuWorkspace::Loan> loan;
  if (repeated_ != nullptr) {
    loan.emplace(*repeated_, repeated_bytes(), 0, stream_of(o));
    gpu_->fill(loan->scratch(), alpha_varies_ ? o.beta : o.alpha, std::size_t(size_bytes(problem_.dtype)),
               problem_.batch_count, stream_of(o));
    (alpha_varies_ ? operands.betas : operands.alphas) = loan->scratch();
  }
  queue(o, operands);
}

void GemmSmallKernelSet::queue(const Operands& o, const GemmSmallOperands& prepared) const {
  GemmSmallOperands operands = prepared;
  if (operands.count == 0) return;
  const bool as_planned = operands.count == problem_.batch_count;
  const auto launch = [&](const GemmSmallKernel& kernel, const GpuLaunch& planned) {
    kernel.launch(operands, as_planned ? planned : kernel.geometry(operands.count), stream_of(o));
  };
  for (const Launch& one : launches_) {
    operands.sizes.above = one.above;
    operands.sizes.last = one.last;
    if (one.beta_zero != nullptr && is_zero(problem_, problem_.beta, o.beta))
      launch(*one.beta_zero, one.beta_zero_geometry);
    else
      launch(*one.kernel, one.geometry);
  }
}

}  // namespace tilewright
