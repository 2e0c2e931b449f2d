// Checks kernels of large GEMM on the GPU: in full on small problems (padded leading dimensions, shifted
// addresses, NaN around everything that must not be read, marks around C), and at sampled elements on the
// problem that is timed.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "kernel/gpu_gemm_large.hpp"

namespace tilewright::bench {

struct LargeCheck {
  double error = 0;   // largest element error over its bound; above 1 is wrong
  std::string fault;  // "" = none
};

// A small problem in full.
struct LargeSmall {
  GemmProblem problem;  // leading dimensions set
  int offset = 0;       // elements by which all addresses are shifted from a multiple of 256 bytes
};
// Random sizes up to `most`, operations, paddings, shifts, alpha and beta.
LargeSmall any_large(DType dtype, int most, std::mt19937& random);
// A problem with partial tiles of `config` in all directions and the alignment of `shape`.
LargeSmall edge_case(const GemmProblem& like, const GemmLargeShape& shape, const GemmLargeConfig& config);
GemmLargeShape shape_of(const LargeSmall& one);

// Memory that kernels of several configs share; grows as needed. Counters are zero before every launch.
class LargeWorkspace {
 public:
  explicit LargeWorkspace(const Gpu& gpu) : gpu_(gpu) {}
  // Adds what `kernel` needs for `problem` to the operands.
  void provide(const GemmLargeKernel& kernel, const GemmProblem& problem, GemmLargeOperands& operands);

 private:
  const Gpu& gpu_;
  std::vector<GpuBuffer> sums_, counters_;
};

// Runs kernels on one small problem and compares with plain loops, computed once.
class LargeChecker {
 public:
  LargeChecker(const Gpu& gpu, LargeWorkspace& workspace, const LargeSmall& one, unsigned seed);
  ~LargeChecker();
  LargeCheck check(const GemmLargeKernel& kernel);

 private:
  struct State;
  template <class T>
  void prepare(unsigned seed);
  template <class T>
  LargeCheck check_typed(const GemmLargeKernel& kernel);

  const Gpu& gpu_;
  LargeWorkspace& workspace_;
  LargeSmall one_;
  std::unique_ptr<State> state_;
};

// Operands of the timed problems: uniform values in [-0.5, 0.5), a block of them repeated, so that the host
// knows every element.
class LargeOperandPool {
 public:
  LargeOperandPool(const Gpu& gpu, std::size_t bytes_each);
  void fill(DType dtype);
  GemmLargeOperands operands() const { return {a_.as<void>(), b_.as<void>(), c_.as<void>()}; }
  // C as NaN, for runs with beta = 0.
  void poison();
  // Elements of C = op(A) op(B) at sampled rows and columns against sums formed on the host.
  LargeCheck sample(const GemmProblem& problem) const;
  std::size_t bytes_each() const { return c_.bytes(); }

 private:
  template <class T>
  LargeCheck sample_typed(const GemmProblem& problem) const;
  template <class T>
  T element(std::int64_t index) const;

  const Gpu& gpu_;
  GpuBuffer a_, b_, c_;
  std::vector<double> block_f64_;
  std::vector<float> block_f32_;
  std::size_t period_ = 0;  // real numbers
};

}  // namespace tilewright::bench
