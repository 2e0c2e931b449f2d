// Counts the instructions of a compiled GPU kernel by kind from its disassembly: in all, and in the loop that
// multiplies. It reads the text that nvdisasm writes and runs a disassembler on request only; the kernel
// family interprets the counts.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"

namespace tilewright {

// The kind of an instruction with respect to the levels of the memory and the product.
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

// Maps "LDS.128" to shared_load.
SassKind sass_kind(std::string_view opcode);

struct SassInstruction {
  std::size_t address = 0;
  SassKind kind = SassKind::other;
  std::optional<std::size_t> target;  // of a branch
};

// Returns the instructions of `function` in nvdisasm's text; of the first function if no label names it.
std::vector<SassInstruction> parse_sass(const std::string& text, const std::string& function = {});

// Counts the instructions that one warp issues while it multiplies `products` times (product instructions of
// one k tile): those of the innermost loop that multiplies, times its iterations, and once those that the
// loop around it adds. If there are several such loops (with and without checks of edges), the one with the
// fewest instructions per product counts. Returns empty counts if no loop multiplies.
SassCounts sass_main_loop(const std::vector<SassInstruction>& code, double products);

// Counts arrivals at barriers that may overtake reads of shared memory issued before them: between the last
// of the reads and the arrival no instruction waits for the reads, and a copy engine that the arrival
// releases may overwrite data not yet read. `text` has encodings; reads of a warp return in the order in
// which they were issued.
int sass_early_arrivals(const std::string& text);

// Returns nvdisasm's text for a cubin, with the encoding of instructions if requested. Throws
// Error(unsupported) if there is no such program, Error(internal) with its message if it fails.
std::string disassemble(const std::string& cubin, const std::string& program = "nvdisasm",
                        bool encodings = false);

}  // namespace tilewright
