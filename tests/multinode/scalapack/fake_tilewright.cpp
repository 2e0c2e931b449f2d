// A libtilewright that factors on the host, for a team of one, and can be set to take no part.
#include <algorithm>
#include <cmath>

#include "fake_scalapack.hpp"
#include "tilewright/tilewright_multinode.h"

extern "C" {

FakeGpus fake_gpus;

tilewright_status tilewright_create(const char*, const char*, tilewright_context** context) {
  *context = reinterpret_cast<tilewright_context*>(&fake_gpus);
  return TILEWRIGHT_OK;
}
const char* tilewright_last_error(const tilewright_context*) { return "the fake has nothing to say"; }

tilewright_status tilewright_lu_can_factor_cyclic(tilewright_context*, tilewright_dtype, int64_t, int64_t,
                                                  int64_t, const tilewright_lu_team*,
                                                  const tilewright_lu_options*) {
  ++fake_gpus.asked;
  return fake_gpus.takes_part ? TILEWRIGHT_OK : TILEWRIGHT_UNSUPPORTED;
}

tilewright_status tilewright_lu_factor_cyclic(tilewright_context*, tilewright_dtype dtype, int64_t m,
                                              int64_t n, int64_t, void* data, int64_t lda, int64_t* pivots,
                                              int64_t* info, const tilewright_lu_team* team,
                                              const tilewright_lu_options*) {
  if (dtype != TILEWRIGHT_F64 || team->members != 1 || team->own != 0) return TILEWRIGHT_INTERNAL;
  ++fake_gpus.factored;
  auto* const a = static_cast<double*>(data);
  const auto at = [&](int64_t i, int64_t j) -> double& { return a[j * lda + i]; };
  *info = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < m; ++i)
      if (std::abs(at(i, k)) > std::abs(at(best, k))) best = i;
    pivots[k] = best + 1;
    if (at(best, k) == 0) {
      if (*info == 0) *info = k + 1;
      continue;
    }
    for (int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(best, j));
    for (int64_t i = k + 1; i < m; ++i) at(i, k) /= at(k, k);
    for (int64_t j = k + 1; j < n; ++j)
      for (int64_t i = k + 1; i < m; ++i) at(i, j) -= at(i, k) * at(k, j);
  }
  return TILEWRIGHT_OK;
}
}
