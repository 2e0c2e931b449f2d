// Chooses blocks and binds kernels.
#include "gemm/cpu_small/cold_kernel.hpp"

#include <bit>

namespace tilewright {
namespace {

int parts_of(int total, int most) { return (total + most - 1) / most; }
int even_part(int total, int most) { return parts_of(total, parts_of(total, most)); }

}  // namespace

ColdBlocks::ColdBlocks() : target_(portable_target()) {
  for (const int parts : {1, 2}) {
    Even& even = even_[std::size_t(parts - 1)];
    double best = 0;
    int rows = 1;
    for (int mr = 1; mr <= portable_max_mr; ++mr) {
      int nr = 0;
      while (nr < portable_max_nr && portable_tile_fits(mr, nr + 1, parts, target_.registers)) ++nr;
      if (nr == 0) break;
      for (std::size_t n = 1; n < sizes; ++n)
        even.columns[std::size_t(mr - 1)][n] = std::uint8_t(even_part(int(n), nr));
      // Multiply-adds per load.
      const double rate = double(mr * nr) / double(mr + parts * nr);
      if (rate > best) best = rate, rows = mr;
    }
    for (std::size_t m = 1; m < sizes; ++m) even.rows[m] = std::uint8_t(even_part(int(m), rows));
  }
}

GemmSmallCpuConfig ColdBlocks::config(const GemmProblem& p) const {
  const Even& even = even_[is_complex(p.dtype) ? 1 : 0];
  const auto bytes = unsigned(p.m * size_bytes(p.dtype)), vector = unsigned(target_.vector_bytes);
  const unsigned vectors = (bytes + vector - 1) >> std::countr_zero(vector);
  GemmSmallCpuConfig config;
  config.isa = Isa::portable;
  config.vector_bits = 8 * target_.vector_bytes;
  config.mr = even.rows[vectors];
  config.nr = even.columns[std::size_t(config.mr - 1)][std::size_t(p.n)];
  return config;
}

ColdKernel::ColdKernel(const ColdBlocks& blocks, const GemmProblem& problem) {
  config_ = blocks.config(problem);
  plan_ = bind_portable_columns(problem, config_);
  function_ = [](const GemmSmallCpuArguments* arguments) {
    const PortableColumns& plan = static_cast<const ColdKernel*>(arguments->self)->plan_;
    plan.run(plan, *arguments);
  };
}

}  // namespace tilewright
