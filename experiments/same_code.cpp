// Finds the records of wisdom that stay valid for changed kernel sources: those whose configs compile to the
// same machine code from both. A change of the sources' hash alone would drop them all, though nothing that
// was measured changed. If only instructions before a tile's first product differ, the line says so
// (`beginning_differs`).
//
//     bench_same_code OLD RECORDS RENEWED > proofs.jsonl
//
// OLD holds the old kernel/*.cuh, to be compared with those of this build; RECORDS is a file of wisdom.
// RENEWED receives its lines, the valid ones with the hash of the new sources. No GPU is needed.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "core/env.hpp"
#include "core/input/json_text.hpp"
#include "core/problem.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/gemm_large/loader.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "kernel/gemm_small/loader.hpp"
#include "program.hpp"
#include "tilewright/types.hpp"
#include "wisdom/families.hpp"
#include "wisdom/record.hpp"

namespace tilewright::bench {
namespace {

constexpr int capability = 90;  // of the devices that wisdom is shipped for
constexpr int align_bytes = 128;

// Returns the instructions of a cubin and its sections' register counts; the rest differs from run to run,
// and names contain configs, which may have more fields now.
std::vector<std::string> instructions_of(const std::string& cubin) {
  const auto at = [&]<class T>(std::size_t offset, T) {
    T value;
    if (offset + sizeof value > cubin.size())
      throw Error(ErrorCode::internal, "cubin", "cubin: it ends before its sections do");
    std::memcpy(&value, cubin.data() + offset, sizeof value);
    return value;
  };
  const auto header = at(0, Elf64_Ehdr{});
  const auto section = [&](std::size_t i) {
    return at(header.e_shoff + i * header.e_shentsize, Elf64_Shdr{});
  };
  const auto names = section(header.e_shstrndx);
  std::vector<std::string> kernels;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto s = section(i);
    const std::string name = cubin.c_str() + names.sh_offset + s.sh_name;
    if (name.starts_with(".text."))
      kernels.push_back(fmt::format("{}\n", s.sh_info >> 24) + cubin.substr(s.sh_offset, s.sh_size));
  }
  if (kernels.empty()) throw Error(ErrorCode::internal, "cubin", "cubin: it holds no instructions");
  std::sort(kernels.begin(), kernels.end(), [](const std::string& x, const std::string& y) {
    return std::tuple(x.size(), x) < std::tuple(y.size(), y);
  });
  return kernels;
}

// True if registers and the number of instructions agree, and no instruction differs after the first tenth of
// a kernel, which precedes the first product of a tile.
bool same_but_for_beginnings(const std::vector<std::string>& x, const std::vector<std::string>& y) {
  const auto same = [](const std::string& one, const std::string& other) {
    return one.size() == other.size() && one.substr(0, one.find('\n')) == other.substr(0, other.find('\n')) &&
           one.substr(one.size() / 10) == other.substr(other.size() / 10);
  };
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), same);
}

// Compiles without the condition on which host and device must agree: arguments of later sources have more
// fields, which are passed behind the others.
JitBinary compile(const WisdomRecord& record, const StencilCompiler& compiler) {
  const GemmProblem p = parse_problem(record.problem);
  StencilRequest request =
      record.family == "gemm"
          ? gemm_large_request(gemm_large_shape(p, gemm_large_alignment(p, align_bytes)),
                               from_json<GemmLargeConfig>(record.config), p.dtype, capability)
          : gemm_small_request(gemm_small_shape(p, align_bytes), from_json<GemmSmallConfig>(record.config),
                               p.dtype, capability);
  request.assertion.clear();
  return compiler.compile(request);
}

nlohmann::json compare(const WisdomRecord& record, const StencilCompiler& from, const StencilCompiler& to) {
  nlohmann::json line = {{"family", record.family},
                         {"problem", record.problem},
                         {"config", record.config},
                         {"old_hash", record.source_hash},
                         {"new_hash", current_source_hash(record.family)},
                         {"same_code", false}};
  try {
    const auto before = instructions_of(compile(record, from).code);
    const auto now = instructions_of(compile(record, to).code);
    line["same_code"] = before == now || same_but_for_beginnings(before, now);
    if (before != now && line["same_code"]) line["beginning_differs"] = true;
  } catch (const Error& error) {
    line["reason"] = error.what();
  }
  return line;
}

int run(const std::string& old_sources, const std::string& path, const std::string& renewed_path) {
  std::vector<nlohmann::json> lines, proofs;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) lines.push_back(parse_json(text));
  proofs.resize(lines.size());
  const StencilCompiler from(old_sources, ""), to(share_folder(Environment::read(), "kernel"), "");
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (const auto record = parse_record(lines[i].dump());
        record && (record->family == "gemm_small" || record->family == "gemm"))
      proofs[i] = compare(*record, from, to);
  std::ofstream renewed(renewed_path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!proofs[i].is_null()) {
      std::printf("%s\n", proofs[i].dump().c_str());
      if (proofs[i].at("same_code")) lines[i]["source_hash"] = proofs[i].at("new_hash");
    }
    renewed << lines[i].dump() << '\n';
  }
  return renewed.flush() ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_same_code", argc, 3, "OLD RECORDS RENEWED", [&] {
    tilewright::bench::print_command(argc, argv);
    return tilewright::bench::run(argv[1], argv[2], argv[3]);
  });
}
