/** @file
 * The version of these headers as numbers for the preprocessor; tilewright_version() returns that of the
 * library that runs. It declares no function. */
#ifndef TILEWRIGHT_VERSION_H
#define TILEWRIGHT_VERSION_H

#define TILEWRIGHT_VERSION_MAJOR 0
#define TILEWRIGHT_VERSION_MINOR 2
#define TILEWRIGHT_VERSION_PATCH 0
/** Grows with every version: 200 is 0.2.0. */
#define TILEWRIGHT_VERSION_NUMBER \
  (TILEWRIGHT_VERSION_MAJOR * 10000 + TILEWRIGHT_VERSION_MINOR * 100 + TILEWRIGHT_VERSION_PATCH)

#endif
