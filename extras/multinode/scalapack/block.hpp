// The depth of the products that PBLAS makes of a larger one.
#pragma once

namespace tilewright::scalapack {

// TILEWRIGHT_SCALAPACK_BLOCK, or 256: there the products of CPUs reach their rate. The 32 of ScaLAPACK's own
// PILAENV is too shallow for any BLAS of today. The same on all processes, as PBLAS demands.
int logical_block();

// What that variable's text means; null where there is none. What cannot be read is said and taken for 256.
int block_of_text(const char* text);

}  // namespace tilewright::scalapack
