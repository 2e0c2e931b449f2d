// The stages of a block's rings that a tile occupies.
#pragma once

#include "kernel/gemm_small/config.hpp"

namespace tilewright {

// The stages of one tile; C may have a longer ring than A and B, entries always do.
template <GemmSmallShape S, GemmSmallConfig C>
struct GemmSmallPlace {
  static constexpr int stages_c = gemm_small_stages_c(S, C);
  // Tiles by which loading follows storing; with one stage none can be spared.
  static constexpr int refill_lag =
      C.store == GemmSmallStore::bulk && C.refill == GemmSmallRefill::late && C.stages > 1 ? 1 : 0;
  // Stores that may still read shared memory when the next tile is loaded.
  static constexpr int stores_pending = refill_lag == 1 || C.refill == GemmSmallRefill::spare ? 1 : 0;

  int stage = 0;
  int stage_c = 0;
  int entries = 0;

  __device__ __forceinline__ void next() {
    stage = stage + 1 == C.stages ? 0 : stage + 1;
    stage_c = stage_c + 1 == stages_c ? 0 : stage_c + 1;
    entries = entries + 1 == gemm_small_entry_slots(S, C) ? 0 : entries + 1;
  }
  // Returns the place of the tile loaded next: C.stages - refill_lag tiles later.
  __device__ __forceinline__ GemmSmallPlace refilled() const {
    GemmSmallPlace place = *this;
    if (refill_lag == 1) place.stage = stage == 0 ? C.stages - 1 : stage - 1;
    // A ring of C shorter than C.stages + 1 is never loaded into.
    if (stores_pending == 1) place.stage_c = stage_c == 0 ? stages_c - 1 : stage_c - 1;
    place.entries = (entries + C.stages - refill_lag) % gemm_small_entry_slots(S, C);
    return place;
  }
};

}  // namespace tilewright
