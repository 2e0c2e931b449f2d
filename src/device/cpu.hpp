// The CPU: which instruction sets processor and operating system allow, its name, cores and caches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

struct CpuInfo {
  std::string model;           // e.g. "Intel(R) Xeon(R) Processor"
  bool avx2_fma = false;       // AVX2 and FMA, with YMM state enabled by the operating system (XCR0)
  bool avx512 = false;         // AVX-512 F, DQ, VL, BW, with ZMM and mask state enabled
  int cores = 1;               // that this process may run on
  std::int64_t l1d_bytes = 0;  // per core; 0 = unknown
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;  // as one core sees it
  int numa_nodes = 1;
};
const CpuInfo& cpu_info();  // read once; immutable afterwards

}  // namespace tilewright
