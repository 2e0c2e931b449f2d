// Read once, when PBLAS first asks.
#include "scalapack/block.hpp"

#include <cstdio>
#include <cstdlib>

namespace tilewright::scalapack {
namespace {

constexpr int usual_block = 256, largest_block = 1 << 20;

}  // namespace

int block_of_text(const char* text) {
  if (text == nullptr || *text == '\0') return usual_block;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end == '\0' && value >= 1 && value <= largest_block) return int(value);
  std::fprintf(
      stderr,
      "tilewright: TILEWRIGHT_SCALAPACK_BLOCK = '%s' is no number from 1 to %d, and is taken for %d.\n", text,
      largest_block, usual_block);
  return usual_block;
}

int logical_block() {
  static const int block = block_of_text(std::getenv("TILEWRIGHT_SCALAPACK_BLOCK"));
  return block;
}

}  // namespace tilewright::scalapack
