// The portable part of gemm_small_cpu: its space, default config and kernel object, which binds a problem to
// the tiles that Highway compiled for this CPU. It serves every layout, type and op.
#include "kernel/gemm_small_cpu/portable.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright {
namespace {

bool along_slots(const GemmProblem& problem) {
  return problem.layout == Layout::interleaved || problem.layout == Layout::block_interleaved;
}

template <class Plan>
class PortableKernel : public GemmSmallCpuKernel {
 public:
  PortableKernel(const Plan& plan, const GemmSmallCpuConfig& config) : plan_(plan) {
    config_ = config;
    function_ = [](const GemmSmallCpuArguments* args) {
      const Plan& bound = static_cast<const PortableKernel*>(args->self)->plan_;
      bound.run(bound, *args);
    };
  }

 private:
  Plan plan_;
};

bool fits(const GemmProblem& problem, int mr, int nr, int registers) {
  const int parts = is_complex(problem.dtype) ? 2 : 1;
  return along_slots(problem) ? portable_slot_tile_fits(mr, nr, parts, registers)
                              : portable_tile_fits(mr, nr, parts, registers);
}

// Returns the cycles per step of k of an mr x nr block with two loads and two multiply-adds a cycle of
// latency four; only the order of candidates matters.
double estimate(const GemmProblem& problem, int mr, int nr, const PortableTarget& target) {
  const int parts = is_complex(problem.dtype) ? 2 : 1;
  const std::int64_t lane_bytes = size_bytes(problem.dtype);
  const std::int64_t per_vector = along_slots(problem) ? 1 : target.vector_bytes / lane_bytes;
  const std::int64_t vectors = (problem.m + per_vector - 1) / per_vector;
  double cycles = 0;
  for (std::int64_t i = 0; i < vectors; i += mr)
    for (std::int64_t j = 0; j < problem.n; j += nr) {
      const double rows = static_cast<double>(std::min<std::int64_t>(mr, vectors - i));
      const double columns = static_cast<double>(std::min<std::int64_t>(nr, problem.n - j));
      const double right_loads = along_slots(problem) ? columns : columns * parts;
      const double throughput = std::max(parts * rows * columns, rows + right_loads) / 2;
      // A call, clearing and combining the sums, over k; the chain of one sum bounds a short block.
      cycles += std::max(throughput, 2.5) + 12.0 / static_cast<double>(std::max<std::int64_t>(problem.k, 1));
    }
  return cycles;
}

}  // namespace

Space<GemmSmallCpuConfig> portable_space(const GemmProblem& problem) {
  const PortableTarget target = portable_target();
  std::vector<int> mr(portable_max_mr), nr(portable_max_nr);
  std::iota(mr.begin(), mr.end(), 1);
  std::iota(nr.begin(), nr.end(), 1);
  Space<GemmSmallCpuConfig> space;
  space.axis(&GemmSmallCpuConfig::isa, std::vector{Isa::portable})
      .axis(&GemmSmallCpuConfig::vector_bits, std::vector{8 * target.vector_bytes})
      .axis(&GemmSmallCpuConfig::mr, mr)
      .axis(&GemmSmallCpuConfig::nr, nr)
      .axis(&GemmSmallCpuConfig::sum_block, std::vector{0})
      .require("the sums of the mr x nr block and its operands must fit the vector registers",
               [problem, target](const GemmSmallCpuConfig& config) {
                 return fits(problem, config.mr, config.nr, target.registers);
               });
  return space;
}

GemmSmallCpuConfig portable_default(const GemmProblem& problem) {
  const PortableTarget target = portable_target();
  GemmSmallCpuConfig best{.isa = Isa::portable, .vector_bits = 8 * target.vector_bytes, .mr = 1, .nr = 1};
  double least = estimate(problem, best.mr, best.nr, target);
  for (int mr = 1; mr <= portable_max_mr; ++mr)
    for (int nr = 1; nr <= portable_max_nr; ++nr) {
      if (!fits(problem, mr, nr, target.registers)) continue;
      const double cycles = estimate(problem, mr, nr, target);
      if (cycles >= least) continue;
      least = cycles;
      best.mr = mr;
      best.nr = nr;
    }
  return best;
}

std::shared_ptr<const GemmSmallCpuKernel> make_portable(const GemmProblem& problem,
                                                        const GemmSmallCpuConfig& config) {
  if (const auto reasons = portable_space(problem).explain(config); !reasons.empty())
    throw Error(
        ErrorCode::invalid_argument, "config",
        fmt::format("config {} has no portable kernel: {}", describe(config), fmt::join(reasons, "; ")));
  if (along_slots(problem))
    return std::make_shared<PortableKernel<PortableSlots>>(bind_portable_slots(problem, config), config);
  return std::make_shared<PortableKernel<PortableColumns>>(
      bind_portable_columns(problem, portable_blocks(problem, config.mr, config.nr)), config);
}

}  // namespace tilewright
