// The names of libtilewright_scalapack, which take precedence over ScaLAPACK's of the same name: pxGETRF,
// pxGETF2, pxLASWP, and PILAENV, which sets the depth of the products of PBLAS.
#include <cstdlib>

#include "scalapack/block.hpp"
#include "scalapack/factor.hpp"
#include "scalapack/panel.hpp"

#define TILEWRIGHT_SHOWN __attribute__((visibility("default")))

namespace tilewright::scalapack {

#define TILEWRIGHT_SCALAPACK(p, T)                                                                           \
  extern "C" TILEWRIGHT_SHOWN void p##getrf_(const int* m, const int* n, T* a, const int* ia, const int* ja, \
                                             const int* desc, int* pivots, int* info) {                      \
    factor<T>(m, n, a, ia, ja, desc, pivots, info);                                                          \
  }                                                                                                          \
  extern "C" TILEWRIGHT_SHOWN void p##getf2_(const int* m, const int* n, T* a, const int* ia, const int* ja, \
                                             const int* desc, int* pivots, int* info) {                      \
    factor_panel<T>(m, n, a, ia, ja, desc, pivots, info);                                                    \
  }                                                                                                          \
  extern "C" TILEWRIGHT_SHOWN void p##laswp_(const char* direction, const char* what, const int* n, T* a,    \
                                             const int* ia, const int* ja, const int* desc, const int* k1,   \
                                             const int* k2, const int* pivots) {                             \
    swap<T>(direction, what, n, a, ia, ja, desc, k1, k2, pivots);                                            \
  }
TILEWRIGHT_SCALAPACK(ps, float)
TILEWRIGHT_SCALAPACK(pd, double)
TILEWRIGHT_SCALAPACK(pc, std::complex<float>)
TILEWRIGHT_SCALAPACK(pz, std::complex<double>)

extern "C" TILEWRIGHT_SHOWN int pilaenv_(const int*, const char*) { return logical_block(); }

}  // namespace tilewright::scalapack
