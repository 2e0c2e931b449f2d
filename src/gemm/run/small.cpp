// Declining, choosing a config and loading kernels for operands on a GPU, and the call itself.
#include "gemm/run/small.hpp"

#include <algorithm>
#include <optional>

#include "gemm/device_machine.hpp"
#include "gemm/device_operands.hpp"
#include "gemm/operand.hpp"
#include "gemm/run/device_request.hpp"
#include "gemm/run/small_kernels.hpp"

namespace tilewright {
namespace {

std::string no_gpu_kernel(Layout layout) {
  return fmt::format("layout = {} has no plan: gemm_grouped makes one for each group", to_string(layout));
}

// Values and sizes that only the device knows of, among which there may be zeros.
bool is_seen_on_device(const PlanRequest& r) {
  return r.options.alpha_varies || r.options.beta_varies || r.problem.layout == Layout::variable;
}
bool has_elements(const GemmProblem& p) { return std::min({p.m, p.n, p.batch_count}) > 0; }

// C = beta C for whichever beta a call of the problem's class may bring: sizes of any kind at one distance,
// small ones in every layout.
class Scaling {
 public:
  Scaling(const PlanRequest& r, std::shared_ptr<const GpuMachine> machine)
      : problem_(r.problem), machine_(std::move(machine)) {
    does_nothing_ = problem_.beta == Scalar::one || problem_.m * problem_.n * problem_.batch_count == 0;
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

  // Whether null pointers of C are found, for whichever beta a call brings.
  bool reports() const { return small_.has_value(); }

  void run(const Operands& o) const {
    if (does_nothing_) return;
    if (small_) return small_->launch(o);
    const bool zero = is_zero(problem_, problem_.beta, o.beta);
    (zero ? *zero_ : *general_).launch(problem_, o.c, o.beta, stream_of(o));
  }

 private:
  GemmProblem problem_;
  std::shared_ptr<const GpuMachine> machine_;
  bool does_nothing_ = false;
  std::shared_ptr<const GpuScale> zero_, general_;
  std::optional<GemmSmallKernelSet> small_;
};

// Finds null pointers where nothing is left to compute (beta = 1): multiplies one real number of each C by 1,
// because that leaves infinities what they are in complex types too. Empty where no such kernel can be had:
// the call itself needs none.
std::optional<GemmSmallKernelSet> null_finder(const PlanRequest& r, const GpuMachine& machine,
                                              std::string& passed_over) {
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
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    if (error.argument() == "no_jit") passed_over = error.what();
    return std::nullopt;
  }
}

class ScaleRunner : public GpuRunner {
 public:
  // `passed_over` receives what no_jit kept from it.
  ScaleRunner(const PlanRequest& r, std::shared_ptr<const GpuMachine> machine, std::string& passed_over)
      : machine_(machine),
        check_(r.problem, static_cast<int>(size_bytes(r.problem.dtype)),
               r.options.checked ? &machine->gpu() : nullptr),
        scaling_(r, machine) {
    if (has_pointers(r.problem) && has_elements(r.problem) && !scaling_.reports())
      null_finder_ = null_finder(r, *machine, passed_over);
  }

  bool reports() const override { return scaling_.reports() || null_finder_; }
  void check(const Operands& o) const override {
    refuse_values(o);
    check_.check(o, false);
  }
  void queue(const Operands& o) const override {
    scaling_.run(o);
    if (null_finder_ && o.info != nullptr) null_finder_->launch(o);
  }
  std::string device() const override { return machine_->gpu().limits().name; }
  nlohmann::json config() const override { return nullptr; }
  std::string kernel() const override { return ""; }

 private:
  std::shared_ptr<const GpuMachine> machine_;
  GpuOperandCheck check_;
  Scaling scaling_;
  std::optional<GemmSmallKernelSet> null_finder_;
};

class SmallRunner : public GpuRunner {
 public:
  // Kernels for every value of alpha and beta that the problem's classes allow.
  SmallRunner(const PlanRequest& r, std::shared_ptr<const GpuMachine> machine, const GemmSmallConfig& config)
      : problem_(r.problem),
        machine_(std::move(machine)),
        align_bytes_(align_bytes(r)),
        check_(problem_, align_bytes_, r.options.checked ? &machine_->gpu() : nullptr),
        kernels_(problem_, *machine_, config, align_bytes_, r) {
    if (problem_.alpha == Scalar::general && !is_seen_on_device(r))
      scaling_ = std::make_unique<const Scaling>(r, machine_);
  }

  bool reports() const override { return true; }
  void check(const Operands& o) const override {
    kernels_.check_values(o);
    check_.check(o, reads_ab(o));
  }
  void queue(const Operands& o) const override {
    if (reads_ab(o))
      kernels_.launch(o);
    else
      scaling_->run(o);
  }

  std::string device() const override { return machine_->gpu().limits().name; }
  nlohmann::json config() const override { return to_json(kernels_.kernel().config()); }
  std::string kernel() const override {
    const GemmSmallKernel& kernel = kernels_.kernel();
    return fmt::format(
        "{} registers, {} bytes spilled, {} bytes of shared memory, {} blocks on a multiprocessor",
        kernel.function().registers(), kernel.function().local_bytes(), kernel.shared_bytes(),
        kernel.blocks_per_multiprocessor());
  }
  std::string prediction() const override {
    const GemmSmallShape& shape = kernels_.shape();
    const GemmSmallConfig& config = kernels_.kernel().config();
    const double share =
        gemm_small_forecast(shape, config, problem_.dtype, machine_->gpu().limits(),
                            gemm_small_cost(shape, config, problem_.dtype), problem_.batch_count);
    return fmt::format("{:.0f} % of what memory allows (cost model)", 100 * share);
  }

 private:
  bool reads_ab(const Operands& o) const {
    return scaling_ == nullptr || !is_zero(problem_, problem_.alpha, o.alpha);
  }

  GemmProblem problem_;
  std::shared_ptr<const GpuMachine> machine_;
  int align_bytes_;
  GpuOperandCheck check_;
  GemmSmallKernelSet kernels_;
  std::unique_ptr<const Scaling> scaling_;
};

// Records are mostly of batches that fill the device. For one that does not, other blocks are right, and
// where nobody has measured those, the cost model says whether the recorded config still does.
void refuse_for_few(const PlanRequest& r, const GemmSmallShape& shape, const GemmSmallConfig& config,
                    const GpuLimits& limits) {
  constexpr double much_better = 1.2;
  const GemmProblem& p = r.problem;
  const auto forecast = [&](const GemmSmallConfig& c) {
    return gemm_small_forecast(shape, c, p.dtype, limits, gemm_small_cost(shape, c, p.dtype), p.batch_count);
  };
  const auto problems = std::int64_t(config.matrices_per_block) * limits.multiprocessors;
  if (!r.options.config.empty() || p.batch_count >= problems) return;
  if (forecast(gemm_small_default(shape, p.dtype, limits, p.batch_count)) > much_better * forecast(config))
    throw Error(ErrorCode::unsupported, "batch_count",
                fmt::format("{} problems leave most of the device idle with {} in a block", p.batch_count,
                            config.matrices_per_block));
}

}  // namespace

std::string gpu_small_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (p.layout == Layout::grouped) return no_gpu_kernel(p.layout);
  const std::int64_t largest = std::max({p.m, p.n, p.k});
  if (largest > gemm_small_limit)
    return fmt::format("a size of {} is above the limit of {}", largest, gemm_small_limit);
  const bool scales_only = (p.k == 0 || p.alpha == Scalar::zero) && !is_seen_on_device(r);
  if (!has_elements(p) || scales_only) return "no product is formed";
  return why_no_machine(r);
}

void prepare_gpu_small(const PlanRequest& r, GemmPlan::Impl& plan) {
  auto machine = r.context.gpus->open(r.options.device);
  const GemmSmallShape shape =
      gemm_small_shape(r.problem, align_bytes(r), r.options.alpha_varies || r.options.beta_varies);
  const GpuLimits& limits = machine->gpu().limits();
  const DeviceFamily family{
      "gemm_small", [&] { return gemm_small_space(shape, r.problem.dtype, limits); },
      [&] { return std::vector{gemm_small_default(shape, r.problem.dtype, limits, r.problem.batch_count)}; }};
  plan_with_first<GemmSmallConfig>(r, family, limits, plan, [&](const GemmSmallConfig& config) {
    refuse_for_few(r, shape, config, limits);
    return std::make_shared<const SmallRunner>(r, machine, config);
  });
}

std::string gpu_scale_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (p.layout == Layout::grouped) return no_gpu_kernel(p.layout);
  if (is_seen_on_device(r) && has_elements(p)) return "which products are formed is seen on the device";
  const bool any_size = p.layout == Layout::single || p.layout == Layout::strided || !has_elements(p);
  if (const std::int64_t largest = std::max(p.m, p.n); !any_size && largest > gemm_small_limit)
    return fmt::format("a size of {} is above the limit of {} in the layout {}", largest, gemm_small_limit,
                       to_string(p.layout));
  return why_no_machine(r);
}

void prepare_gpu_scale(const PlanRequest& r, GemmPlan::Impl& plan) {
  plan.gpu = std::make_shared<const ScaleRunner>(r, r.context.gpus->open(r.options.device), plan.passed_over);
}

}  // namespace tilewright
