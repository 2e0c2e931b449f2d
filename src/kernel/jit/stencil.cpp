// Compiles instances of stencils through the cache.
#include "kernel/jit/stencil.hpp"

#include <algorithm>
#include <iterator>
#include <regex>
#include <sstream>

#include "core/env.hpp"
#include "core/host/fork_gate.hpp"
#include "core/trust.hpp"

namespace tilewright {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

StencilCompiler::StencilCompiler(std::filesystem::path sources, std::filesystem::path cache,
                                 std::string nvrtc)
    : sources_(std::move(sources)),
      cache_(std::move(cache)),
      nvrtc_path_(std::move(nvrtc)),
      flags_(words_of(Environment::read().nvrtc_flags)) {
  if (!std::filesystem::is_directory(sources_ / "kernel"))
    throw Error(ErrorCode::io, "TILEWRIGHT_SHARE",
                fmt::format("there are no kernel sources in '{}': set TILEWRIGHT_SHARE (or --share) to the "
                            "folder that contains kernel/",
                            (sources_ / "kernel").string()));
  if (const std::string why = share_distrust((sources_ / "kernel").string()); !why.empty())
    throw Error(ErrorCode::io, "TILEWRIGHT_SHARE", fmt::format("the kernel sources are not used: {}", why));
}

const Nvrtc& StencilCompiler::nvrtc() const {
  const fork_gate::Section section;
  const std::lock_guard lock(mutex_);
  if (nvrtc_ == nullptr) nvrtc_ = std::make_unique<const Nvrtc>(nvrtc_path_);
  return *nvrtc_;
}

std::string StencilCompiler::provenance() const {
  std::string text = nvrtc().version();
  for (const std::string& flag : flags_) text += " " + flag;
  return text;
}

NvrtcSource StencilCompiler::source_of(const StencilRequest& request) const {
  NvrtcSource source;
  source.name = "kernel.cu";
  source.expressions = request.expressions;
  for (const std::string& expression : request.expressions) source.text += fmt::format("// {}\n", expression);
  source.text += fmt::format("#include \"{}\"\n", request.header);
  if (!request.assertion.empty())
    source.text +=
        fmt::format("static_assert({}, \"host and device derive the same\");\n", request.assertion);
  source.options = {"--std=c++20", "-default-device",
                    fmt::format("-arch=sm_{}{}", request.compute_capability, request.specific ? "a" : ""),
                    "--ptxas-options=-v"};
  constexpr int dense_level = 3;
  if (request.ptxas_level != dense_level)
    source.options.push_back(fmt::format("--ptxas-options=-O{}", request.ptxas_level));
  source.options.insert(source.options.end(), flags_.begin(), flags_.end());
  return source;
}

// The folder of the sources is not part of the key.
JitKey StencilCompiler::key_of(const NvrtcSource& source, const std::string& compiler) const {
  return {source.text, reachable_headers(source.text, sources_), source.options, compiler};
}

JitBinary StencilCompiler::compile(const StencilRequest& request) const {
  NvrtcSource source = source_of(request);
  const Nvrtc* compiler = nullptr;
  try {
    compiler = &nvrtc();
  } catch (const Error& error) {
    if (auto kept = cache_.find(key_of(source, ""))) return std::move(*kept);
    throw Error(
        error.code(), error.argument(),
        fmt::format("{}, and the kernel is not in the cache '{}'", error.what(), cache_.folder().string()));
  }
  return cache_.get(key_of(source, compiler->version()), [&] {
    source.options.push_back("-I" + sources_.string());
    return compiler->compile(source);
  });
}

JitBinary StencilCompiler::cached(const StencilRequest& request) const {
  if (auto kept = cache_.find(key_of(source_of(request), ""))) return std::move(*kept);
  throw NotCompiled(
      fmt::format("the kernel {} is not in the cache '{}', and no_jit forbids calls to compile it: prepare() "
                  "compiles ahead",
                  request.expressions.front(), cache_.folder().string()));
}

StencilReport stencil_report(const std::string& log) {
  const std::regex registers(R"(Used (\d+) registers)");
  const std::regex memory(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill)");
  StencilReport report;
  const auto each = [&](const std::regex& line, auto&& use) {
    for (std::sregex_iterator it(log.begin(), log.end(), line), end; it != end; ++it) use(*it);
  };
  each(registers,
       [&](const std::smatch& found) { report.registers = std::max(report.registers, std::stoi(found[1])); });
  each(memory, [&](const std::smatch& found) {
    report.stack_bytes = std::max(report.stack_bytes, std::stoi(found[1]));
    report.spill_bytes = std::max(report.spill_bytes, std::stoi(found[2]) + std::stoi(found[3]));
  });
  return report;
}

}  // namespace tilewright
