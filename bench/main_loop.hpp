// Instructions of the main loop of a compiled kernel of large GEMM, from its disassembly: of one warp and one
// k tile, by kind (kernel/jit/sass.hpp).
#pragma once

#include <nlohmann/json.hpp>

#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/jit/sass.hpp"

namespace tilewright::bench {

// Throws Error where there is no disassembler or no loop of the machine code multiplies.
inline SassCounts main_loop_counts(const JitBinary& binary, const GemmLargeConfig& c, DType dtype,
                                   const std::string& nvdisasm) {
  const double products =
      double(c.warp_m) * c.warp_n * c.tile_k * (is_complex(dtype) ? 4 : 1) / gemm_large_products_at_once(c);
  const SassCounts counts =
      sass_main_loop(parse_sass(disassemble(binary.code, nvdisasm), binary.function()), products);
  if (counts.empty())
    throw Error(ErrorCode::unsupported, "--nvdisasm", "no loop of the machine code multiplies");
  return counts;
}

}  // namespace tilewright::bench
