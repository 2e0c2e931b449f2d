// Instructions of the main loop of a compiled kernel of large GEMM, from its disassembly.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gemm_large_device.hpp"

namespace tilewright::bench {

struct LargeCounts {
  // Of one warp and one k tile, by kind (kernel/sass.hpp), with "all" and "products_per_shared_load"; null
  // where there is none.
  nlohmann::json instructions;
  std::string fault;  // why there is none; "" = there is
};
// Of a trial that the compiler's cache, or else the compiler, gives the machine code of.
LargeCounts count_main_loop(const StencilCompiler& compiler, const LargeTrial& trial, DType dtype,
                            int compute_capability, const std::string& nvdisasm);

}  // namespace tilewright::bench
