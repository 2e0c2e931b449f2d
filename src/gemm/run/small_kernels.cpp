// Loads the kernels of a plan and fills in the arguments of launches; the candidate scale on a GPU.
#include "gemm/run/small_kernels.hpp"

#include <algorithm>

#include "core/refuse.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

// A kernel's stages hold its largest matrices: smaller ones get a launch with more in flight.
constexpr std::int64_t small_class = 32;

// Returns kernels that find null pointers if beta = 1: they multiply one real number of each C by 1, which
// also preserves infinities of complex types. Empty without such a kernel: the call itself needs none.
std::optional<GemmSmallKernelSet> null_finder(const PlanRequest& r, const GpuMachine& machine,
                                              std::string& not_compiled) {
  GemmProblem p;
  p.dtype = is_complex(r.problem.dtype) ? (r.problem.dtype == DType::c64 ? DType::f32 : DType::f64)
                                        : r.problem.dtype;
  p.location = Location::device;
  p.layout = Layout::pointer;
  p.m = p.n = p.k = 1;
  p.batch_count = r.problem.batch_count;
  p.alpha = Scalar::zero, p.beta = Scalar::one;
  p = packed(p);
  const int align = static_cast<int>(size_bytes(p.dtype));
  const auto config =
      gemm_small_default(gemm_small_shape(p, align), p.dtype, machine.gpu().limits(), p.batch_count);
  try {
    return GemmSmallKernelSet(p, machine, config, align, r);
  } catch (const NotCompiled& error) {
    not_compiled = error.what();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  return std::nullopt;
}

class DeviceScaleRunner : public DeviceRunner {
 public:
  // `not_compiled` receives the reason if no_jit prevents a kernel.
  DeviceScaleRunner(const PlanRequest& r, const std::shared_ptr<const GpuMachine>& machine,
                    std::string& not_compiled)
      : DeviceRunner(r, machine, static_cast<int>(size_bytes(r.problem.dtype))), scaling_(r, machine) {
    if (has_pointers(r.problem) && has_elements_of_c(r.problem) && !scaling_.reports())
      null_finder_ = null_finder(r, *machine, not_compiled);
  }

  bool reports() const override { return scaling_.reports() || null_finder_; }
  void check(const Operands& o) const override {
    refuse_values(o);
    check_addresses(o, false);
  }
  void run(const Operands& o) const override {
    scaling_.run(o);
    if (null_finder_ && o.info != nullptr) null_finder_->launch(o);
  }

 private:
  DeviceScaling scaling_;
  std::optional<GemmSmallKernelSet> null_finder_;
};

GemmMade make_device_scale(const PlanRequest& r) {
  GemmMade made;
  made.runner = std::make_shared<const DeviceScaleRunner>(r, machine_of(r), made.reason);
  if (!made.reason.empty()) made.refusal = Refusal::not_compiled;
  return made;
}

}  // namespace

GemmSmallKernelSet::GemmSmallKernelSet(const GemmProblem& problem, const GpuMachine& machine,
                                       const GemmSmallConfig& config, int align_bytes,
                                       const PlanRequest& request)
    : problem_(problem),
      gpu_(&machine.gpu()),
      alpha_varies_(request.vary.alpha),
      beta_varies_(request.vary.beta) {
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
  if (problem.beta == Scalar::general && !scalars_vary()) {  // varying ones test each beta
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
  check_forms({alpha_varies_, beta_varies_}, o);
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

std::string why_no_layout(Layout layout) {
  if (layout != Layout::grouped) return "";
  return fmt::format("layout = {} cannot be planned as a whole: call gemm_grouped, which plans each group",
                     to_string(layout));
}

DeviceScaling::DeviceScaling(const PlanRequest& r, std::shared_ptr<const GpuMachine> machine)
    : problem_(r.problem), machine_(std::move(machine)) {
  does_nothing_ = problem_.beta == Scalar::one || !has_elements_of_c(problem_);
  if (does_nothing_) return;
  if (problem_.layout != Layout::single && problem_.layout != Layout::strided) {
    GemmProblem p = problem_;
    p.alpha = Scalar::zero;
    const int align = align_bytes(r);
    const auto config =
        gemm_small_default(gemm_small_shape(p, align), p.dtype, machine_->gpu().limits(), p.batch_count);
    small_.emplace(p, *machine_, config, align, r);
    return;
  }
  zero_ = machine_->scale(gpu_scale_kind(problem_, true), r.may_compile);
  if (problem_.beta == Scalar::general)
    general_ = machine_->scale(gpu_scale_kind(problem_, false), r.may_compile);
}

void DeviceScaling::run(const Operands& o) const {
  if (does_nothing_) return;
  if (small_) return small_->launch(o);
  const bool zero = is_zero(problem_, problem_.beta, o.beta);
  (zero ? *zero_ : *general_).launch(problem_, o.c, o.beta, stream_of(o));
}

std::string device_scale_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (auto reason = why_no_layout(p.layout); !reason.empty()) return reason;
  if (is_seen_on_device(r) && has_elements_of_c(p)) return "only the device knows which products to compute";
  const bool any_size = p.layout == Layout::single || p.layout == Layout::strided || !has_elements_of_c(p);
  const std::int64_t largest = std::max(p.m, p.n), limit = gemm_small_largest(p);
  if (!any_size && largest > limit)
    return fmt::format("size {} exceeds the limit of {} in the layout {}", largest, limit,
                       to_string(p.layout));
  return why_no_machine(r);
}

GemmOffers device_scale_offers(const PlanRequest& r) {
  GemmOffer offer;
  offer.make = [&r] { return make_device_scale(r); };
  return one_offer(std::move(offer));
}

}  // namespace tilewright
