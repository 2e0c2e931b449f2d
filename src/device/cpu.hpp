// The CPU: its name, cores and caches, and the instruction sets that processor and operating system support.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

struct CpuInfo {
  std::string model;  // the brand, e.g. "Intel(R) Xeon(R) Processor"
  // The key of tuning results: the brand and, if it has no number, " (family 6, model 143, stepping 8)".
  std::string device;
  bool avx2_fma = false;       // AVX2 and FMA, with YMM state enabled by the operating system (XCR0)
  bool avx512 = false;         // AVX-512 F, DQ, VL, BW, with ZMM and mask state enabled
  int cores = 1;               // cores that this process may run on
  std::int64_t l1d_bytes = 0;  // per core; 0 = unknown
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;  // as seen from one core
  int numa_nodes = 1;
};
const CpuInfo& cpu_info();  // read once; immutable afterwards

// Returns the name for a brand and the processor's signature (CPUID leaf 1, eax; 0 = unknown).
std::string device_name(const std::string& brand, std::uint32_t signature);

}  // namespace tilewright
