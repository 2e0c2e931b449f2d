// Parses nvdisasm's text and finds loops in it: a branch to an address before its own closes a loop.
#include "sass.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <utility>

#include "core/child.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

constexpr std::array names{"product",    "shared_load", "shared_store", "global_load", "global_store",
                           "async_copy", "bulk_copy",   "local",        "barrier",     "move",
                           "control",    "idle",        "other"};

struct Opcodes {
  SassKind kind;
  std::vector<std::string_view> roots;  // the opcode up to the first dot
};
const std::vector<Opcodes>& opcodes() {
  static const std::vector<Opcodes> list = {
      {SassKind::product, {"DFMA", "FFMA", "DMMA", "HMMA", "FFMA2"}},
      {SassKind::shared_load, {"LDS", "LDSM"}},
      {SassKind::shared_store, {"STS", "ATOMS", "STSM"}},
      {SassKind::global_load, {"LDG", "LD"}},
      {SassKind::global_store, {"STG", "ST", "RED", "REDG", "ATOM", "ATOMG"}},
      {SassKind::async_copy, {"LDGSTS"}},
      {SassKind::bulk_copy, {"UTMALDG", "UBLKCP", "UTMASTG"}},
      {SassKind::local, {"LDL", "STL"}},
      {SassKind::barrier,
       {"BAR", "SYNCS", "LDGDEPBAR", "DEPBAR", "MEMBAR", "ARRIVES", "WARPSYNC", "FENCE", "ERRBAR", "CCTL"}},
      {SassKind::move, {"MOV", "UMOV", "MOV32I", "R2UR", "SHFL", "PRMT"}},
      {SassKind::control, {"BRA", "EXIT", "BSSY", "BSYNC", "CALL", "RET", "BRX", "JMP", "WARPSYNC", "BREAK"}},
      {SassKind::idle, {"NOP"}}};
  return list;
}

struct Loop {
  std::size_t first = 0, last = 0;  // positions of instructions

  bool holds(const Loop& inner) const {
    return first <= inner.first && inner.last <= last && (first != inner.first || last != inner.last);
  }
  // True for a branch from behind the other loop into it: it returns from a wait that the compiler placed out
  // of line.
  bool returns_into(const Loop& other) const {
    return other.first < first && first <= other.last && other.last < last;
  }
};

SassCounts count(const std::vector<SassInstruction>& code, const Loop& loop) {
  SassCounts counts;
  for (std::size_t i = loop.first; i <= loop.last; ++i) counts[code[i].kind] += 1;
  return counts;
}

double products_in(const std::vector<SassInstruction>& code, const Loop& loop) {
  return count(code, loop)[SassKind::product];
}

std::vector<Loop> multiplying_loops(const std::vector<SassInstruction>& code) {
  std::vector<Loop> loops;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!code[i].target || *code[i].target > code[i].address) continue;
    const auto first =
        std::lower_bound(code.begin(), code.end(), *code[i].target,
                         [](const SassInstruction& x, std::size_t address) { return x.address < address; });
    const Loop loop{static_cast<std::size_t>(first - code.begin()), i};
    if (loop.first < i && products_in(code, loop) > 0) loops.push_back(loop);
  }
  return loops;
}

// Returns the address at the head of a line of nvdisasm, "/*0a10*/"; nothing if there is none.
std::optional<std::size_t> address_of(const std::string& line, std::size_t& after) {
  const std::size_t begin = line.find("/*"), end = line.find("*/");
  if (begin == std::string::npos || end == std::string::npos || end < begin + 3) return std::nullopt;
  if (line.find_first_not_of(" \t") != begin) return std::nullopt;
  after = end + 2;
  char* stopped = nullptr;
  const std::string digits = line.substr(begin + 2, end - begin - 2);
  const std::size_t address = std::strtoull(digits.c_str(), &stopped, 16);
  return *stopped == '\0' ? std::optional(address) : std::nullopt;
}

// Returns the opcode after an address and a predicate.
std::string_view opcode_at(const std::string& line, std::size_t from) {
  const auto word = [&](std::size_t& at) {
    at = line.find_first_not_of(" \t{", at);
    if (at == std::string::npos) return std::string_view();
    const std::size_t begin = at;
    at = std::min(line.find_first_of(" \t;", at), line.size());
    return std::string_view(line).substr(begin, at - begin);
  };
  const std::string_view first = word(from);
  return first.starts_with('@') ? word(from) : first;
}

}  // namespace

const char* name_of(SassKind kind) { return names[static_cast<std::size_t>(kind)]; }

double total_of(const SassCounts& counts) {
  double sum = 0;
  for (const auto& [kind, number] : counts) sum += number;
  return sum;
}

nlohmann::json to_json_object(const SassCounts& counts) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [kind, number] : counts) object[name_of(kind)] = number;
  return object;
}

SassKind sass_kind(std::string_view opcode) {
  const std::string_view root = opcode.substr(0, opcode.find('.'));
  for (const Opcodes& group : opcodes())
    if (std::find(group.roots.begin(), group.roots.end(), root) != group.roots.end()) return group.kind;
  return SassKind::other;
}

std::vector<SassInstruction> parse_sass(const std::string& text, const std::string& function) {
  std::vector<SassInstruction> code;
  std::map<std::string, std::size_t> labels;
  std::vector<std::pair<std::size_t, std::string>> branches;
  std::vector<std::string> waiting;  // labels of the next instruction
  const std::size_t named = function.empty() ? std::string::npos : text.find("\n.text." + function + ":");
  std::istringstream lines(text.substr(named == std::string::npos ? 0 : named));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".L_") && line.find(':') != std::string::npos) {
      waiting.push_back(line.substr(0, line.find(':')));
      continue;
    }
    std::size_t after = 0;
    const auto address = address_of(line, after);
    if (!address) continue;
    const std::string_view opcode = opcode_at(line, after);
    if (opcode.empty() || opcode.starts_with('/')) continue;      // the encoding's second line
    if (!code.empty() && *address <= code.back().address) break;  // another function
    for (const std::string& label : waiting) labels[label] = *address;
    waiting.clear();
    code.push_back({*address, sass_kind(opcode), std::nullopt});
    if (const std::size_t at = line.find("`("); at != std::string::npos && opcode.starts_with("BRA"))
      branches.emplace_back(code.size() - 1, line.substr(at + 2, line.find(')', at) - at - 2));
  }
  for (const auto& [position, label] : branches)
    if (const auto target = labels.find(label); target != labels.end())
      code[position].target = target->second;
  return code;
}

SassCounts sass_main_loop(const std::vector<SassInstruction>& code, double products) {
  const std::vector<Loop> loops = multiplying_loops(code);
  std::optional<Loop> best;
  double least = 0;
  for (const Loop& loop : loops) {
    const auto disturbs = [&](const Loop& other) { return loop.holds(other) || loop.returns_into(other); };
    if (std::any_of(loops.begin(), loops.end(), disturbs)) continue;
    const double each = total_of(count(code, loop)) / products_in(code, loop);
    if (!best || each < least) best = loop, least = each;
  }
  if (!best) return {};
  SassCounts counts = count(code, *best);
  const double turns = products / counts[SassKind::product];
  for (auto& [kind, number] : counts) number *= turns;
  if (turns <= 1) return counts;  // the loop is that of the k tiles
  std::optional<Loop> around;
  for (const Loop& loop : loops)
    if (loop.holds(*best) && (!around || around->holds(loop))) around = loop;
  if (!around) return counts;
  for (std::size_t i = around->first; i <= around->last; ++i)
    if ((i < best->first || i > best->last) && code[i].kind != SassKind::product) counts[code[i].kind] += 1;
  return counts;
}

int sass_early_arrivals(const std::string& text) {
  // Bits in the second word of an encoding: the scoreboard that a read counts in (none is 7), and the
  // scoreboards waited for.
  constexpr int own_at = 46, waits_at = 52, scoreboards = 6;
  static const std::regex instruction(R"(/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_.]+)[^;]*;)");
  static const std::regex second_word(R"(^\s*/\* 0x([0-9a-f]{16}) \*/)");
  std::array<int, scoreboards> last_of{};
  int number = 0, last_read = 0, returned = 0, early = 0;
  std::string opcode;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line.starts_with(".text.")) last_of = {}, last_read = returned = 0;
    if (std::regex_search(line, found, instruction)) {
      opcode = found[1];
    } else if (!opcode.empty() && std::regex_search(line, found, second_word)) {
      const std::uint64_t word = std::stoull(found[1], nullptr, 16);
      ++number;
      for (int b = 0; b < scoreboards; ++b)
        if (word >> (waits_at + b) & 1) returned = std::max(returned, last_of[std::size_t(b)]);
      const bool arrives = opcode.starts_with("SYNCS.ARRIVE") && opcode.find("A1T0") != std::string::npos;
      if (arrives && last_read > returned) ++early;
      if (opcode.starts_with("LDS")) {
        last_read = number;
        if (const auto own = word >> own_at & 7; own < scoreboards) last_of[own] = number;
      }
      opcode.clear();
    }
  }
  return early;
}

std::string disassemble(const std::string& cubin, const std::string& program, bool encodings) {
  std::string name = (std::filesystem::temp_directory_path() / "tilewright-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) throw Error(ErrorCode::io, "nvdisasm", fmt::format("'{}' cannot be written", name));
  close(file);
  std::ofstream(name, std::ios::binary).write(cubin.data(), static_cast<std::streamsize>(cubin.size()));
  std::vector<std::string> command{program, "-c", name};
  if (encodings) command.insert(command.begin() + 1, "-hex");
  const ChildResult result = run_child(command);
  std::filesystem::remove(name);
  if (result.status == 127)
    throw Error(ErrorCode::unsupported, "nvdisasm", fmt::format("'{}' was not found", program));
  if (result.status != 0)
    throw Error(ErrorCode::internal, "nvdisasm", fmt::format("'{}' failed: {}", program, result.errors));
  return result.output;
}

}  // namespace tilewright
