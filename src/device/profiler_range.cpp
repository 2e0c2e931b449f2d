// Calls NVTX where its headers were there at build time.
#include "device/profiler_range.hpp"

#if TILEWRIGHT_HAS_GPU && __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define TILEWRIGHT_HAS_NVTX 1
#endif

#include "core/host/fork_gate.hpp"

namespace tilewright {

#if TILEWRIGHT_HAS_NVTX
// Without a profiler a range has no depth: NVTX returns a negative number.
bool is_profiled() noexcept {
  static constinit Once<const bool> once;
  return once.get([] {
    const bool is_taken = nvtxRangePushA("tilewright") >= 0;
    if (is_taken) nvtxRangePop();
    return is_taken;
  });
}
void ProfilerRange::open(const std::string& text) noexcept { nvtxRangePushA(text.c_str()); }
void ProfilerRange::close() noexcept { nvtxRangePop(); }
#else
bool is_profiled() noexcept { return false; }
void ProfilerRange::open(const std::string&) noexcept {}
void ProfilerRange::close() noexcept {}
#endif

}  // namespace tilewright
