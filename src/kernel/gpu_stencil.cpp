// Compiles instances of stencils through the cache.
#include "kernel/gpu_stencil.hpp"

#include <regex>

namespace tilewright {

StencilCompiler::StencilCompiler(std::filesystem::path sources, std::filesystem::path cache,
                                 const std::string& nvrtc)
    : sources_(std::move(sources)), cache_(std::move(cache)), nvrtc_(nvrtc) {
  if (!std::filesystem::is_directory(sources_ / "kernel"))
    throw Error(ErrorCode::io, "TILEWRIGHT_SHARE",
                fmt::format("the kernel sources are not in '{}'", (sources_ / "kernel").string()));
}

JitBinary StencilCompiler::compile(const StencilRequest& request) const {
  NvrtcSource source;
  source.name = "kernel.cu";
  source.expression = request.expression;
  source.text = fmt::format("// {}\n#include \"{}\"\n", request.expression, request.header);
  if (!request.assertion.empty())
    source.text +=
        fmt::format("static_assert({}, \"host and device derive the same\");\n", request.assertion);
  source.options = {"--std=c++20", "-default-device", fmt::format("-arch=sm_{}", request.compute_capability),
                    "--ptxas-options=-v"};
  JitKey key{source.text, reachable_headers(source.text, sources_), source.options, nvrtc_.version()};
  // Where the sources lie does not enter the code.
  source.options.push_back("-I" + sources_.string());
  return cache_.get(key, [&] {
    NvrtcResult result = nvrtc_.compile(source);
    return JitBinary{std::move(result.cubin), std::move(result.function), std::move(result.log)};
  });
}

StencilReport stencil_report(const std::string& log) {
  StencilReport report;
  std::smatch found;
  if (std::regex_search(log, found, std::regex(R"(Used (\d+) registers)")))
    report.registers = std::stoi(found[1]);
  if (std::regex_search(
          log, found,
          std::regex(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill)"))) {
    report.stack_bytes = std::stoi(found[1]);
    report.spill_bytes = std::stoi(found[2]) + std::stoi(found[3]);
  }
  return report;
}

}  // namespace tilewright
