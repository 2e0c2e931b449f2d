// Large GEMM as a family that is tuned.
#include "tune/gpu/family_large.hpp"

#include <algorithm>

#include "tune/gpu/family.hpp"

namespace tilewright {
namespace {

// Of a batch whose first matrices lie as allocations do.
GemmLargeShape shape_of(const GemmProblem& p) {
  return gemm_large_shape(p, gemm_large_alignment(p, gpu_operand_align));
}

class LargeTrial : public GpuTrial {
 public:
  LargeTrial(const GemmProblem& problem, std::unique_ptr<GemmLargeKernel> kernel, GemmLargeScratch& scratch)
      : problem_(problem),
        edges_(gemm_large_edges(problem, kernel->shape(), kernel->config())),
        kernel_(std::move(kernel)),
        scratch_(scratch) {}

  GemmProblem edges() const override { return edges_; }
  void run_edges(const Operands& o) const override { launch(edges_, o); }
  void run(const Operands& o) const override { launch(problem_, o); }

 private:
  // One matrix after the other, as plans do.
  void launch(const GemmProblem& p, const Operands& o) const {
    GemmLargeOperands operands{o.a, o.b, o.c, o.alpha, p.beta == Scalar::zero ? nullptr : o.beta};
    scratch_.provide(*kernel_, p, operands);
    const std::int64_t size = size_bytes(p.dtype);
    for (std::int64_t q = 0; q < p.batch_count; ++q) {
      operands.a = static_cast<const char*>(o.a) + q * p.stride_a * size;
      operands.b = static_cast<const char*>(o.b) + q * p.stride_b * size;
      operands.c = static_cast<char*>(o.c) + q * p.stride_c * size;
      kernel_->launch(p, operands, static_cast<CUstream_st*>(o.stream));
    }
  }

  GemmProblem problem_, edges_;
  std::unique_ptr<GemmLargeKernel> kernel_;
  GemmLargeScratch& scratch_;
};

class LargeFamily : public GpuConfigs<GemmLargeConfig> {
 public:
  LargeFamily(const GemmProblem& problem, const StencilCompiler& compiler,
              std::vector<GemmLargeConfig> configs, const GpuChoiceRules& rules,
              const Space<GemmLargeConfig>& space, const GpuArena& arena)
      : GpuConfigs(std::move(configs), rules.incumbent, space),
        problem_(problem),
        shape_(shape_of(problem)),
        compiler_(compiler),
        arena_(arena),
        scratch_(arena.gpu()) {}

  const char* name() const override { return "gemm"; }
  JitBinary compile(std::size_t i) const override {
    const GpuLimits& limits = arena_.gpu().limits();
    JitBinary binary =
        compile_gemm_large(compiler_, shape_, config(i), problem_.dtype, limits.compute_capability);
    if (const std::string reason = gemm_large_refusal(binary, config(i), limits); !reason.empty())
      throw Error(ErrorCode::unsupported, "config", reason);
    return binary;
  }
  std::unique_ptr<GpuTrial> load(std::size_t i, const JitBinary& binary) const override {
    const Gpu& gpu = arena_.gpu();
    auto kernel = std::make_unique<GemmLargeKernel>(gpu, binary, shape_, config(i), problem_.dtype);
    const std::int64_t scratch = kernel->needs(problem_).workspace_bytes;
    const GpuOperandBytes& held = arena_.bytes();
    const std::int64_t left = gpu.limits().memory_bytes - std::int64_t(held.a + held.b + held.c);
    if (scratch > left)
      throw Error(ErrorCode::unsupported, "config",
                  fmt::format("it needs {} bytes of workspace, and {} are left beside the operands", scratch,
                              std::max<std::int64_t>(0, left)));
    return std::make_unique<LargeTrial>(problem_, std::move(kernel), scratch_);
  }

 private:
  GemmProblem problem_;
  GemmLargeShape shape_;
  const StencilCompiler& compiler_;
  const GpuArena& arena_;
  mutable GemmLargeScratch scratch_;  // trials run one after the other
};

}  // namespace

GemmProblem gemm_large_edges(const GemmProblem& like, const GemmLargeShape& shape, const GemmLargeConfig& c) {
  const int shared = std::max({1, c.split_k / 2, c.tail_k / 2});
  GemmProblem p = like;
  p.layout = Layout::single;
  p.batch_count = 1;
  p.stride_a = p.stride_b = p.stride_c = 0;
  p.m = c.tile_m + c.tile_m / 2 + 3;
  p.n = c.cluster * c.tile_n + c.tile_n / 2 + 5;  // the last cluster has blocks beyond C
  p.k = (c.stages + 2) * c.tile_k * shared + c.tile_k / 2 + 1;
  if (c.boundary == GemmLargeBoundary::none && c.load != GemmLargeLoad::tensor) {
    p.m = 2 * c.tile_m;
    p.n = 2 * c.tile_n;
    p.k = (c.stages + 2) * c.tile_k * shared;
  }
  const auto leading = [&](std::int64_t rows, int align) {
    const std::int64_t step = std::max<std::int64_t>(1, align / size_bytes(p.dtype));
    const std::int64_t ld = (rows + step - 1) / step * step + step;
    // No better aligned than the shape says, or columns that come by turns would all begin alike.
    return align < gemm_large_chunk && ld / step % 2 == 0 ? ld + step : ld;
  };
  p.lda = leading(p.a_rows(), shape.align_a);
  p.ldb = leading(p.b_rows(), shape.align_b);
  p.ldc = leading(p.m, shape.align_c);
  return p;
}

std::unique_ptr<GpuFamily> gpu_large_family(const GemmProblem& problem, const StencilCompiler& compiler,
                                            const GpuChoiceRules& rules, const GpuArena& arena) {
  check_axes<GemmLargeConfig>(rules);
  const GpuLimits& limits = arena.gpu().limits();
  const GemmLargeShape shape = shape_of(problem);
  const bool any_sums = rules.speak_of("sum_turns");  // by who wants to know what they cost
  const auto space =
      any_sums ? gemm_large_space(problem, shape, limits) : gemm_large_accurate_space(problem, shape, limits);
  auto configs = gpu_configs(
      problem, rules, gemm_large_default(problem, shape, limits),
      [&](std::size_t count) { return gemm_large_promising(problem, shape, limits, count); }, space);
  return std::make_unique<LargeFamily>(problem, compiler, std::move(configs), rules, space, arena);
}

}  // namespace tilewright
