// Disassembles and counts.
#include "gemm_large_counts.hpp"

#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/jit/sass.hpp"

namespace tilewright::bench {

LargeCounts count_main_loop(const StencilCompiler& compiler, const LargeTrial& trial, DType dtype,
                            int compute_capability, const std::string& nvdisasm) {
  const GemmLargeConfig& c = trial.config;
  const double products =
      double(c.warp_m) * c.warp_n * c.tile_k * (is_complex(dtype) ? 4 : 1) / gemm_large_products_at_once(c);
  LargeCounts result;
  try {
    const JitBinary binary =
        compile_gemm_large(compiler, trial.kernel->shape(), c, dtype, compute_capability);
    const SassCounts counts =
        sass_main_loop(parse_sass(disassemble(binary.code, nvdisasm), binary.function()), products);
    if (counts.empty()) {
      result.fault = "no loop of the machine code multiplies";
      return result;
    }
    result.instructions = to_json_object(counts);
    result.instructions["all"] = total_of(counts);
    const auto loads = counts.find(SassKind::shared_load);
    if (loads != counts.end() && loads->second > 0)
      result.instructions["products_per_shared_load"] = counts.at(SassKind::product) / loads->second;
  } catch (const Error& error) {
    result.fault = error.what();
  }
  return result;
}

}  // namespace tilewright::bench
