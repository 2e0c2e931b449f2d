// Which blocks, and binding.
#include "gemm/small/cold_kernel.hpp"

namespace tilewright {
namespace {

int parts_of(int total, int most) { return (total + most - 1) / most; }
int even_part(int total, int most) { return parts_of(total, parts_of(total, most)); }

}  // namespace

ColdBlocks::ColdBlocks() : target_(portable_target()) {
  for (const int parts : {1, 2}) {
    Most& most = most_[parts - 1];
    double best = 0;
    for (int mr = 1; mr <= portable_max_mr; ++mr) {
      int& nr = most.columns[mr - 1];
      while (nr < portable_max_nr && portable_tile_fits(mr, nr + 1, parts, target_.registers)) ++nr;
      // Multiply-adds for each load.
      const double rate = double(mr * nr) / double(mr + parts * nr);
      if (nr > 0 && rate > best) best = rate, most.rows = mr;
    }
  }
}

GemmSmallCpuConfig ColdBlocks::config(const GemmProblem& p) const {
  const Most& most = most_[is_complex(p.dtype) ? 1 : 0];
  const int vectors = parts_of(int(p.m * size_bytes(p.dtype)), target_.vector_bytes);
  GemmSmallCpuConfig config;
  config.isa = Isa::portable;
  config.vector_bits = 8 * target_.vector_bytes;
  config.mr = even_part(vectors, most.rows);
  config.nr = even_part(int(p.n), most.columns[config.mr - 1]);
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
