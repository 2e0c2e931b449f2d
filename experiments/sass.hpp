// Instructions of a compiled GPU kernel, counted by kind from its disassembly: in all, and in the loop that
// multiplies. It reads the text that nvdisasm writes and runs no disassembler but on request; what counts
// mean for a config is its family's business.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"

namespace tilewright {

// What an instruction does, as far as levels of the memory and the product are concerned.
enum class SassKind {
  product,       // multiply-adds and matrix products
  shared_load,   // shared memory to registers
  shared_store,  // registers to shared memory
  global_load,   // device memory to registers
  global_store,  // registers to device memory, atomics
  async_copy,    // device memory to shared memory, by threads
  bulk_copy,     // the same by the copy engine
  local,         // spilled registers
  barrier,       // of a block, of groups of copies, of memory
  move,          // between registers
  control,       // branches, calls, exits
  idle,          // NOP
  other          // integers, predicates, conversions
};
const char* name_of(SassKind kind);

using SassCounts = std::map<SassKind, double>;
double total_of(const SassCounts& counts);
nlohmann::json to_json_object(const SassCounts& counts);

// "LDS.128" -> shared_load.
SassKind sass_kind(std::string_view opcode);

struct SassInstruction {
  std::size_t address = 0;
  SassKind kind = SassKind::other;
  std::optional<std::size_t> target;  // of a branch
};

// The instructions of `function` in nvdisasm's text; of the first function where no label names it.
std::vector<SassInstruction> parse_sass(const std::string& text, const std::string& function = {});

// Instructions that one warp issues while it multiplies `products` times (product instructions of one k
// tile): the innermost loop that multiplies, as often as it takes, and once what the loop around it adds. Of
// several such loops (with and without checks of edges) the one with the fewest instructions per product
// counts. Empty where no loop multiplies.
SassCounts sass_main_loop(const std::vector<SassInstruction>& code, double products);

// Arrivals at barriers that may overtake reads of shared memory issued before them: between the last of the
// reads and the arrival no instruction waits for it, and a copy engine that the arrival sets free may write
// what has yet to be read. `text` has encodings; reads of a warp return in the order in which they were
// issued.
int sass_early_arrivals(const std::string& text);

// nvdisasm's text for a cubin, with the encoding of instructions if asked for. Throws Error(unsupported)
// where there is no such program, Error(internal) with its complaint where it fails.
std::string disassemble(const std::string& cubin, const std::string& program = "nvdisasm",
                        bool encodings = false);

}  // namespace tilewright
