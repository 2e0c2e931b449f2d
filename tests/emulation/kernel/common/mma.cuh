// The products of src/kernel/common/mma.cuh, emulated; found before those by the tests that run stencils on
// the host. Lanes of a warp exchange their operands through arrays.
#pragma once

#include <cstring>

#include "emulation/gpu.hpp"

namespace tilewright {

namespace emulation {

inline int warp_of() { return static_cast<int>(thread_index.x) / 32; }
inline int lane_of() { return static_cast<int>(thread_index.x) % 32; }

struct Fragments {
  double a[33][32][8], b[33][32][4];
};
inline Fragments fragments[4];  // of each block of a cluster

// c += a b of rows x 8 x k, where `Rows` is 8 or 16.
template <int Rows, int K>
void multiply(double* c, const double* a, const double* b) {
  auto& all_a = fragments[cluster_rank()].a[warp_of()];
  auto& all_b = fragments[cluster_rank()].b[warp_of()];
  const int g = lane_of() / 4, t = lane_of() % 4, halves = Rows / 8;
  std::memcpy(all_a[lane_of()], a, sizeof(double) * halves * K / 4);
  std::memcpy(all_b[lane_of()], b, sizeof(double) * K / 4);
  sync_warp();
  for (int h = 0; h < halves; ++h)
    for (int e = 0; e < 2; ++e)
      for (int k = 0; k < K; ++k)
        c[2 * h + e] += all_a[g * 4 + k % 4][h + halves * (k / 4)] * all_b[(2 * t + e) * 4 + k % 4][k / 4];
  sync_warp();
}

}  // namespace emulation

inline void mma_8x8x4(double& c0, double& c1, double a, double b) {
  double c[2] = {c0, c1};
  emulation::multiply<8, 4>(c, &a, &b);
  c0 = c[0];
  c1 = c[1];
}
inline void mma_16x8x4(double (&c)[4], const double* a, double b) { emulation::multiply<16, 4>(c, a, &b); }
inline void mma_16x8x8(double (&c)[4], const double* a, const double (&b)[2]) {
  emulation::multiply<16, 8>(c, a, b);
}
inline void mma_16x8x16(double (&c)[4], const double* a, const double (&b)[4]) {
  emulation::multiply<16, 16>(c, a, b);
}

}  // namespace tilewright
