// From a case to the calls of the public interface.
#include "gpu_array_calls.hpp"

#include <memory>
#include <span>
#include <vector>

#include "core/dispatch.hpp"
#include "measure/typed_values.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t size_arrays = 6;  // m, n, k and three leading dimensions

template <class T>
std::function<void(const Operands&)> one_group(Context& context, const BenchCase& c,
                                               const GemmOptions& options) {
  const GemmProblem& p = c.problem;
  GemmGroup<T, Location::device> group;
  group.op_a = p.op_a, group.op_b = p.op_b;
  group.m = p.m, group.n = p.n, group.k = p.k;
  group.lda = p.lda, group.ldb = p.ldb, group.ldc = p.ldc;
  group.alpha = value_from<T>(c.alpha, 0), group.beta = value_from<T>(c.beta, 0);
  group.count = p.batch_count;
  return [&context, group, options](const Operands& o) {
    GemmGroup<T, Location::device> one = group;
    one.a = static_cast<const T* const*>(o.a), one.b = static_cast<const T* const*>(o.b);
    one.c = static_cast<T* const*>(o.c);
    gemm_grouped<T, Location::device>(context, std::span<const GemmGroup<T, Location::device>>(&one, 1),
                                      options);
  };
}

template <class T>
std::function<void(const Operands&)> sizes_of_each(const Gpu& gpu, Context& context, const BenchCase& c,
                                                   const GemmOptions& options) {
  const GemmProblem& p = c.problem;
  const auto count = static_cast<std::size_t>(p.batch_count);
  const auto sizes = std::make_shared<std::vector<GpuBuffer>>();
  for (const std::int64_t size : {p.m, p.n, p.k, p.lda, p.ldb, p.ldc}) {
    const std::vector<std::int64_t> values(count, size);
    sizes->emplace_back(gpu, count * sizeof(std::int64_t)).write(values.data(), count * sizeof(std::int64_t));
  }
  VariableBatch<T> batch;
  batch.op_a = p.op_a, batch.op_b = p.op_b;
  batch.most_m = p.m, batch.most_n = p.n, batch.most_k = p.k;
  const std::int64_t** const arrays[size_arrays] = {&batch.m,   &batch.n,   &batch.k,
                                                    &batch.lda, &batch.ldb, &batch.ldc};
  for (std::size_t i = 0; i < size_arrays; ++i) *arrays[i] = (*sizes)[i].template as<std::int64_t>();
  batch.alpha = value_from<T>(c.alpha, 0), batch.beta = value_from<T>(c.beta, 0);
  batch.count = p.batch_count;
  return [&context, sizes, batch, options](const Operands& o) {
    VariableBatch<T> one = batch;
    one.a = static_cast<const T* const*>(o.a), one.b = static_cast<const T* const*>(o.b);
    one.c = static_cast<T* const*>(o.c);
    gemm_variable<T>(context, one, options);
  };
}

}  // namespace

GemmProblem planned_problem(const BenchCase& c) {
  GemmProblem p = c.problem;
  if (c.layout != Layout::variable) return p;
  p.layout = Layout::variable;
  p.lda = p.ldb = p.ldc = p.stride_a = p.stride_b = p.stride_c = 0;
  return packed(p);
}

std::function<void(const Operands&)> gpu_array_call(const Gpu& gpu, Context& context, const BenchCase& c,
                                                    const GemmOptions& options) {
  return dispatch(c.problem.dtype, [&]<class T>() {
    return c.layout == Layout::grouped ? one_group<T>(context, c, options)
                                       : sizes_of_each<T>(gpu, context, c, options);
  });
}

double gpu_array_bytes(const BenchCase& c) {
  if (c.layout != Layout::variable) return 0;
  return double(size_arrays * sizeof(std::int64_t)) * double(c.problem.batch_count);
}

}  // namespace tilewright::cli
