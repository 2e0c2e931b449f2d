// The options of calls, each spoiled in each way that it can be: tables that the batteries of all calls go
// through, because what is refused by one call must not be taken by another.
#pragma once

#include <cmath>
#include <limits>

#include "golden/messages.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"

namespace tilewright::golden {

template <class Options>
struct SpoiledOption {
  const char* what;
  void (*spoil)(Options&);
};

std::span<const SpoiledOption<GemmOptions>> spoiled_gemm_options();
std::span<const SpoiledOption<LuOptions>> spoiled_lu_options();
std::span<const SpoiledOption<tilewright_options>> spoiled_c_options();
std::span<const SpoiledOption<tilewright_lu_options>> spoiled_c_lu_options();

// X has `options`.
template <class X, class Options>
void spoil_options(const Battery<X>& battery, std::span<const SpoiledOption<Options>> table) {
  for (const SpoiledOption<Options>& one : table) battery.run(one.what, [&](X& x) { one.spoil(x.options); });
}

}  // namespace tilewright::golden
