// The depth of the products into which PBLAS divides a larger one.
#pragma once

namespace tilewright::scalapack {

// Returns TILEWRIGHT_SCALAPACK_BLOCK, or 256: at that depth the products of CPUs reach their rate. The 32 of
// ScaLAPACK's own PILAENV is too shallow for any BLAS of today. It is the same on all processes, as PBLAS
// demands.
int logical_block();

// Parses the variable's text; null if it is unset. An invalid text is reported and replaced by 256.
int block_of_text(const char* text);

}  // namespace tilewright::scalapack
