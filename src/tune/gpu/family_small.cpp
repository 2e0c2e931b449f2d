// Batched small GEMM as a family that is tuned.

#include "kernel/gemm_small/loader.hpp"
#include "tune/gpu/family.hpp"

namespace tilewright {
namespace {

constexpr unsigned edge_blocks = 3;  // few, so that each makes several turns of its ring

class SmallTrial : public GpuTrial {
 public:
  SmallTrial(const GemmProblem& problem, const GemmSmallShape& shape, std::unique_ptr<GemmSmallKernel> kernel)
      : problem_(problem), one_block_(shape.interleave == 0), kernel_(std::move(kernel)) {
    // The code knows the size of small blocks, so that a shorter batch must consist of several.
    if (problem_.layout == Layout::interleaved && !one_block_) problem_.layout = Layout::block_interleaved;
  }

  // A last tile that is not full where tiles hold several problems.
  GemmProblem edges() const override {
    const GemmSmallConfig& c = kernel_->config();
    GemmProblem p = problem_;
    p.batch_count = std::int64_t(c.matrices_per_block) * (edge_blocks * (c.stages + 2)) -
                    (c.matrices_per_block > 1 ? c.matrices_per_block / 2 : 0) -
                    (c.matrices_per_block > 2 ? 1 : 0);
    if (one_block_) p.block = p.batch_count;
    return p;
  }
  void run_edges(const Operands& o) const override { launch(o, edges(), edge_blocks); }
  void run(const Operands& o) const override { launch(o, problem_, 0); }

 private:
  // The kernel knows what its operands are: addresses of strided or interleaved matrices, or arrays of
  // addresses.
  void launch(const Operands& o, const GemmProblem& p, unsigned blocks) const {
    const bool interleaved = is_interleaved(p.layout);
    const auto step = [&](std::int64_t stride) { return interleaved ? p.block : stride; };
    kernel_->launch({o.a, o.b, o.c, o.alpha, o.beta, p.batch_count, step(p.stride_a), step(p.stride_b),
                     step(p.stride_c), p.lda, p.ldb, p.ldc},
                    static_cast<CUstream_st*>(o.stream), blocks);
  }

  GemmProblem problem_;
  bool one_block_;  // all problems are interleaved together, however many they are
  std::unique_ptr<GemmSmallKernel> kernel_;
};

// What plans vouch for: nothing is known of where the matrices of pointer batches lie.
GemmSmallShape planned_shape(const GemmProblem& p) {
  return gemm_small_shape(
      p, p.layout == Layout::pointer ? static_cast<int>(size_bytes(p.dtype)) : gpu_operand_align);
}

class SmallFamily : public GpuConfigs<GemmSmallConfig> {
 public:
  SmallFamily(const GemmProblem& problem, const StencilCompiler& compiler,
              std::vector<GemmSmallConfig> configs, const GpuChoiceRules& rules,
              const Space<GemmSmallConfig>& space, const GpuArena& arena)
      : GpuConfigs(std::move(configs), rules.incumbent, space),
        problem_(problem),
        shape_(planned_shape(problem)),
        compiler_(compiler),
        gpu_(arena.gpu()) {}

  const char* name() const override { return "gemm_small"; }
  JitBinary compile(std::size_t i) const override {
    return compile_gemm_small(compiler_, shape_, config(i), problem_.dtype, gpu_.limits().compute_capability);
  }
  std::unique_ptr<GpuTrial> load(std::size_t i, const JitBinary& binary) const override {
    return std::make_unique<SmallTrial>(
        problem_, shape_, std::make_unique<GemmSmallKernel>(gpu_, binary, shape_, config(i), problem_.dtype));
  }

 private:
  GemmProblem problem_;
  GemmSmallShape shape_;
  const StencilCompiler& compiler_;
  const Gpu& gpu_;
};

}  // namespace

std::unique_ptr<GpuFamily> gpu_small_family(const GemmProblem& problem, const StencilCompiler& compiler,
                                            const GpuChoiceRules& rules, const GpuArena& arena) {
  check_axes<GemmSmallConfig>(rules);
  const GpuLimits& limits = arena.gpu().limits();
  const GemmSmallShape shape = planned_shape(problem);
  const auto space = gemm_small_space(shape, problem.dtype, limits);
  auto configs = gpu_configs(
      problem, rules, gemm_small_default(shape, problem.dtype, limits),
      [&](std::size_t count) { return gemm_small_promising(shape, problem.dtype, limits, count); }, space);
  return std::make_unique<SmallFamily>(problem, compiler, std::move(configs), rules, space, arena);
}

}  // namespace tilewright
