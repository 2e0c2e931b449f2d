// Shared by all entry points: how they are exported, and the version that tells a copy of this library from
// another BLAS.
#pragma once

#include "blas/names.hpp"
#include "tilewright/tilewright_blas.h"

#define TILEWRIGHT_SHOWN __attribute__((visibility("default")))

// EXPORT(convention, letters, name, ENTRY): Defines ENTRY(symbol, type, integer, counterpart arguments) for
// each spelling and type of a routine of names.hpp.
#define TILEWRIGHT_QUOTED(symbol, ...) #symbol,
#define TILEWRIGHT_EXPORT_AS(convention, r, T, ENTRY)                                                  \
  constexpr const char* r##_##convention##_int[] = {                                                   \
      SPELL_##convention##_int(TILEWRIGHT_QUOTED, r, ) nullptr};                                       \
  constexpr const char* r##_##convention##_long[] = {                                                  \
      SPELL_##convention##_long(TILEWRIGHT_QUOTED, r, ) nullptr};                                      \
  SPELL_##convention##_int(ENTRY, r, T, int, r##_##convention##_int, r##_##convention##_int[0], false) \
      SPELL_##convention##_long(ENTRY, r, T, std::int64_t, r##_##convention##_long,                    \
                                r##_##convention##_int[0], true)
#define TILEWRIGHT_EXPORT_fortran(r, T, ENTRY) TILEWRIGHT_EXPORT_AS(fortran, r, T, ENTRY)
#define TILEWRIGHT_EXPORT_cblas(r, T, ENTRY) TILEWRIGHT_EXPORT_AS(cblas, r, T, ENTRY)
#define TILEWRIGHT_EXPORT_lapacke(r, T, ENTRY) TILEWRIGHT_EXPORT_AS(lapacke, r, T, ENTRY)
#define TILEWRIGHT_EXPORT_mkl(r, T, ENTRY) TILEWRIGHT_EXPORT_AS(mkl, r, T, ENTRY)
#define TILEWRIGHT_EXPORT_bblas(r, T, ENTRY) TILEWRIGHT_EXPORT_AS(bblas, r, T, ENTRY)
#define TILEWRIGHT_EXPORT(convention, letters, name, ENTRY) \
  TYPES_##letters(TILEWRIGHT_EXPORT_##convention, name, ENTRY)

// The counterpart of a symbol, in its entry: initialized by the compiler, found by the first call.
#define TILEWRIGHT_COUNTERPART(symbol, spellings, plain, wide) \
  static constinit Counterpart other(#symbol, spellings, plain, wide)
