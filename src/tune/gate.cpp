// The shapes around a problem, and the run over them.
#include "tune/gate.hpp"

#include <fmt/format.h>

namespace tilewright {
namespace {

// One more row, column and step, one less of each, and the shape itself; every column is followed by a gap.
// Interleaved batches have no gaps to speak of and keep their leading dimensions packed: of them the shape
// itself is left out.
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

}  // namespace

Gate::Gate(const GemmProblem& problem, Isa isa) : problem_(problem), own_(problem) {
  for (const GemmProblem& shape : shapes_around(problem))
    neighbours_.push_back({shape, gemm_small_cpu_space(shape, isa), std::make_unique<KernelCheck>(shape)});
}

std::vector<GemmProblem> Gate::shapes() const {
  std::vector<GemmProblem> all = {problem_};
  for (const Neighbour& neighbour : neighbours_) all.push_back(neighbour.problem);
  return all;
}

std::string Gate::run(const GemmSmallCpuKernel& kernel, Accuracy* worst) const {
  if (auto wrong = own_.run(kernel, worst); !wrong.empty()) return wrong;
  for (const Neighbour& neighbour : neighbours_) {
    if (!neighbour.space.contains(kernel.config())) continue;
    const auto other = make_gemm_small_cpu(neighbour.problem, kernel.config());
    if (const auto wrong = neighbour.check->run(*other, worst); !wrong.empty())
      return fmt::format("at {}: {}", to_string(neighbour.problem), wrong);
  }
  return "";
}

}  // namespace tilewright
