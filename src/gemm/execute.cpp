// The way from a plan and its operands to kernel calls. Zeros among general alphas and betas are taken care
// of here once for all kernels: alpha = 0 never reads A and B, beta = 0 never reads C.
#include "gemm/execute.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "gemm/operand.hpp"
#include "gemm/parallel.hpp"
#include "gemm/placement.hpp"
#include "gemm/run/reference.hpp"
#include "gemm/run/scale.hpp"

namespace tilewright {
namespace {

// Kernels that hold several problems in one vector finish a run with a tail; runs that are multiples of this
// have none. Sixteen floats are also the widest vector and a cache line of an interleaved batch.
constexpr std::int64_t run_multiple = 16;

std::int64_t run_border(const GemmProblem& p, int threads) {
  // A batch of one block is cut inside it, at whole vectors and cache lines.
  if (is_interleaved(p)) return p.block >= p.batch_count ? run_multiple : p.block;
  return p.batch_count >= 4 * run_multiple * threads ? run_multiple : 1;
}

const void* advance(const void* base, std::int64_t bytes) { return static_cast<const char*>(base) + bytes; }

void call_range(const GemmPlan::Impl& plan, const GemmSmallCpuKernel& kernel, const Operands& o,
                std::int64_t first, std::int64_t count) {
  const GemmProblem& p = plan.problem;
  GemmSmallCpuArguments arguments = plan.arguments;
  const std::int64_t step = first / problems_per_step(p);
  const std::int64_t size = size_bytes(p.dtype);
  const std::int64_t lane_bytes = first % problems_per_step(p) * size;
  const bool pointers = p.layout == Layout::pointer;
  const auto offset = [&](std::int64_t stride) {
    return pointers ? first * std::int64_t(sizeof(void*)) : step * stride + lane_bytes;
  };

  arguments.a = advance(o.a, offset(arguments.stride_a));
  arguments.b = advance(o.b, offset(arguments.stride_b));
  arguments.c = const_cast<void*>(advance(o.c, offset(arguments.stride_c)));
  arguments.count = count;
  arguments.alpha_stride = o.alpha_stride * size;
  arguments.beta_stride = o.beta_stride * size;
  arguments.alpha = o.alpha == nullptr ? nullptr : advance(o.alpha, first * arguments.alpha_stride);
  arguments.beta = o.beta == nullptr ? nullptr : advance(o.beta, first * arguments.beta_stride);
  arguments.self = &kernel;
  kernel.function()(&arguments);
}

template <class T>
bool has_zero(const void* values, std::int64_t stride, std::int64_t first, std::int64_t count) {
  const T* v = static_cast<const T*>(values) + first * stride;
  if (stride == 0) return *v == T(0);
  return std::find(v, v + count, T(0)) != v + count;
}

bool has_zero(const GemmProblem& p, Scalar kind, const void* values, std::int64_t stride, std::int64_t first,
              std::int64_t count) {
  if (kind != Scalar::general) return false;
  return dispatch(p.dtype, [&]<class T>() { return has_zero<T>(values, stride, first, count); });
}
bool alpha_has_zero(const GemmProblem& p, const Operands& o, std::int64_t first, std::int64_t count) {
  return has_zero(p, p.alpha, o.alpha, o.alpha_stride, first, count);
}
bool beta_has_zero(const GemmProblem& p, const Operands& o, std::int64_t first, std::int64_t count) {
  return has_zero(p, p.beta, o.beta, o.beta_stride, first, count);
}

// The kernel of the same problem that does not read C. The plan's config may not be legal for it.
std::shared_ptr<const GemmSmallCpuKernel> beta_zero_kernel(const GemmPlan::Impl& plan) {
  GemmProblem p = plan.problem;
  p.beta = Scalar::zero;
  GemmSmallCpuConfig config = plan.kernel->config();
  if (!gemm_small_cpu_space(p, config.isa).contains(config)) config = gemm_small_cpu_default(p, config.isa);
  return plan.kernels->get(p, config);
}

// Runs of problems that agree in which of alpha and beta are 0, each by what serves it.
void run_with_zeros(const GemmPlan::Impl& plan, const Operands& o, std::int64_t first, std::int64_t count) {
  const GemmProblem& p = plan.problem;
  const auto beta_zero = beta_zero_kernel(plan);
  struct Zeros {
    bool alpha, beta;
    bool operator==(const Zeros&) const = default;
  };
  const auto zeros = [&](std::int64_t at) {
    return Zeros{alpha_has_zero(p, o, at, 1), beta_has_zero(p, o, at, 1)};
  };
  const std::int64_t last = first + count;
  for (std::int64_t begin = first, end = first; begin < last; begin = end) {
    const Zeros kind = zeros(begin);
    for (end = begin + 1; end < last && zeros(end) == kind; ++end) {
    }
    if (kind.alpha)
      scale_c(p, o, begin, end - begin);
    else
      call_range(plan, kind.beta ? *beta_zero : *plan.kernel, o, begin, end - begin);
  }
}

template <class T>
void check_class(const char* name, Scalar kind, const void* values, std::int64_t stride) {
  if (values == nullptr && kind == Scalar::general)
    throw Error(ErrorCode::invalid_argument, name, fmt::format("{} is null", name));
  if (kind == Scalar::general || values == nullptr) return;
  if (stride != 0)
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} holds a value per problem, but the plan was made for {} = {}", name, name,
                            to_string(kind)));
  if (const T value = *static_cast<const T*>(values); value != T(kind == Scalar::one))
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} is not {}, which the plan was made for", name, to_string(kind)));
}

}  // namespace

void run_scale(const GemmPlan::Impl& plan, const Operands& o, std::int64_t first, std::int64_t count) {
  scale_c(plan.problem, o, first, count);
}

void run_reference(const GemmPlan::Impl& plan, const Operands& o, std::int64_t first, std::int64_t count) {
  gemm_reference(plan.problem, o, first, count);
}

void run_small_kernel(const GemmPlan::Impl& plan, const Operands& o, std::int64_t first, std::int64_t count) {
  const GemmProblem& p = plan.problem;
  // Problems of one block differ inside a vector, so interleaved kernels see to zeros themselves.
  if (is_interleaved(p) || (!alpha_has_zero(p, o, first, count) && !beta_has_zero(p, o, first, count)))
    call_range(plan, *plan.kernel, o, first, count);
  else
    run_with_zeros(plan, o, first, count);
}

void run_cblas(const GemmPlan::Impl& plan, const Operands& o, std::int64_t first, std::int64_t count) {
  const GemmProblem& p = plan.problem;
  dispatch(p.dtype, [&]<class T>() {
    const OperandLayout la = layout_a(p), lb = layout_b(p), lc = layout_c(p);
    for (std::int64_t i = first; i < first + count; ++i) {
      const T alpha = scalar_of<T>(p.alpha, o.alpha, o.alpha_stride, i);
      const T beta = scalar_of<T>(p.beta, o.beta, o.beta_stride, i);
      if (alpha == T(0)) {
        scale_c(p, o, i, 1);
        continue;
      }
      plan.cblas->gemm<T>(p.op_a, p.op_b, p.m, p.n, p.k, alpha, matrix_of<const T>(p, la, o.a, i).data, p.lda,
                          matrix_of<const T>(p, lb, o.b, i).data, p.ldb, beta,
                          matrix_of<T>(p, lc, o.c, i).data, p.ldc);
    }
  });
}

namespace {

// A library that takes a thread count per thread runs a batch one problem per thread; any other runs problem
// after problem with its own threads, because two layers of threads would fight.
void execute_cblas(const GemmPlan::Impl& plan, const Operands& o) {
  const CblasLibrary& library = *plan.cblas;
  const std::int64_t count = plan.problem.batch_count;
  const int threads = allowed_threads(plan.threads);
  const bool one_each = library.has_local_threads() && count >= threads && threads > 1;
  parallel_ranges(one_each ? threads : 1, count, 1, [&](std::int64_t first, std::int64_t range_count) {
    const int wanted = one_each ? 1 : (plan.threads > 0 || threads == 1 ? threads : 0);
    const LocalThreads scope(library, wanted);
    run_cblas(plan, o, first, range_count);
  });
}

// Threads take the runs of the node they are on first and then help the others.
void execute_by_node(const GemmPlan::Impl& plan, const Operands& o, const std::vector<ThreadRange>& ranges,
                     int threads) {
  NodeQueue queue(ranges);
  FirstException exception;
#pragma omp parallel num_threads(threads)
  exception.guard([&] {
    const int node = current_node();
    while (const ThreadRange* range = queue.take(node)) plan.run_range(plan, o, range->first, range->count);
  });
  exception.rethrow();
}

}  // namespace

void execute_range(const GemmPlan::Impl& plan, const Operands& o, std::int64_t first, std::int64_t count) {
  if (plan.problem.m == 0 || plan.problem.n == 0 || count == 0) return;
  if (plan.cblas == nullptr) {
    plan.run_range(plan, o, first, count);
    return;
  }
  const LocalThreads scope(*plan.cblas, 1);
  run_cblas(plan, o, first, count);
}

void check_call(const GemmPlan::Impl& plan, const Operands& o) {
  const GemmProblem& p = plan.problem;
  dispatch(p.dtype, [&]<class T>() {
    check_class<T>("alpha", p.alpha, o.alpha, o.alpha_stride);
    check_class<T>("beta", p.beta, o.beta, o.beta_stride);
  });
  if (p.m == 0 || p.n == 0 || p.batch_count == 0) return;
  if (plan.gpu != nullptr) return plan.gpu->check(o);
  if (o.stream != nullptr)
    throw Error(ErrorCode::invalid_argument, "stream",
                fmt::format("stream = {} is given, but the operands are in host memory", o.stream));
}

void execute(const GemmPlan::Impl& plan, const Operands& o) {
  check_call(plan, o);
  execute_checked(plan, o);
}

void execute_checked(const GemmPlan::Impl& plan, const Operands& o) {
  const GemmProblem& p = plan.problem;
  if (p.m == 0 || p.n == 0 || p.batch_count == 0) return;
  if (plan.gpu != nullptr) return plan.gpu->queue(o);
  if (plan.cblas != nullptr) return execute_cblas(plan, o);
  const int threads = plan.sequential ? 1 : allowed_threads(plan.threads);
  if (threads > 1)
    if (const auto ranges = ranges_by_node(p, o, threads, run_border(p, threads)); !ranges.empty())
      return execute_by_node(plan, o, ranges, threads);
  parallel_ranges(threads, p.batch_count, run_border(p, threads),
                  [&](std::int64_t first, std::int64_t count) { plan.run_range(plan, o, first, count); });
}

}  // namespace tilewright
