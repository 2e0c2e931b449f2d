// Checks, and the short way to a kernel, whose code does not depend on how many products there are.
#include "gemm/sums/reduce.hpp"

#include "core/product/faults.hpp"
#include "core/refuse.hpp"
#include "gemm/device/stacks.hpp"
#include "gemm/execute.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "gemm/small/calls.hpp"
#include "gemm/small/stack_bytes.hpp"
#include "gemm/sums/calls.hpp"

namespace tilewright {
namespace {

void check_addresses(const GemmProblem& p, const Operands& o, const void* c, const ArgumentNames& names) {
  if (p.m == 0 || p.n == 0) return;
  const bool reads_ab = p.k > 0 && p.alpha != Scalar::zero && p.batch_count > 0;
  const auto refuse_fault = [](const std::optional<Fault>& fault, std::int64_t product) {
    if (!fault) return;
    refuse_argument(fault->argument,
                    product < 0 ? fault->message : fmt::format("product {}: {}", product, fault->message),
                    product);
  };
  if (p.layout != Layout::pointer || !reads_ab)
    return refuse_fault(address_fault({o.a, o.b, c}, reads_ab, names), -1);
  refuse_fault(null_fault({o.a, o.b, c}, true, names), -1);
  const auto *a = static_cast<const void*const*>(o.a), *b = static_cast<const void*const*>(o.b);
  for (std::int64_t i = 0; i < p.batch_count; ++i)
    refuse_fault(address_fault({a[i], b[i], c}, true, names), i);
}

void run_on_host(Context::Impl& context, const GemmProblem& p, const Operands& o,
                 const GemmOptions& options) {
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
  kernel_call(p, layouts_of(p), o, 0, p.batch_count).run(*kernel, small_stack_bytes(p, kernel->config()));
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
}

void run_batch_reduce(Context::Impl& context, const GemmProblem& p, const Operands& operands,
                      const GemmOptions& options, const ArgumentNames& names) {
  check_call_options(context, options, p.location);
  validate(p, names);
  Operands o = operands;
  void* c = operands.c;
  const bool by_pointers = p.layout == Layout::pointer;
  if (p.location == Location::device) {
    if (by_pointers) o.c = nullptr, o.lists.c = c;
    return run_device_reduce(context, p, o, options, names);
  }
  check_addresses(p, o, c, names);
  if (by_pointers) o.c = &c;  // as plans take it
  run_on_host(context, p, o, options);
}

}  // namespace tilewright
