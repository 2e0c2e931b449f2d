// From a stencil and its values to a cubin: writes the source that instantiates the template, hands it to
// NVRTC through the cache on disk, and tells what came out. It needs no GPU; loading and launching are
// others' business.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "device/gpu/nvrtc.hpp"
#include "kernel/jit/cache.hpp"

namespace tilewright {

// An instance of a stencil, or several for one module.
struct StencilRequest {
  std::string header;                    // "kernel/gemm_small/stencil.cuh"
  std::vector<std::string> expressions;  // "tilewright::gemm_small<double, ...>"
  std::string assertion;       // a condition that must hold on the device as on the host; may be empty
  int compute_capability = 0;  // 90 for sm_90
  // It uses what is fast on that architecture only ("sm_90a"): multicast is, as the PTX manual says.
  bool specific = false;
  int ptxas_level = 3;  // of optimisation, 0 to 3
};

// What the compiler's report says of a kernel; of several the most.
struct StencilReport {
  int registers = 0;
  int spill_bytes = 0;
  int stack_bytes = 0;
};

class StencilCompiler {
 public:
  // `sources` is the folder that holds kernel/*.cuh; `cache` may be "" for none. NVRTC is opened by the first
  // request that needs it; its flags are those of TILEWRIGHT_NVRTC_FLAGS now. Throws Error(io) where the
  // sources are missing.
  StencilCompiler(std::filesystem::path sources, std::filesystem::path cache, std::string nvrtc = {});

  // From the cache, else compiled. Throws Error(internal) with the expression and the log when it does not
  // compile, Error(unsupported) where there is no compiler and nothing kept. Safe for many threads.
  JitBinary compile(const StencilRequest& request) const;
  // From the cache only, made by this compiler or any other; throws NotCompiled where it is not there.
  JitBinary cached(const StencilRequest& request) const;

  // Why its cache is not used; "" where it is.
  std::string cache_distrust() const { return cache_.distrust(); }
  // Throws Error(unsupported) where there is none.
  const Nvrtc& nvrtc() const;
  // The compiler's version and what else it is told, as records name it; throws likewise.
  std::string provenance() const;

 private:
  NvrtcSource source_of(const StencilRequest& request) const;
  JitKey key_of(const NvrtcSource& source, const std::string& compiler) const;

  std::filesystem::path sources_;
  JitCache cache_;
  std::string nvrtc_path_;
  std::vector<std::string> flags_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Nvrtc> nvrtc_;
};

StencilReport stencil_report(const std::string& log);

// The element type as device code names it.
inline const char* device_type(DType dtype) {
  constexpr const char* names[] = {"float", "double", "tilewright::Complex<float>",
                                   "tilewright::Complex<double>"};
  return names[static_cast<int>(dtype)];
}

// The object as a C++ expression with designated initialisers: "tilewright::Config{.threads=128, ...}". What
// has its default is left out, so that sources that do not know an axis yet can be compiled for it, too.
template <class S>
std::string designated(const std::string& type, const S& object) {
  std::string text;
  const S usual{};
  for_each_field<S>([&](const auto& f) {
    using M = std::remove_cvref_t<decltype(object.*(f.member))>;
    if (object.*(f.member) == usual.*(f.member)) return;
    text += fmt::format("{}.{}=", text.empty() ? "" : ", ", f.name);
    if constexpr (std::is_enum_v<M>)
      text += fmt::format("decltype({}::{})({})", type, f.name, static_cast<int>(object.*(f.member)));
    else
      text += fmt::format("{}", object.*(f.member));
  });
  return type + "{" + text + "}";
}

}  // namespace tilewright
