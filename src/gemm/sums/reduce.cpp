// Checks, and the short way to a kernel, whose code does not depend on how many products there are.
#include "gemm/sums/reduce.hpp"

#include "core/refuse.hpp"
#include "gemm/execute.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "gemm/small/calls.hpp"
#include "gemm/small/stack_bytes.hpp"
#include "gemm/sums/calls.hpp"
#include "gemm/validate.hpp"

namespace tilewright {
namespace {

void check_addresses(const GemmProblem& p, const Operands& o, const void* c) {
  if (p.m == 0 || p.n == 0) return;
  if (c == nullptr) refuse_argument("c", "c is null");
  if (p.k == 0 || p.alpha == Scalar::zero || p.batch_count == 0) return;
  if (o.a == nullptr) refuse_argument("a", "a is null");
  if (o.b == nullptr) refuse_argument("b", "b is null");
  const auto check = [&](const char* name, const void* x, std::int64_t index) {
    const std::string product = index < 0 ? "" : fmt::format("product {}: ", index);
    if (x == nullptr) refuse_argument(name, fmt::format("{}{} is null", product, name), index);
    if (x == c) refuse_argument("c", fmt::format("{}c is {}: {}", product, name, in_place_reason), index);
  };
  if (p.layout != Layout::pointer) return check("a", o.a, -1), check("b", o.b, -1);
  for (std::int64_t i = 0; i < p.batch_count; ++i) {
    check("a", static_cast<const void* const*>(o.a)[i], i);
    check("b", static_cast<const void* const*>(o.b)[i], i);
  }
}

}  // namespace

void check_reduce_shapes(const GemmProblem& p, MatrixShape a, MatrixShape b) {
  if (auto fault = find_shape_fault(p); fault && fault->blas_number <= blas_number::k)
    refuse_argument(fault->argument, fault->message);
  const auto check = [](const char* name, MatrixShape x, std::int64_t rows, std::int64_t cols) {
    if (x.rows != rows || x.cols != cols)
      refuse_argument(name, fmt::format("{} is {} x {} as stored, but c and the ops need {} x {}", name,
                                        x.rows, x.cols, rows, cols));
  };
  check("a", a, p.a_rows(), p.a_cols());
  check("b", b, p.b_rows(), p.b_cols());
  validate(p);
}

void run_batch_reduce(Context::Impl& context, const GemmProblem& p, const Operands& o, const void* c,
                      const GemmOptions& options) {
  if (options.stream != nullptr)
    refuse_argument("stream",
                    fmt::format("stream = {} is given, but the operands are in host memory", options.stream));
  check_addresses(p, o, c);
  if (p.m == 0 || p.n == 0) return;
  const bool has_products = p.batch_count > 0 && p.k > 0 && p.alpha != Scalar::zero;
  const bool is_small = std::max({p.m, p.n, p.k}) <= gemm_small_cpu_limit;
  if (!has_products || !is_small) return execute(*find_plan(context, p, options), o);
  // One plan for all counts.
  constexpr std::int64_t some_products = 16;
  GemmProblem planned = p;
  planned.residency = judged_residency(p, options);
  planned.batch_count = some_products;
  const SumKernel kernel = find_sum_kernel(context, planned, options);
  if (kernel == nullptr) return execute(*find_plan(context, p, options), o);
  call_kernel(p, *kernel, small_arguments(p, o, 0, p.batch_count, *kernel));
}

}  // namespace tilewright
