// Checks over the shapes around a problem.
#include "tune/gate.hpp"

#include <algorithm>

namespace tilewright {
namespace {

// The shape itself, and with one more and one less row, column and step; all columns have gaps. Interleaved
// batches stay packed, without the shape itself.
std::vector<GemmProblem> shapes_around(const GemmProblem& problem) {
  std::vector<GemmProblem> shapes;
  const bool gaps = problem.layout != Layout::interleaved && problem.layout != Layout::block_interleaved;
  for (const std::int64_t step : {0, 1, -1}) {
    if (step == 0 && !gaps) continue;
    GemmProblem other = problem;
    other.m += step, other.n += step, other.k += step;
    if (other.m < 1 || other.n < 1 || other.k < 1) continue;
    if (std::max({other.m, other.n, other.k}) > gemm_small_cpu_limit) continue;
    other.lda = gaps ? other.a_rows() + 3 : 0;
    other.ldb = gaps ? other.b_rows() + 1 : 0;
    other.ldc = gaps ? other.m + 2 : 0;
    other.stride_a = other.stride_b = other.stride_c = 0;
    shapes.push_back(packed(other));
  }
  return shapes;
}

// One problem, an odd number, and for block-interleaved layouts counts that end at and within a block. A
// kernel for an interleaved batch has its count.
std::vector<std::int64_t> counts_for(const GemmProblem& problem) {
  if (problem.layout == Layout::single) return {1};
  if (problem.layout == Layout::interleaved) return {problem.batch_count};
  if (problem.layout == Layout::block_interleaved) return {1, problem.block, 2 * problem.block + 3};
  // Complete runs, and an incomplete one.
  if (problem.sums == Sums::stack) return {1, 7, 2 * problem.run + 1};
  return {1, 2, 7};
}

std::vector<SmallCheck> checks_of(const GemmProblem& problem) {
  std::vector<SmallCheck> checks;
  for (const std::int64_t count : counts_for(problem))
    checks.emplace_back(SmallCase{.problem = problem, .any_alignment = true}, count);
  return checks;
}

}  // namespace

Gate::Gate(const GemmProblem& problem, Isa isa) {
  std::vector<GemmProblem> all = shapes_around(problem);
  all.insert(all.begin(), problem);
  for (const GemmProblem& shape : all)
    shapes_.push_back({shape, gemm_small_cpu_space(shape, isa), checks_of(shape), PreparedCall(shape)});
}

std::vector<GemmProblem> Gate::shapes() const {
  std::vector<GemmProblem> all;
  for (const Shape& shape : shapes_) all.push_back(shape.problem);
  return all;
}

std::string Gate::run(const GemmSmallCpuKernel& kernel, Accuracy* worst) const {
  const HostMemory memory;
  for (const Shape& shape : shapes_) {
    const bool own = &shape == &shapes_.front();
    if (!own && !shape.space.contains(kernel.config())) continue;
    const auto made = own ? nullptr : make_gemm_small_cpu(shape.problem, kernel.config());
    for (const SmallCheck& check : shape.checks) {
      const CheckResult result = check.run(memory, [&](const Operands& operands) {
        shape.call.run(own ? kernel : *made, operands, check.batch().count());
      });
      if (!result.fault.empty()) return result.fault;
      if (worst != nullptr) *worst = worse_of(result.accuracy, *worst);
    }
  }
  return "";
}

}  // namespace tilewright
