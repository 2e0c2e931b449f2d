// From a stencil and its values to a cubin: writes the source that instantiates the template, hands it to
// NVRTC through the cache on disk, and tells what came out. It needs no GPU; loading and launching are
// others' business.
#pragma once

#include <string>

#include "core/fields.hpp"
#include "device/nvrtc.hpp"
#include "kernel/jit_cache.hpp"

namespace tilewright {

// An instance of a stencil.
struct StencilRequest {
  std::string header;          // "kernel/gemm_small.cuh"
  std::string expression;      // "tilewright::gemm_small<double, ...>"
  std::string assertion;       // a condition that must hold on the device as on the host; may be empty
  int compute_capability = 0;  // 90 for sm_90
};

// What the compiler's report says of a kernel.
struct StencilReport {
  int registers = 0;
  int spill_bytes = 0;
  int stack_bytes = 0;
};

class StencilCompiler {
 public:
  // `sources` is the folder that holds kernel/*.cuh; `cache` may be "" for none.
  StencilCompiler(std::filesystem::path sources, std::filesystem::path cache, const std::string& nvrtc = {});

  // Throws Error(internal) with the expression and the log when it does not compile. Safe for many threads.
  JitBinary compile(const StencilRequest& request) const;

  const Nvrtc& nvrtc() const { return nvrtc_; }

 private:
  std::filesystem::path sources_;
  JitCache cache_;
  Nvrtc nvrtc_;
};

StencilReport stencil_report(const std::string& log);

// The object as a C++ expression with designated initialisers: "tilewright::Config{.threads=128, ...}".
template <class S>
std::string designated(const std::string& type, const S& object) {
  std::string text;
  for_each_field<S>([&](const auto& f) {
    using M = std::remove_cvref_t<decltype(object.*(f.member))>;
    text += fmt::format("{}.{}=", text.empty() ? "" : ", ", f.name);
    if constexpr (std::is_enum_v<M>)
      text += fmt::format("decltype({}::{})({})", type, f.name, static_cast<int>(object.*(f.member)));
    else
      text += fmt::format("{}", object.*(f.member));
  });
  return type + "{" + text + "}";
}

}  // namespace tilewright
