// Compiles a stencil with given values to a cubin through NVRTC and the cache on disk. It needs no GPU.
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
  // True if it uses features of exactly that architecture ("sm_90a"): multicast does, as the PTX manual says.
  bool specific = false;
  int ptxas_level = 3;  // of optimisation, 0 to 3
};

// Figures of the compiler's report of a kernel; the maxima over several kernels.
struct StencilReport {
  int registers = 0;
  int spill_bytes = 0;
  int stack_bytes = 0;
};

class StencilCompiler {
 public:
  // `sources` holds kernel/*.cuh; `cache` may be "". NVRTC is opened by the first request that needs it, with
  // the flags of TILEWRIGHT_NVRTC_FLAGS now. Throws Error(io) if the sources are missing.
  StencilCompiler(std::filesystem::path sources, std::filesystem::path cache, std::string nvrtc = {});

  // Returns the cached binary, or compiles. Throws Error(internal) with expression and log if that fails,
  // Error(unsupported) without compiler and cached binary. Thread-safe.
  JitBinary compile(const StencilRequest& request) const;
  // Returns the cached binary, made by this compiler or any other; throws NotCompiled if there is none.
  JitBinary cached(const StencilRequest& request) const;

  // True if what is compiled is found again on disk.
  bool keeps() const { return !cache_.folder().empty() && cache_distrust().empty(); }
  // Returns why the cache is not used; "" if it is.
  std::string cache_distrust() const { return cache_.distrust(); }
  // Throws Error(unsupported) if there is none.
  const Nvrtc& nvrtc() const;
  // Returns the compiler's version and further options, as records name them; throws likewise.
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

// Returns the element type as device code names it.
inline const char* device_type(DType dtype) {
  constexpr const char* names[] = {"float", "double", "tilewright::Complex<float>",
                                   "tilewright::Complex<double>"};
  return names[int(dtype)];
}

// Returns the object as a C++ expression: "tilewright::Config{.threads=128, ...}". Default members are left
// out, so that older sources can be compiled without a new axis.
template <class S>
std::string designated(const std::string& type, const S& object) {
  std::string text;
  const S usual{};
  for_each_field<S>([&](const auto& f) {
    using M = std::remove_cvref_t<decltype(object.*(f.member))>;
    if (object.*(f.member) == usual.*(f.member)) return;
    text += fmt::format("{}.{}=", text.empty() ? "" : ", ", f.name);
    if constexpr (std::is_enum_v<M>)
      text += fmt::format("decltype({}::{})({})", type, f.name, int(object.*(f.member)));
    else
      text += fmt::format("{}", object.*(f.member));
  });
  return type + "{" + text + "}";
}

}  // namespace tilewright
