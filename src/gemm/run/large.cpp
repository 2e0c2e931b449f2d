// Large products of operands on a GPU: our stencil and the vendor's library, as two candidates of one list.
// Which of them goes first is run/large_choice.hpp's.
#include <algorithm>
#include <optional>

#include "gemm/device_machine.hpp"
#include "gemm/device_operands.hpp"
#include "gemm/run/device_request.hpp"
#include "gemm/run/large_choice.hpp"
#include "gemm/run/small.hpp"

namespace tilewright {
namespace {

// C = alpha op(A) op(B) + beta C of one matrix at a time, for whichever beta a call of its class may bring.
class LargeKernels {
 public:
  // `config` is legal for the request's problem.
  LargeKernels(const PlanRequest& r, const GpuMachine& machine, const GemmLargeConfig& config)
      : problem_(r.problem), workspace_(machine.workspace()) {
    const GemmLargeShape shape = gpu_large_shape(problem_, r);
    kernel_ = machine.gemm_large(shape, config, problem_.dtype, r.may_compile);
    if (problem_.beta == Scalar::general) beta_zero_ = overwriting(r, machine, config);
    for (const auto& kernel : {kernel_, beta_zero_})
      if (kernel != nullptr) add_needs(kernel->needs(problem_));
    if (shares_tiles()) workspace_.reserve(scratch_bytes_, zero_bytes_);
  }

  void launch(const Operands& o) const {
    const bool overwrites = beta_zero_ != nullptr && is_zero(problem_, problem_.beta, o.beta);
    const GemmLargeKernel& kernel = overwrites ? *beta_zero_ : *kernel_;
    GemmLargeOperands operands;
    operands.alpha = o.alpha;
    operands.beta = overwrites ? nullptr : o.beta;
    std::optional<GpuWorkspace::Loan> loan;
    if (shares_tiles()) {
      loan.emplace(workspace_, scratch_bytes_, zero_bytes_, stream_of(o));
      operands.workspace = loan->scratch();
      operands.counters = loan->zeros();
    }
    const std::int64_t size = size_bytes(problem_.dtype);
    for (std::int64_t q = 0; q < problem_.batch_count; ++q) {
      operands.a = static_cast<const char*>(o.a) + q * problem_.stride_a * size;
      operands.b = static_cast<const char*>(o.b) + q * problem_.stride_b * size;
      operands.c = static_cast<char*>(o.c) + q * problem_.stride_c * size;
      kernel.launch(problem_, operands, stream_of(o));
    }
  }
  const GemmLargeKernel& kernel() const { return *kernel_; }

 private:
  // The kernel for beta = 0, whose config may have to be another: what reads C need not be legal without.
  std::shared_ptr<const GemmLargeKernel> overwriting(const PlanRequest& r, const GpuMachine& machine,
                                                     const GemmLargeConfig& config) const {
    GemmProblem p = problem_;
    p.beta = Scalar::zero;
    const GemmLargeShape shape = gpu_large_shape(p, r);
    const GpuLimits& limits = machine.gpu().limits();
    const bool legal = gemm_large_space(p, shape, limits).contains(config);
    return machine.gemm_large(shape, legal ? config : gemm_large_default(p, shape, limits), p.dtype,
                              r.may_compile);
  }
  void add_needs(const GemmLargeLaunch& needs) {
    scratch_bytes_ = std::max(scratch_bytes_, static_cast<std::size_t>(needs.workspace_bytes));
    zero_bytes_ = std::max(zero_bytes_, static_cast<std::size_t>(needs.counter_count) * sizeof(unsigned));
  }
  bool shares_tiles() const { return scratch_bytes_ + zero_bytes_ > 0; }

  GemmProblem problem_;
  GpuWorkspace& workspace_;
  std::shared_ptr<const GemmLargeKernel> kernel_, beta_zero_;
  std::size_t scratch_bytes_ = 0, zero_bytes_ = 0;
};

class LargeRunner : public GpuRunner {
 public:
  LargeRunner(const PlanRequest& r, std::shared_ptr<const GpuMachine> machine, const GemmLargeConfig& config)
      : problem_(r.problem),
        machine_(std::move(machine)),
        check_(problem_, align_bytes(r), r.options.checked ? &machine_->gpu() : nullptr),
        kernels_(r, *machine_, config) {}

  void check(const Operands& o) const override {
    refuse_values(o);
    check_.check(o, !is_zero(problem_, problem_.alpha, o.alpha));
  }
  void queue(const Operands& o) const override { kernels_.launch(o); }

  std::string device() const override { return machine_->gpu().limits().name; }
  nlohmann::json config() const override { return to_json(kernels_.kernel().config()); }
  std::string kernel() const override {
    const GemmLargeKernel& kernel = kernels_.kernel();
    const GemmLargeLaunch needs = kernel.needs(problem_);
    return fmt::format(
        "{} registers, {} bytes of shared memory, {} blocks of {} threads, {} on a multiprocessor, "
        "{} bytes of workspace",
        kernel.function().registers(), needs.launch.shared_bytes, needs.launch.blocks, needs.launch.threads,
        kernel.blocks_per_multiprocessor(), needs.workspace_bytes);
  }
  nlohmann::json metrics() const override {
    const GemmLargeKernel& kernel = kernels_.kernel();
    const GpuLimits& limits = machine_->gpu().limits();
    const GemmLargeCost cost = gemm_large_cost(problem_, kernel.shape(), kernel.config(), limits);
    return {{"registers", kernel.function().registers()},
            {"spilled_bytes", kernel.function().local_bytes()},
            {"shared_bytes", kernel.needs(problem_).launch.shared_bytes},
            {"blocks_per_multiprocessor", kernel.blocks_per_multiprocessor()},
            {"occupancy", double(kernel.blocks_per_multiprocessor()) * gemm_large_threads(kernel.config()) /
                              limits.threads_per_multiprocessor},
            {"workspace_bytes", kernel.needs(problem_).workspace_bytes},
            {"predicted_cycles",
             {{"multiply", cost.multiply},
              {"issue", cost.issue},
              {"shared", cost.shared},
              {"l2", cost.l2},
              {"memory", cost.memory},
              {"fixed", cost.fixed},
              {"total", cost.cycles()}}}};
  }
  std::string prediction() const override {
    const GemmLargeKernel& kernel = kernels_.kernel();
    const GpuLimits& limits = machine_->gpu().limits();
    const double cycles = gemm_large_cost(problem_, kernel.shape(), kernel.config(), limits).cycles() *
                          static_cast<double>(problem_.batch_count);
    return fmt::format(
        "{:.3g} us at {} MHz, its highest clock: {:.3g} cycles of each multiprocessor (cost model)",
        cycles / limits.clock_khz * 1e3, limits.clock_khz / 1000, cycles);
  }

 private:
  GemmProblem problem_;
  std::shared_ptr<const GpuMachine> machine_;
  GpuOperandCheck check_;
  LargeKernels kernels_;
};

class BlasRunner : public GpuRunner {
 public:
  BlasRunner(const PlanRequest& r, std::shared_ptr<const GpuMachine> machine)
      : problem_(r.problem),
        machine_(std::move(machine)),
        blas_(machine_->blas()),
        check_(problem_, align_bytes(r), r.options.checked ? &machine_->gpu() : nullptr) {}

  void check(const Operands& o) const override {
    refuse_values(o);
    check_.check(o, !is_zero(problem_, problem_.alpha, o.alpha));
  }
  void queue(const Operands& o) const override {
    const Gpu::Current current(machine_->gpu());
    blas_->on(stream_of(o))->multiply(problem_, o);
  }

  std::string device() const override { return machine_->gpu().limits().name; }
  nlohmann::json config() const override { return {{"version", blas_->version()}}; }
  std::string kernel() const override { return "the library's own choice"; }

 private:
  GemmProblem problem_;
  std::shared_ptr<const GpuMachine> machine_;
  std::shared_ptr<GpuMachine::Blas> blas_;
  GpuOperandCheck check_;
};

std::string why_no_product(const PlanRequest& r) {
  const GemmProblem& p = r.problem;
  if (r.options.alpha_varies || r.options.beta_varies)
    return "it takes one alpha and one beta for all problems";
  if (std::min({p.m, p.n, p.k, p.batch_count}) == 0 || p.alpha == Scalar::zero) return "no product is formed";
  return "";
}

// Asked for every plan, so it sets no handle up, which takes time and device memory; only where that failed
// it is tried again, which is the only way to know.
std::string why_no_blas(const PlanRequest& r) {
  if (!GpuBlas::is_there()) return "cuBLAS was not found";
  const auto machine = r.context.gpus->open(r.options.device);
  if (!machine->blas_failed()) return "";
  try {
    machine->blas();
    return "";
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return error.what();
  }
}

}  // namespace

std::string gpu_large_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (p.layout != Layout::single && p.layout != Layout::strided)
    return fmt::format("it takes single matrices and strided batches, not the layout {}",
                       to_string(p.layout));
  if (auto reason = why_no_product(r); !reason.empty()) return reason;
  if (auto reason = why_no_machine(r); !reason.empty()) return reason;
  return why_cublas_first(r);
}

void prepare_gpu_large(const PlanRequest& r, GemmPlan::Impl& plan) {
  auto machine = r.context.gpus->open(r.options.device);
  const GemmLargeShape shape = gpu_large_shape(r.problem, r);
  const GpuLimits& limits = machine->gpu().limits();
  const bool asked_for = !r.options.candidate.empty() || !r.options.config.empty();
  const auto rules_of_thumb = [&]() -> std::vector<GemmLargeConfig> {
    // Here wisdom spoke for ours, but for configs that will not do: no measurement speaks for others.
    if (!asked_for && cublas_serves(r)) return {};
    return gemm_large_defaults(r.problem, shape, limits);
  };
  const auto space = [&] {
    return r.options.config.empty() ? gemm_large_accurate_space(r.problem, shape, limits)
                                    : gemm_large_space(r.problem, shape, limits);
  };
  const DeviceFamily family{"gemm", space, rules_of_thumb};
  plan_with_first<GemmLargeConfig>(r, family, limits, plan, [&](const GemmLargeConfig& config) {
    return std::make_shared<const LargeRunner>(r, machine, config);
  });
}

std::string cublas_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  if (auto reason = why_no_product(r); !reason.empty()) return reason;
  if (auto reason = GpuBlas::why_not(r.problem); !reason.empty()) return reason;
  if (!r.options.config.empty()) return "a config was given, and the library chooses its own";
  if (auto reason = why_no_machine(r); !reason.empty()) return reason;
  return why_no_blas(r);
}

void prepare_cublas(const PlanRequest& r, GemmPlan::Impl& plan) {
  plan.gpu = std::make_shared<const BlasRunner>(r, r.context.gpus->open(r.options.device));
  const auto known = recorded_cublas(r);
  plan.match = known ? known->match : WisdomMatch::none;
  plan.config_source = known ? known->source : "no record";
  if (known) plan.recorded = known->recorded;
  // cuBLAS needs no record, but one of another objective, or none of this one, is worth a word.
  if (plan.recorded.objective != objective_of(r.options).text())
    notice_match(r, plan.match, plan.config_source, plan.recorded, plan);
}

}  // namespace tilewright
