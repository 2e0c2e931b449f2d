// Large GEMM on the GPU as a family, with the vendor's library as a peer.
#include <algorithm>

#include "kernel/gemm_large/loader.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "tune/family/family.hpp"
#include "tune/gpu/pool.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {
namespace {

// At the card's power limit the clock follows the load within tens of milliseconds: short turns measure what
// ran before them.
constexpr SearchPace large_pace{.shortest_turn_s = 1e-3,
                                .longest_screening_s = 1e-2,
                                .longest_halving_s = 4e-2,
                                .longest_final_s = 1e-1,
                                .strategy_share = 0.5,
                                .halving_share = 0.75,
                                .incumbent_tie = 0.02,
                                .default_budget_s = 30,
                                .energy_budget_s = 300,
                                .check_budget_s = 2};

constexpr ChoiceSizes large_sizes{.standard = 240, .whole = 4000, .fewest = 24};

// The first matrices are aligned as allocations are.
GemmLargeShape shape_of(const GemmProblem& p) {
  return gemm_large_shape(p, gemm_large_alignment(p, gpu_operand_align));
}

// A problem with partial tiles in all directions, a partial last k range, gaps and the shape's alignment.
GemmProblem large_edges(const GemmProblem& like, const GemmLargeShape& shape, const GemmLargeConfig& c) {
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
    // No better aligned than the shape says, so that columns begin at different offsets.
    return align < gemm_large_chunk && ld / step % 2 == 0 ? ld + step : ld;
  };
  p.lda = leading(p.a_rows(), shape.align_a);
  p.ldb = leading(p.b_rows(), shape.align_b);
  p.ldc = leading(p.m, shape.align_c);
  if (shape.batch == GemmLargeBatch::strided) {
    p.layout = Layout::strided;
    p.batch_count = 3;
    p.stride_a = p.lda * p.a_cols();
    p.stride_b = p.ldb * p.b_cols();
    p.stride_c = p.ldc * p.n;
  }
  return p;
}

class LargeTrial : public GpuTrial {
 public:
  LargeTrial(const GemmProblem& problem, std::unique_ptr<GemmLargeKernel> kernel, GemmLargeScratch& scratch)
      : problem_(problem),
        edges_(large_edges(problem, kernel->shape(), kernel->config())),
        kernel_(std::move(kernel)),
        scratch_(scratch) {}

  SmallCase edges() const override { return {.problem = edges_}; }
  void run_edges(const Operands& o) const override { launch(edges_, o); }
  void run(const Operands& o) const override { launch(problem_, o); }

 private:
  void launch(const GemmProblem& p, const Operands& o) const {
    GemmLargeOperands operands{o.a, o.b, o.c, o.alpha, p.beta == Scalar::zero ? nullptr : o.beta};
    scratch_.provide(*kernel_, p, operands);
    kernel_->launch(p, operands, static_cast<CUstream_st*>(o.stream));
  }

  GemmProblem problem_, edges_;
  std::unique_ptr<GemmLargeKernel> kernel_;
  GemmLargeScratch& scratch_;
};

class LargeKernelsOf : public GpuKernelsOf<GemmLargeConfig> {
 public:
  LargeKernelsOf(const GemmProblem& problem, std::vector<GemmLargeConfig> configs, TuneGpu& gpu)
      : GpuKernelsOf(std::move(configs)),
        problem_(problem),
        shape_(shape_of(problem)),
        gpu_(gpu),
        scratch_(gpu.gpu()) {}

  const char* family() const override { return "gemm"; }
  JitBinary compile(std::size_t i) const override {
    const GpuLimits& limits = gpu_.gpu().limits();
    JitBinary binary = gpu_.compiler().compile(
        gemm_large_request(shape_, config(i), problem_.dtype, limits.compute_capability));
    if (const std::string reason = gemm_large_refusal(binary, config(i), limits); !reason.empty())
      throw Error(ErrorCode::unsupported, "config", reason);
    return binary;
  }
  std::unique_ptr<GpuTrial> load(std::size_t i, const JitBinary& binary) const override {
    const Gpu& gpu = gpu_.gpu();
    auto kernel = std::make_unique<GemmLargeKernel>(gpu, binary, shape_, config(i), problem_.dtype);
    const std::int64_t scratch = kernel->needs(problem_).workspace_bytes;
    const GpuOperandBytes& held = gpu_.arena().bytes();
    const std::int64_t left = gpu.limits().memory_bytes - std::int64_t(held.a + held.b + held.c);
    if (scratch > left)
      throw Error(ErrorCode::unsupported, "config",
                  fmt::format("it needs {} bytes of workspace, but {} are left beside the operands", scratch,
                              std::max<std::int64_t>(0, left)));
    return std::make_unique<LargeTrial>(problem_, std::move(kernel), scratch_);
  }

 private:
  GemmProblem problem_;
  GemmLargeShape shape_;
  TuneGpu& gpu_;
  mutable GemmLargeScratch scratch_;  // trials run one after the other
};

class LargeFamily : public FamilyOf<GemmLargeConfig> {
 public:
  using FamilyOf::FamilyOf;

  std::optional<Decline> declines(const GemmProblem& p) const override {
    if (const auto limit = gemm_small_largest(p);
        p.location != Location::device || std::max({p.m, p.n, p.k}) <= limit)
      return Decline{.argument = "problem",
                     .reason = fmt::format("it is not a problem on a GPU with a size above {}", limit),
                     .elsewhere = true};
    if (auto decline = gpu_declines(p)) return decline;
    if (p.layout != Layout::strided && p.layout != Layout::single)
      return Decline{.argument = "layout",
                     .reason = fmt::format("above size {} single problems and strided batches are tuned",
                                           gemm_small_limit)};
    return std::nullopt;
  }

  OpenProblem open(const GemmProblem& problem, const ChoiceRules& rules, TuneMachine& machine,
                   double) const override {
    TuneGpu& gpu = machine.gpu();
    GemmProblem timed = problem;
    timed.residency = Residency::cold;
    OpenProblem open{.subject = to_string(timed)};
    reserve_operands(timed, gpu);
    const GpuLimits& limits = gpu.gpu().limits();
    const GemmLargeDevice device = gemm_large_device(
        limits, fitted_coefficients(machine.wisdom(), limits.name, architecture_of(limits)));
    const GemmLargeShape shape = shape_of(timed);
    const bool any_sums = rules.speak_of("sum_turns");  // only on request, to measure their cost
    auto choice = choose_configs(
        timed, rules, gemm_large_default(timed, shape, device),
        any_sums ? gemm_large_space(timed, shape, limits) : gemm_large_accurate_space(timed, shape, device),
        large_sizes, [&](std::size_t most) { return gemm_large_promising(timed, shape, device, most); },
        &open.removed);
    open.incumbent = choice.incumbent;
    GpuVendor vendor;
    if (!rules.incumbent_only) vendor = open_gpu_vendor(gpu.gpu(), timed);
    if (!vendor.absence.empty())
      open.absent_peers.push_back(fmt::format("{}: {}", gpu_vendor_family, vendor.absence));
    open.pool = std::make_unique<GpuPool>(
        timed, std::make_unique<LargeKernelsOf>(timed, std::move(choice.configs), gpu), std::move(vendor),
        gpu);
    return open;
  }
};

}  // namespace

const TuneFamily& gemm_large_family() {
  static const LargeFamily family("gemm", large_pace);
  return family;
}

}  // namespace tilewright
