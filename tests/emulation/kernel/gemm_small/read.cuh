// The reads of src/kernel/gemm_small/read.cuh, emulated; found before those by the tests that run stencils on
// the host. Counts them.
#pragma once

namespace tilewright {

namespace emulation {
inline long long read_only_count = 0;
}

template <class P>
P read_only(const P* from) {
  static_assert(sizeof(P) == 4 || sizeof(P) == 8 || sizeof(P) == 16, "one instruction reads it");
  ++emulation::read_only_count;
  return *from;
}

}  // namespace tilewright
