// Reads the variable once, when PBLAS first asks.
#include "scalapack/block.hpp"

#include <cstdlib>
#include <string>

#include "core/host/fork_gate.hpp"
#include "core/host/tell.hpp"

namespace tilewright::scalapack {
namespace {

constexpr int default_block = 256, largest_block = 1 << 20;

}  // namespace

int block_of_text(const char* text) {
  if (text == nullptr || *text == '\0') return default_block;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end == '\0' && value >= 1 && value <= largest_block) return int(value);
  tell("tilewright: TILEWRIGHT_SCALAPACK_BLOCK = '" + std::string(text) + "' is not a number from 1 to " +
       std::to_string(largest_block) + "; the block is " + std::to_string(default_block) + ".\n");
  return default_block;
}

int logical_block() {
  static constinit Once<const int> block;
  return block.get([] { return block_of_text(::secure_getenv("TILEWRIGHT_SCALAPACK_BLOCK")); });
}

}  // namespace tilewright::scalapack
