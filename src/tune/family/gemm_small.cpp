// Batched small GEMM on the GPU as a family: batches that no cache holds, in every layout of one kernel.
#include <algorithm>

#include "kernel/gemm_small/loader.hpp"
#include "measure/gpu/arena.hpp"
#include "tune/family/family.hpp"
#include "tune/gpu/pool.hpp"

namespace tilewright {
namespace {

constexpr unsigned edge_blocks = 3;  // few, so that each wraps its ring several times

// Bound by memory: the previous kernel does not matter, and device events are steady without halving.
constexpr SearchPace small_pace{.shortest_turn_s = 1e-3,
                                .longest_screening_s = 1e-3,
                                .longest_halving_s = 1e-3,
                                .longest_final_s = 4e-3,
                                .strategy_share = 0.8,
                                .halving_share = 0.8,
                                .incumbent_tie = 0.02,
                                .default_budget_s = 30,
                                .energy_budget_s = 300};

constexpr ChoiceSizes small_sizes{.standard = 240, .whole = 4000, .fewest = 24};

// The second kernel and the scratch of a batch that is reduced into one C.
struct AddingUp {
  AddingUp(const GemmProblem& p, TuneGpu& gpu)
      : kernel(
            gpu.gpu(),
            gpu.compiler().compile(gemm_small_total_request(p.dtype, gpu.gpu().limits().compute_capability)),
            p.dtype),
        scratch(gpu.gpu(), gemm_small_parts_bytes(p, p.batch_count)) {}

  GemmSmallTotal kernel;
  GpuBuffer scratch;
};

class SmallTrial : public GpuTrial {
 public:
  SmallTrial(const GemmProblem& problem, const GemmSmallShape& shape, std::unique_ptr<GemmSmallKernel> kernel,
             std::shared_ptr<const AddingUp> adding_up)
      : problem_(problem),
        one_block_(shape.interleave == 0),
        kernel_(std::move(kernel)),
        adding_up_(std::move(adding_up)) {
    // The code has the size of small blocks: a shorter batch must consist of several.
    if (problem_.layout == Layout::interleaved && !one_block_) problem_.layout = Layout::block_interleaved;
  }

  // The last tile is not full if tiles hold several problems; variable sizes and lds are mixed.
  SmallCase edges() const override {
    const GemmSmallConfig& c = kernel_->config();
    GemmProblem p = problem_;
    p.batch_count = std::int64_t(c.matrices_per_block) * (edge_blocks * (c.stages + 2)) -
                    (c.matrices_per_block > 1 ? c.matrices_per_block / 2 : 0) -
                    (c.matrices_per_block > 2 ? 1 : 0);
    if (one_block_) p.block = p.batch_count;
    return {.problem = p, .gaps = true};
  }
  void run_edges(const Operands& o) const override { launch(o, edges().problem, edge_blocks); }
  void run(const Operands& o) const override { launch(o, problem_, 0); }

 private:
  void launch(const Operands& o, const GemmProblem& p, unsigned blocks) const {
    if (adding_up_ != nullptr)
      return gemm_small_reduce(*kernel_, adding_up_->kernel, p, o, p.batch_count,
                               adding_up_->scratch.as<void>());
    kernel_->launch(gemm_small_operands(p, o), static_cast<CUstream_st*>(o.stream), blocks);
  }

  GemmProblem problem_;
  bool one_block_;  // all problems are interleaved together, however many they are
  std::unique_ptr<GemmSmallKernel> kernel_;
  std::shared_ptr<const AddingUp> adding_up_;  // null if each product, or run of them, has its own C
};

bool lies_anywhere(const GemmProblem& p) {
  return p.layout == Layout::pointer || p.layout == Layout::variable;
}

// The shape that plans guarantee. Pointer batches have no alignment.
GemmSmallShape planned_shape(const GemmProblem& p) {
  return gemm_small_shape(p, lies_anywhere(p) ? static_cast<int>(size_bytes(p.dtype)) : gpu_operand_align);
}

class SmallKernelsOf : public GpuKernelsOf<GemmSmallConfig> {
 public:
  SmallKernelsOf(const GemmProblem& problem, std::vector<GemmSmallConfig> configs, TuneGpu& gpu)
      : GpuKernelsOf(std::move(configs)), problem_(problem), shape_(planned_shape(problem)), gpu_(gpu) {
    if (problem.sums == Sums::batch_reduce) adding_up_ = std::make_shared<const AddingUp>(problem, gpu);
  }

  const char* family() const override { return "gemm_small"; }
  JitBinary compile(std::size_t i) const override {
    return gpu_.compiler().compile(
        gemm_small_request(shape_, config(i), problem_.dtype, gpu_.gpu().limits().compute_capability));
  }
  std::unique_ptr<GpuTrial> load(std::size_t i, const JitBinary& binary) const override {
    return std::make_unique<SmallTrial>(
        problem_, shape_,
        std::make_unique<GemmSmallKernel>(gpu_.gpu(), binary, shape_, config(i), problem_.dtype), adding_up_);
  }

 private:
  GemmProblem problem_;
  GemmSmallShape shape_;
  TuneGpu& gpu_;
  std::shared_ptr<const AddingUp> adding_up_;
};

// The problem with as many matrices as the arena holds, or its own in isolated calls.
GemmProblem filling(const GpuArena& arena, GemmProblem p) {
  p.residency = Residency::cold;
  GemmProblem one = with_places_of_pointers(p);
  one.batch_count = one.block = 1;
  const GpuOperandBytes each = gpu_operand_bytes(one);
  const std::int64_t size = size_bytes(p.dtype);
  std::int64_t elements =
      std::max({std::int64_t(std::max({each.a, each.b, each.c})) / size, p.stride_a, p.stride_b, p.stride_c});
  if (lies_anywhere(p)) elements = gpu_pointer_distance(elements, size);
  std::int64_t count = std::int64_t(arena.operand_bytes()) / (elements * size);
  if (p.arrival == Arrival::idle) count = std::min(count, p.batch_count);
  const std::int64_t in_block = p.layout == Layout::block_interleaved ? p.block : 1;
  p.batch_count = std::max(in_block, count / in_block * in_block);
  if (p.layout == Layout::interleaved) p.block = p.batch_count;
  return p;
}

class SmallFamily : public FamilyOf<GemmSmallConfig> {
 public:
  using FamilyOf::FamilyOf;

  std::optional<Decline> declines(const GemmProblem& p) const override {
    if (const auto limit = gemm_small_largest(p);
        p.location != Location::device || std::max({p.m, p.n, p.k}) > limit)
      return Decline{.argument = "problem",
                     .reason = fmt::format("it is not a problem on a GPU with sizes up to {}", limit),
                     .elsewhere = true};
    if (auto decline = gpu_declines(p)) return decline;
    if (p.layout == Layout::single)
      return Decline{.argument = "layout",
                     .reason = fmt::format("up to size {} batches are tuned on a GPU (strided, pointer, "
                                           "interleaved, block_interleaved or variable) and sums of products",
                                           gemm_small_limit)};
    if (p.layout == Layout::grouped)
      return Decline{.argument = "layout", .reason = "tune its pointer batches instead"};
    return std::nullopt;
  }

  OpenProblem open(const GemmProblem& problem, const ChoiceRules& rules, TuneMachine& machine,
                   double) const override {
    TuneGpu& gpu = machine.gpu();
    const GemmProblem timed = filling(gpu.arena(), problem);
    OpenProblem open{.subject = to_string(timed)};
    reserve_operands(timed, gpu);
    const GpuLimits& limits = gpu.gpu().limits();
    const GemmSmallShape shape = planned_shape(timed);
    const DType dtype = problem.dtype;
    // The number of threads follows the other axes: a block must have work and room for them.
    auto choice = choose_configs(
        timed, rules, gemm_small_default(shape, dtype, limits), gemm_small_space(shape, dtype, limits),
        small_sizes, [&](std::size_t most) { return gemm_small_promising(shape, dtype, limits, most); },
        &open.removed, "threads");
    open.incumbent = choice.incumbent;
    open.pool = std::make_unique<GpuPool>(
        timed, std::make_unique<SmallKernelsOf>(timed, std::move(choice.configs), gpu), GpuVendor{}, gpu);
    return open;
  }
};

}  // namespace

const TuneFamily& gemm_small_family() {
  static const SmallFamily family("gemm_small", small_pace);
  return family;
}

}  // namespace tilewright
