// Candidate gpu_large: a block of threads for each matrix in device memory, or for some of the right sides of
// one, by kernel/factor_gpu_large. Factors that the caller does not ask for pass through scratch memory, in
// parts of a batch that bound it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/dispatch.hpp"
#include "factor/candidates.hpp"
#include "factor/gpu_batches.hpp"
#include "factor/gpu_halves.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/device/machine.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t most_order = 1 << 14, most_sides = 1 << 30;
constexpr std::int64_t most_scratch_bytes = std::int64_t(1) << 30;

// The kernels of a call: a factorization or a copy, a solve, or both.
struct LargeKernels {
  bool factors = false, solves = false;
  FactorGpuShape first, second;
  FactorLargeConfig factor;
  FactorLargeSolveConfig solve;
  std::int64_t sides = 0;
};

// Returns what is solved for: B, or the matrix that its inverse takes the place of.
const FactorOperand& solved_operand(const FactorWork& work) { return work.has_b ? work.b : work.a; }

LargeKernels kernels_of(const FactorWork& work, const GpuLimits& limits) {
  const int bytes = int(work.element_bytes()), m = int(work.shape.m), n = int(work.shape.n);
  const FactorGpuBatch a = gpu_batch_of(work.a, 0, m, n, 0);
  const FactorOperand& x = solved_operand(work);
  const FactorGpuBatch b = gpu_batch_of(x, 0, x.rows, x.cols, 0);
  FactorGpuShape shape = factor_gpu_shape(work.shape, a.by_rows(), b.by_rows(), scales_sides(work));
  shape.a_place = factor_gpu_place(a);
  const FactorLargeRoom room = factor_large_room(limits);
  LargeKernels kernels;
  kernels.factors = factor_large_factors(shape), kernels.solves = factor_gpu_has_b(shape);
  if (kernels.factors) {
    kernels.first = factor_large_first(shape);
    kernels.factor = factor_large_config(kernels.first, m, n, bytes, room);
  }
  if (!kernels.solves) return kernels;
  shape.b_place = factor_gpu_place(b);
  kernels.second = factor_large_second(shape);
  kernels.sides = sides_of(work) > 0 ? sides_of(work) : n;
  kernels.solve = factor_large_solve_config(kernels.second, n, kernels.sides, bytes, room);
  return kernels;
}

std::string factor_large_declines(const FactorRequest& r) {
  const LaneShape& s = r.work.shape;
  if (auto reason = gpu_declines(r); !reason.empty()) return reason;
  if (std::max(s.m, s.n) > most_order)
    return fmt::format("serves orders up to {}, not {}", most_order, std::max(s.m, s.n));
  if (s.nrhs > most_sides) return fmt::format("serves up to {} right sides, not {}", most_sides, s.nrhs);
  const auto machine = Access::impl(r.context).gpus->open(r.work.queue.device);
  const GpuLimits& limits = machine->gpu().limits();
  const LargeKernels kernels = kernels_of(r.work, limits);
  if (kernels.factor.threads == 0)
    return fmt::format("a panel of {} rows does not fit the shared memory of {}", s.m, limits.name);
  if (kernels.solve.threads == 0)
    return fmt::format("a right side of {} rows does not fit the shared memory of {}", s.n, limits.name);
  return "";
}

// Scratch memory of a problem, in bytes: the factors, their pivots and the info.
struct LargeScratch {
  std::int64_t factors = 0, pivots = 0;

  std::int64_t problem_bytes() const { return factors + pivots + std::int64_t(sizeof(int)); }
};

class FactorLargeRunner : public FactorRunner {
 public:
  void run(Context& context, const FactorWork& work, int) const override {
    const Context::Impl& impl = Access::impl(context);
    const auto machine = impl.gpus->open(work.queue.device);
    refuse_misplaced(work);
    std::int64_t each = work.count;
    // Where nothing may be compiled or allocated, products could fail when B is partly solved.
    if (!impl.no_jit && solves_by_halves(work) && !is_capturing(machine->gpu(), work.queue.stream)) {
      for (std::int64_t first = 0, count; first < work.count; first += count)
        solve_by_halves(context, *machine, work, first, count = problems_of_part(work, first, each));
      return;
    }
    const LargeKernels kernels = kernels_of(work, machine->gpu().limits());
    const Loaded loaded = load(*machine, kernels, work.shape.dtype, !impl.no_jit);
    const LargeScratch scratch = scratch_of(work, kernels);
    if (kernels.factors && (kernels.solves || scratch.factors > 0)) {
      each = std::min(each, std::max<std::int64_t>(1, most_scratch_bytes / scratch.problem_bytes()));
      if (!is_capturing(machine->gpu(), work.queue.stream))
        machine->workspace().reserve(bytes_of(scratch, each), 0);
    }
    clear_one_info(machine->gpu(), work);
    for (std::int64_t first = 0, count; first < work.count; first += count)
      run_part(*machine, work, kernels, loaded, scratch, first, count = problems_of_part(work, first, each));
  }

 private:
  struct Loaded {
    std::shared_ptr<const FactorLargeKernel> factor, solve;
  };
  static Loaded load(const GpuMachine& machine, const LargeKernels& kernels, DType dtype, bool may_compile) {
    Loaded loaded;
    if (kernels.factors)
      loaded.factor = machine.factor_large(kernels.first, kernels.factor, dtype, may_compile);
    if (kernels.solves)
      loaded.solve = machine.factor_large(kernels.second, kernels.solve, dtype, may_compile);
    return loaded;
  }

  static LargeScratch scratch_of(const FactorWork& work, const LargeKernels& kernels) {
    LargeScratch scratch;
    const FactorGpuShape& s = kernels.first;
    if (!kernels.factors || s.writes_a) return scratch;
    if (!(s.writes_det && kernels.factor.shared))
      scratch.factors = work.shape.m * work.shape.n * work.element_bytes();
    if (s.method == FactorGpuMethod::lu && s.exchanges)
      scratch.pivots = work.shape.n * std::int64_t(sizeof(int));
    return scratch;
  }
  static std::size_t bytes_of(const LargeScratch& scratch, std::int64_t count) {
    return std::size_t(count * scratch.problem_bytes());
  }

  // Problems [first, first + count), all of one level.
  static void run_part(const GpuMachine& machine, const FactorWork& work, const LargeKernels& kernels,
                       const Loaded& loaded, const LargeScratch& scratch, std::int64_t first,
                       std::int64_t count) {
    const std::int64_t m = work.shape.m, n = work.shape.n;
    FactorLargeCall call;
    call.count = count, call.nrhs = kernels.sides;
    call.a = gpu_batch_of(work.a, first, m, n, 0);
    const FactorOperand& x = solved_operand(work);
    call.b = gpu_batch_of(x, first, x.rows, x.cols, 0);
    if (work.shape.routine == Routine::trsm) call.alpha = work.alpha;
    const std::int64_t steps = first * work.steps();
    if (work.pivots_out != nullptr) call.pivots = work.pivots_out + steps;
    if (work.pivots_in != nullptr) call.pivots = const_cast<int*>(work.pivots_in) + steps;
    if (work.values.out != nullptr) call.det = work.values.out + first * work.values.problem_bytes();
    call.one_info = has_one_info(work);
    if (work.info.mode != InfoMode::none) call.info = work.info.codes + (call.one_info ? 0 : first);
    std::optional<GpuWorkspace::Loan> loan;
    if (kernels.factors && (kernels.solves || scratch.factors > 0)) {
      loan.emplace(machine.workspace(), bytes_of(scratch, count), 0, work.queue.stream);
      char* const memory = static_cast<char*>(loan->scratch());
      call.factors = {memory, nullptr, m, n, 1, m, m * n, 0, 0};
      if (scratch.pivots > 0) call.pivots = reinterpret_cast<int*>(memory + count * scratch.factors);
      if (kernels.solves)
        call.codes = reinterpret_cast<int*>(memory + count * (scratch.factors + scratch.pivots));
    }
    if (kernels.factors) loaded.factor->launch(call, work.queue.stream);
    if (!kernels.solves) return;
    if (kernels.factors) call.a = call.factors;
    loaded.solve->launch(call, work.queue.stream);
  }
};

}  // namespace

constinit const FactorCandidate gpu_large_factor{
    "gpu_large", Tier::large, factor_large_declines,
    [](const FactorRequest&) { return factor_offer(0, std::make_shared<const FactorLargeRunner>()); }};

}  // namespace tilewright
