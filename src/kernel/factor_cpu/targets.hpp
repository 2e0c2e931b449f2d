// The instruction sets that Highway compiles these kernels for; before hwy/foreach_target.h.
#pragma once

// The targets, as for the portable kernels of products (kernel/gemm_small_cpu/portable.hpp); x86 without AVX2
// has the plain fallback.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_AVX3_DL | HWY_SSE4 | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#if defined(__x86_64__) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
// Sanitizers check the same source once, with AVX2: emulated vectors are arrays, each access to which they
// would check, and compile several times as long.
#undef HWY_BROKEN_TARGETS
#define HWY_BROKEN_TARGETS HWY_AVX3
#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2
#endif
// Without this Highway's fallback has no pairs of lanes, which complex numbers are.
#undef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
