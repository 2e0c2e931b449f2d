// The sizes that compile-time peers are instantiated for, as lists expanded by a macro because templates need
// constants. Eigen takes a second or more to compile per size, so it gets the sizes of the acceptance table
// only.
#pragma once

// clang-format off
#define TILEWRIGHT_ACCEPTANCE_SIZES(X)                                                                  \
  X(2, 2, 2) X(3, 3, 3) X(4, 4, 4) X(5, 5, 5) X(6, 6, 6) X(7, 7, 7) X(8, 8, 8) X(9, 9, 9)              \
  X(10, 10, 10) X(11, 11, 11) X(12, 12, 12) X(13, 13, 13) X(14, 14, 14) X(15, 15, 15) X(16, 16, 16)    \
  X(20, 20, 20) X(23, 23, 23) X(24, 24, 24) X(28, 28, 28) X(31, 31, 31) X(32, 32, 32)                  \
  X(5, 13, 23) X(4, 4, 64) X(10, 10, 35) X(13, 13, 26) X(24, 8, 3) X(32, 32, 8) X(8, 32, 32)

#define TILEWRIGHT_PEER_SIZES(X)                                                                        \
  TILEWRIGHT_ACCEPTANCE_SIZES(X)                                                                        \
  X(17, 17, 17) X(18, 18, 18) X(19, 19, 19) X(21, 21, 21) X(22, 22, 22) X(25, 25, 25) X(26, 26, 26)    \
  X(27, 27, 27) X(29, 29, 29) X(30, 30, 30)
// clang-format on
