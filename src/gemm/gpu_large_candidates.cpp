// Large products of operands on a GPU: our stencil and the vendor's library, as two candidates of one list.
// Wisdom holds what each of them took; between the two it alone decides.
#include <algorithm>
#include <optional>

#include "device/gpu_workspace.hpp"
#include "gemm/gpu_candidates.hpp"
#include "gemm/gpu_machine.hpp"
#include "gemm/gpu_operands.hpp"
#include "gemm/gpu_request.hpp"

namespace tilewright {
namespace {

constexpr const char* stencil = "gemm";
constexpr const char* vendor = "cublas";

// C = alpha op(A) op(B) + beta C of one matrix at a time, for whichever beta a call of its class may bring.
class LargeKernels {
 public:
  LargeKernels(const GemmProblem& problem, const GpuMachine& machine, const GemmLargeConfig& config,
               int align_bytes, bool may_compile)
      : problem_(problem), kernel_(load(problem, machine, config, align_bytes, may_compile)) {
    reserve(machine, *kernel_);
    if (problem.beta != Scalar::general) return;
    GemmProblem overwriting = problem;
    overwriting.beta = Scalar::zero;
    beta_zero_ = load(overwriting, machine, config, align_bytes, may_compile);
    reserve(machine, *beta_zero_);
  }

  void launch(const Operands& o) const {
    const bool overwrites = beta_zero_ != nullptr && is_zero(problem_, problem_.beta, o.beta);
    const GemmLargeKernel& kernel = overwrites ? *beta_zero_ : *kernel_;
    GemmLargeOperands operands;
    operands.alpha = o.alpha;
    operands.beta = overwrites ? nullptr : o.beta;
    std::optional<GpuWorkspace::Loan> loan;
    if (workspace_ != nullptr) {
      loan.emplace(*workspace_, stream_of(o));
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
  static std::shared_ptr<const GemmLargeKernel> load(const GemmProblem& p, const GpuMachine& machine,
                                                     const GemmLargeConfig& config, int align_bytes,
                                                     bool may_compile) {
    // Every matrix of a batch has the alignment that its distance from the first leaves.
    const auto aligned = [&](std::int64_t stride) {
      const auto distance = static_cast<std::uint64_t>(stride) * static_cast<unsigned>(size_bytes(p.dtype));
      const auto bits = static_cast<unsigned>(align_bytes) | (p.batch_count > 1 ? distance : 0);
      return static_cast<int>(std::min<std::uint64_t>(16, bits & (~bits + 1)));
    };
    const GemmLargeShape shape =
        gemm_large_shape(p, {aligned(p.stride_a), aligned(p.stride_b), aligned(p.stride_c)});
    const GpuLimits& limits = machine.gpu().limits();
    // What is legal for the best alignment need not be for this one, nor what reads C where C is not read.
    const bool legal = gemm_large_space(p, shape, limits).contains(config);
    return machine.gemm_large(shape, legal ? config : gemm_large_default(p, shape, limits), p.dtype,
                              may_compile);
  }
  void reserve(const GpuMachine& machine, const GemmLargeKernel& kernel) {
    const GemmLargeLaunch needs = kernel.needs(problem_);
    scratch_bytes_ = std::max(scratch_bytes_, static_cast<std::size_t>(needs.workspace_bytes));
    zero_bytes_ = std::max(zero_bytes_, static_cast<std::size_t>(needs.counter_count) * sizeof(unsigned));
    if (scratch_bytes_ + zero_bytes_ > 0)
      workspace_ = std::make_unique<GpuWorkspace>(machine.gpu(), scratch_bytes_, zero_bytes_);
  }

  GemmProblem problem_;
  std::shared_ptr<const GemmLargeKernel> kernel_, beta_zero_;
  std::size_t scratch_bytes_ = 0, zero_bytes_ = 0;
  std::unique_ptr<GpuWorkspace> workspace_;
};

class LargeRunner : public GpuRunner {
 public:
  LargeRunner(const PlanRequest& r, std::shared_ptr<const GpuMachine> machine, const GemmLargeConfig& config)
      : problem_(r.problem),
        machine_(std::move(machine)),
        check_(problem_, align_bytes(r), r.options.checked ? &machine_->gpu() : nullptr),
        kernels_(problem_, *machine_, config, align_bytes(r), r.may_compile) {}

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
        "{} registers, {} bytes of shared memory, {} blocks of {} threads, {} on a multiprocessor, {} bytes "
        "of "
        "workspace",
        kernel.function().registers(), kernel.shared_bytes(), needs.launch.blocks, needs.launch.threads,
        kernel.blocks_per_multiprocessor(), needs.workspace_bytes);
  }
  nlohmann::json metrics() const override {
    const GemmLargeKernel& kernel = kernels_.kernel();
    const GpuLimits& limits = machine_->gpu().limits();
    const GemmLargeCost cost = gemm_large_cost(problem_, kernel.shape(), kernel.config(), limits);
    return {{"registers", kernel.function().registers()},
            {"spilled_bytes", kernel.function().local_bytes()},
            {"shared_bytes", kernel.shared_bytes()},
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
              {"fixed", cost.fixed}}}};
  }
  std::string prediction() const override {
    const GemmLargeKernel& kernel = kernels_.kernel();
    const double cycles =
        gemm_large_cost(problem_, kernel.shape(), kernel.config(), machine_->gpu().limits()).cycles();
    return fmt::format("{:.3g} cycles of each multiprocessor (cost model)",
                       cycles * static_cast<double>(problem_.batch_count));
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

// Asked for every plan, so it sets no handle up, which takes time and device memory.
std::string why_no_blas() { return GpuBlas::is_there() ? "" : "cuBLAS was not found"; }

// What wisdom holds of one of the two for this very problem or one near it.
std::optional<WisdomAnswer> recorded(const PlanRequest& r, const char* family) {
  std::optional<WisdomAnswer> found;
  if (r.context.wisdom() == nullptr) return found;
  const std::string device = r.context.gpus->open(r.options.device)->gpu().limits().name;
  offer_wisdom(r, family, device, [&](const WisdomAnswer& answer) {
    found = answer;
    return true;
  });
  return found;
}

std::string cost_text(const RecordedTime& recorded) {
  return recorded.energy_j ? fmt::format("{:.4g} s and {:.4g} J", recorded.seconds, *recorded.energy_j)
                           : fmt::format("{:.4g} s", recorded.seconds);
}

// Whether the first costs less by the call's objective, or by time where not both were searched for that.
bool costs_less(const PlanRequest& r, const RecordedTime& x, const RecordedTime& y) {
  const TuneObjective objective = objective_of(r.options);
  const bool comparable = x.objective == objective.text() && y.objective == objective.text();
  if (!comparable || !objective.needs_energy() || !x.energy_j || !y.energy_j) return x.seconds < y.seconds;
  const Metrics both[] = {{x.seconds, x.energy_j}, {y.seconds, y.energy_j}};
  const std::vector<double> costs = objective.costs(both, both[1]);
  return costs[0] < costs[1];
}

// Why the vendor's library goes first though the stencil could serve; "" where it does not.
std::string why_vendor_first(const PlanRequest& r) {
  if (!r.options.candidate.empty() || !r.options.config.empty()) return "";
  if (!why_no_blas().empty()) return "";
  const auto ours = recorded(r, stencil);
  if (!ours) return "wisdom has no record of it near this problem, and cuBLAS needs none";
  const auto theirs = recorded(r, vendor);
  const bool comparable = theirs && theirs->match == ours->match;
  if (comparable && costs_less(r, theirs->recorded, ours->recorded))
    return fmt::format("cuBLAS took {} where it took {} ({}, {})", cost_text(theirs->recorded),
                       cost_text(ours->recorded), to_string(theirs->match), theirs->source);
  return "";
}

}  // namespace

std::string gpu_large_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (p.layout != Layout::single && p.layout != Layout::strided)
    return fmt::format("it takes one matrix at a time from the host, not the layout {}", to_string(p.layout));
  if (auto reason = why_no_product(r); !reason.empty()) return reason;
  if (auto reason = why_no_machine(r); !reason.empty()) return reason;
  return why_vendor_first(r);
}

void prepare_gpu_large(const PlanRequest& r, GemmPlan::Impl& plan) {
  auto machine = r.context.gpus->open(r.options.device);
  const int align = std::min(16, align_bytes(r));
  const GemmLargeShape shape = gemm_large_shape(r.problem, {align, align, align});
  const GpuLimits& limits = machine->gpu().limits();
  const GpuFamily family{stencil, [&] { return gemm_large_space(r.problem, shape, limits); },
                         [&] { return gemm_large_defaults(r.problem, shape, limits); }};
  plan_with_first<GemmLargeConfig>(r, family, limits, plan, [&](const GemmLargeConfig& config) {
    return std::make_shared<const LargeRunner>(r, machine, config);
  });
}

std::string cublas_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  if (auto reason = why_no_product(r); !reason.empty()) return reason;
  if (auto reason = GpuBlas::why_not(r.problem); !reason.empty()) return reason;
  if (auto reason = why_no_machine(r); !reason.empty()) return reason;
  return why_no_blas();
}

void prepare_cublas(const PlanRequest& r, GemmPlan::Impl& plan) {
  plan.gpu = std::make_shared<const BlasRunner>(r, r.context.gpus->open(r.options.device));
  const auto known = recorded(r, vendor);
  plan.match = known ? known->match : WisdomMatch::none;
  plan.config_source = known ? known->source : "no record";
  if (!known) return;
  plan.recorded = known->recorded;
  if (known->recorded.objective != objective_of(r.options).text())
    notice_match(r, known->match, known->source, known->recorded, plan);
}

}  // namespace tilewright
