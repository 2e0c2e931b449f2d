// gpu_large: the stencil for large products of operands on a GPU: single ones, and batches, of which large
// strided ones are launched problem by problem.
#include <algorithm>
#include <optional>

#include "core/quantity.hpp"
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/run/device.hpp"

namespace tilewright {
namespace {

// Returns the shape of kernels for `problem`: the request's problem, or the same with another beta.
GemmLargeShape large_shape(const GemmProblem& problem, const PlanRequest& r) {
  return gemm_large_shape(problem, gemm_large_alignment(problem, align_bytes(r)), r.options.math_mode,
                          r.vary);
}

// C = alpha op(A) op(B) + beta C, for every beta of the problem's class.
class LargeKernels {
 public:
  // `config` is legal for the request's problem.
  LargeKernels(const PlanRequest& r, const GpuMachine& machine, const GemmLargeConfig& config)
      : problem_(r.problem), vary_(r.vary), workspace_(machine.workspace()) {
    const GemmLargeShape shape = large_shape(problem_, r);
    kernel_ = machine.gemm_large(shape, config, problem_.dtype, r.may_compile);
    // Kernels of problems with values of their own test each beta.
    if (problem_.beta == Scalar::general && !is_seen_on_device(r))
      beta_zero_ = overwriting(r, machine, config);
    for (const auto& kernel : {kernel_, beta_zero_})
      if (kernel != nullptr) add_needs(kernel->needs(problem_));
    if (shares_tiles()) workspace_.reserve(scratch_bytes_, zero_bytes_);
  }

  void launch(const Operands& o) const {
    const bool overwrites = beta_zero_ != nullptr && is_zero(problem_, problem_.beta, o.beta);
    const GemmLargeKernel& kernel = overwrites ? *beta_zero_ : *kernel_;
    GemmLargeOperands operands;
    (vary_.alpha ? operands.alphas : operands.alpha) = o.alpha;
    (vary_.beta ? operands.betas : operands.beta) = overwrites ? nullptr : o.beta;
    std::optional<GpuWorkspace::Loan> loan;
    if (shares_tiles()) {
      loan.emplace(workspace_, scratch_bytes_, zero_bytes_, stream_of(o));
      operands.workspace = loan->scratch();
      operands.counters = loan->zeros();
    }
    operands.a = o.a;
    operands.b = o.b;
    operands.c = o.c;
    operands.sizes = o.sizes;
    operands.info = o.info, operands.info_step = o.info_step;
    kernel.launch(problem_, operands, stream_of(o));
  }
  const GemmLargeKernel& kernel() const { return *kernel_; }

 private:
  // Returns the kernel for beta = 0. A config that reads C may be illegal for it; then the default serves.
  std::shared_ptr<const GemmLargeKernel> overwriting(const PlanRequest& r, const GpuMachine& machine,
                                                     const GemmLargeConfig& config) const {
    GemmProblem p = problem_;
    p.beta = Scalar::zero;
    const GemmLargeShape shape = large_shape(p, r);
    const GemmLargeDevice& device = machine.large(r.context.wisdom());
    const bool legal = gemm_large_space(p, shape, device).contains(config);
    return machine.gemm_large(shape, legal ? config : gemm_large_default(p, shape, device), p.dtype,
                              r.may_compile);
  }
  void add_needs(const GemmLargeLaunch& needs) {
    scratch_bytes_ = std::max(scratch_bytes_, static_cast<std::size_t>(needs.workspace_bytes));
    zero_bytes_ = std::max(zero_bytes_, static_cast<std::size_t>(needs.counter_count) * sizeof(unsigned));
  }
  bool shares_tiles() const { return scratch_bytes_ + zero_bytes_ > 0; }

  GemmProblem problem_;
  ScalarsVary vary_;
  GpuWorkspace& workspace_;
  std::shared_ptr<const GemmLargeKernel> kernel_, beta_zero_;
  std::size_t scratch_bytes_ = 0, zero_bytes_ = 0;
};

class LargeRunner : public DeviceRunner {
 public:
  LargeRunner(const PlanRequest& r, const std::shared_ptr<const GpuMachine>& machine,
              const GemmLargeConfig& config)
      : DeviceRunner(r, machine, align_bytes(r)),
        vary_(r.vary),
        seen_on_device_(is_seen_on_device(r)),
        kernels_(r, *machine, config) {}

  bool reports() const override { return seen_on_device_; }
  void check(const Operands& o) const override {
    if (!seen_on_device_) return DeviceRunner::check(o);
    check_forms(vary_, o);
    check_addresses(o, true);
  }
  void run(const Operands& o) const override { kernels_.launch(o); }

  nlohmann::json config() const override { return to_json(kernels_.kernel().config()); }
  std::string kernel() const override {
    const GemmLargeKernel& kernel = kernels_.kernel();
    const GemmLargeLaunch needs = kernel.needs(problem());
    return fmt::format(
        "{} registers, {} bytes of shared memory, {} blocks of {} threads, {} on a multiprocessor, "
        "{} bytes of workspace",
        kernel.function().registers(), needs.launch.shared_bytes, needs.launch.blocks, needs.launch.threads,
        kernel.blocks_per_multiprocessor(), needs.workspace_bytes);
  }
  nlohmann::json metrics() const override {
    const GemmLargeKernel& kernel = kernels_.kernel();
    const GpuLimits& limits = machine().gpu().limits();
    const GemmLargeCost cost = gemm_large_cost(problem(), kernel.shape(), kernel.config(), limits);
    nlohmann::json cycles = to_json(cost);
    cycles["total"] = cost.cycles();
    return {{"registers", kernel.function().registers()},
            {"spilled_bytes", kernel.function().local_bytes()},
            {"shared_bytes", kernel.needs(problem()).launch.shared_bytes},
            {"blocks_per_multiprocessor", kernel.blocks_per_multiprocessor()},
            {"occupancy", double(kernel.blocks_per_multiprocessor()) * gemm_large_threads(kernel.config()) /
                              limits.threads_per_multiprocessor},
            {"workspace_bytes", kernel.needs(problem()).workspace_bytes},
            {"predicted_cycles", cycles}};
  }
  std::string prediction(double least_s) const override {
    const GpuLimits& limits = machine().gpu().limits();
    const double cycles = predicted_cycles(), seconds = cycles / (1e3 * limits.clock_khz);
    if (seconds < least_s)
      return fmt::format("{}, what this GPU's ceilings allow at best; the cost model has {}",
                         seconds_text(least_s), seconds_text(seconds));
    return fmt::format("{} at {} MHz, its highest clock: {:.3g} cycles of each multiprocessor (cost model)",
                       seconds_text(seconds), limits.clock_khz / 1000, cycles);
  }
  std::optional<double> predicted_s(double least_s) const override {
    return std::max(least_s, predicted_cycles() / (1e3 * machine().gpu().limits().clock_khz));
  }

 private:
  double predicted_cycles() const {
    const GemmLargeKernel& kernel = kernels_.kernel();
    return gemm_large_cost(problem(), kernel.shape(), kernel.config(), machine().gpu().limits()).cycles() *
           static_cast<double>(problem().batch_count) /
           static_cast<double>(gemm_large_problems(problem(), kernel.shape()));
  }

  ScalarsVary vary_;
  bool seen_on_device_;
  LargeKernels kernels_;
};

// Returns why large kernels do not compute a problem with values on the device that are seen there alone.
std::string why_not_listed(const PlanRequest& r) {
  const GemmProblem& p = r.problem;
  if (!has_elements_of_c(p)) return "there is no product to compute";
  const std::int64_t largest = std::max({p.m, p.n, p.k});
  if (p.layout == Layout::variable && largest > gemm_large_batch_limit)
    return fmt::format("size {} exceeds the limit of {} in the layout {}", largest, gemm_large_batch_limit,
                       to_string(p.layout));
  return "";
}

std::string large_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const Layout layout = r.problem.layout;
  if (layout == Layout::grouped || is_interleaved(layout))
    return fmt::format("supports single matrices, strided, pointer and variable batches, not the layout {}",
                       to_string(layout));
  if (auto reason = is_seen_on_device(r) ? why_not_listed(r) : why_no_product(r); !reason.empty())
    return reason;
  return why_no_machine(r);
}

std::optional<GemmLargeForecast> own_forecast(const PlanRequest& r, const GemmLargeShape& shape,
                                              const GemmLargeConfig& config, const GpuLimits& limits) {
  if (shape.batch == GemmLargeBatch::listed) return std::nullopt;  // of which nothing was measured
  if (shape.batch != GemmLargeBatch::none) {
    const auto model = large_batch_model(r, limits);
    return model ? forecast_own_batch(*model, r.problem, shape, config, limits) : std::nullopt;
  }
  const auto model = large_forecast_model(r, limits);
  return model ? forecast_own(*model, r.problem, shape, config, limits) : std::nullopt;
}

GemmOffers large_offers(const PlanRequest& r) {
  const auto machine = machine_of(r);
  const GemmLargeShape shape = large_shape(r.problem, r);
  // Called before any record is offered: another thread may ask for the models and wait for wisdom.
  const GemmLargeDevice& device = machine->large(r.context.wisdom());
  const auto space = [&r, &device, shape] {
    return r.options.config.empty() ? gemm_large_accurate_space(r.problem, shape, device)
                                    : gemm_large_space(r.problem, shape, device);
  };
  const auto rules_of_thumb = [&r, &device, shape] { return gemm_large_defaults(r.problem, shape, device); };
  auto family = device_family<GemmLargeConfig>("gemm", *machine, space, rules_of_thumb);
  family.first_rule = [&r, &device, machine, shape] {
    return r.shares_configs ? machine->large_near().find(r.problem, shape, device)
                            : gemm_large_default(r.problem, shape, device);
  };
  family.cost = [&r, machine, shape](const GemmLargeConfig& config) {
    return gemm_large_cost(r.problem, shape, config, machine->gpu().limits()).cycles();
  };
  family.forecast = [&r, machine, shape](const GemmLargeConfig& config, CostEstimate& offer) {
    if (const auto forecast = own_forecast(r, shape, config, machine->gpu().limits()))
      offer.seconds = forecast->seconds, offer.error = forecast->error;
  };
  return config_offers(r, std::move(family), [&r, machine](const GemmLargeConfig& config) {
    return GemmMade{std::make_shared<const LargeRunner>(r, machine, config)};
  });
}

}  // namespace

constinit const GemmCandidate gpu_large_candidate{"gpu_large", Tier::large, large_declines, large_offers};

}  // namespace tilewright
