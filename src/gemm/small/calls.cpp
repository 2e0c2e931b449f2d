// Looking up, making kernels that pay, and running.
#include "gemm/small/calls.hpp"

#include <algorithm>

#include "gemm/operand.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "gemm/small/bands.hpp"
#include "gemm/small/stack_bytes.hpp"

namespace tilewright {
namespace {

// About what a call gains by a kernel of its own: the binding of the cold one, and a share of its time; more
// of it where data come from memory, because the cold one prefetches nothing.
double gain_s(const GemmProblem& p) {
  constexpr double binding_s = 40e-9, share = 0.15, share_of_cold = 0.45;
  return binding_s + small_problem_s(p) * double(p.batch_count) *
                         (p.residency == Residency::cold ? share_of_cold : share);
}

// Trouble, with wisdom say, is no reason to fail a call that can be served, and that may be half done.
std::shared_ptr<const GemmSmallCpuKernel> make_own(Context::Impl& context, const GemmProblem& problem,
                                                   const GemmOptions& options) {
  try {
    const auto plan = make_plan(context, problem, options, !context.no_jit);
    return plan->runner == nullptr ? nullptr : plan->runner->small_kernel();
  } catch (const Error& error) {
    if (context.wants_notices)
      context.notice(fmt::format("calls go on with portable kernels: {}", error.what()));
    return nullptr;
  }
}

}  // namespace

SmallKernel::SmallKernel(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options)
    : own_(context.small->find(small_key(problem, stride_classes(problem)), gain_s(problem),
                               [&] { return make_own(context, problem, options); })) {
  if (own_ == nullptr) cold_.emplace(context.small->cold_blocks(), problem);
}

double small_problem_s(const GemmProblem& p) {
  constexpr double problem_s = 10e-9, multiply_add_s = 40e-12;
  return problem_s + multiply_add_s * (is_complex(p.dtype) ? 4 : 1) * double(p.m * p.n * p.k);
}

KernelCall kernel_call(const GemmProblem& p, const OperandLayouts& layouts, const Operands& o,
                       std::int64_t first, std::int64_t count) {
  const std::int64_t size = size_bytes(p.dtype), step = problems_per_step(p);
  const auto offset = [&](const OperandLayout& layout) {
    if (p.layout == Layout::pointer) return first * std::int64_t(sizeof(void*));
    return (layout.offset(first / step) + first % step) * size;
  };
  KernelCall call(o.a, o.b, o.c, nullptr, nullptr, count);
  // No step is taken of one problem, and its strides may be anything.
  if (p.batch_count > 1)
    call.strided(count, layouts[0].step * size, layouts[1].step * size, layouts[2].step * size);
  const std::int64_t alpha_stride = o.alpha_stride * size, beta_stride = o.beta_stride * size;
  const auto value = [&](const void* values, std::int64_t stride) {
    return values == nullptr ? nullptr : static_cast<const char*>(values) + first * stride;
  };
  call.scaled(value(o.alpha, alpha_stride), value(o.beta, beta_stride), alpha_stride, beta_stride);
  return call.moved(offset(layouts[0]), offset(layouts[1]), offset(layouts[2]));
}

void run_looked_up(Context::Impl& context, const GemmProblem& p, KernelCall& call,
                   const GemmOptions& options) {
  const SmallKernel kernel(context, p, options);
  call.run(kernel.get(), small_stack_bytes(p, kernel.get().config()));
}

void run_decided(const LongCall& call, const KernelCall& product) {
  KernelCall whole = product;
  whole.strided(call.count, call.step_a, call.step_b, call.step_c).run(*call.whole, call.stack_bytes);
  if (call.rest != nullptr)
    product.moved(call.rest_a, call.rest_b, call.rest_c).run(*call.rest, call.stack_bytes);
}

namespace {

// The bands of a product as one strided batch, and what is left of them as a problem of its own.
struct LongParts {
  Bands bands;
  GemmProblem whole, rest;

  LongParts(const GemmProblem& p, const GemmOptions& options) : bands(bands_of(p)), whole(p), rest(p) {
    const BandSteps steps = bands.offset(p, bands.size);
    (bands.of_rows ? whole.m : whole.n) = bands.size;
    (bands.of_rows ? rest.m : rest.n) = bands.rest;
    whole.layout = Layout::strided;
    whole.batch_count = bands.count;
    whole.stride_a = steps.a, whole.stride_b = steps.b, whole.stride_c = steps.c;
    whole.residency = judged_residency(whole, options);
  }
};

// The kernel that calls on the problem found, to be kept; null where it has none of its own.
SmallKernels::Kernel kept_kernel(Context::Impl& context, const GemmProblem& p, LongCall& call) {
  auto kernel = context.small->kept(small_key(p, stride_classes(p)));
  if (kernel != nullptr)
    call.stack_bytes = std::max(call.stack_bytes, small_stack_bytes(p, kernel->config()));
  return kernel;
}

void remember_long(Context::Impl& context, const LongKey& key, const GemmProblem& p, const LongParts& parts) {
  LongCall call;
  call.whole = kept_kernel(context, parts.whole, call);
  if (parts.bands.rest > 0) call.rest = kept_kernel(context, parts.rest, call);
  if (call.whole == nullptr || (parts.bands.rest > 0 && call.rest == nullptr)) return;
  const std::int64_t size = size_bytes(p.dtype);
  const BandSteps end = parts.bands.offset(p, parts.bands.count * parts.bands.size);
  call.count = parts.bands.count;
  call.step_a = parts.whole.stride_a * size, call.step_b = parts.whole.stride_b * size;
  call.step_c = parts.whole.stride_c * size;
  call.rest_a = end.a * size, call.rest_b = end.b * size, call.rest_c = end.c * size;
  context.small->remember(key, std::move(call));
}

}  // namespace

bool run_long(Context::Impl& context, const LongKey& key, const GemmProblem& p, const KernelCall& product,
              const GemmOptions& options) {
  if (estimate_s(p) >= parallel_worth_s(options)) return false;
  const LongParts parts(p, options);
  const std::int64_t size = size_bytes(p.dtype);
  const auto run = [&](const GemmProblem& part, std::int64_t at) {
    const BandSteps begin = parts.bands.offset(p, at);
    KernelCall call = product.moved(begin.a * size, begin.b * size, begin.c * size);
    call.strided(part.batch_count, part.stride_a * size, part.stride_b * size, part.stride_c * size);
    run_looked_up(context, part, call, options);
  };
  run(parts.whole, 0);
  if (parts.bands.rest > 0) run(parts.rest, parts.bands.count * parts.bands.size);
  remember_long(context, key, p, parts);
  return true;
}

bool run_small(Context::Impl& context, const GemmProblem& described, const Operands& o,
               const GemmOptions& options) {
  if (!is_small(described) || o.alpha_stride != 0 || o.beta_stride != 0 || !are_usual(options)) return false;
  if (o.a == o.c || o.b == o.c) return false;  // plans have words for it
  const GemmProblem p = as_called(described, options);
  const SmallKernel kernel(context, p, options);
  const std::size_t stack_bytes = small_stack_bytes(p, kernel.get().config());
  const OperandLayouts layouts = layouts_of(p);
  const auto run = [&](std::int64_t first, std::int64_t count) {
    for_each_run(p, first, count, [&](std::int64_t at, std::int64_t part) {
      kernel_call(p, layouts, o, at, part).run(kernel.get(), stack_bytes);
    });
  };
  const int threads = p.batch_count == 1 ? 1 : host_threads(p, options);
  if (threads == 1)
    run(0, p.batch_count);
  else
    share_out(p, o, threads, run);
  return true;
}

}  // namespace tilewright
