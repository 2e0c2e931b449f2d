// Compiles, loads and launches panels.
#include <algorithm>

#include "core/dispatch.hpp"
#include "kernel/lu_panel/lu_panel.hpp"

namespace tilewright {
namespace {

// Registers of 32 bits that a thread has for its part of the panel; the rest are the kernel's own.
constexpr int panel_registers = 128;

int shared_bytes(const LuPanelConfig& c, DType dtype) {
  return lu_panel_shared_bytes(c, static_cast<int>(size_bytes(dtype)));
}

}  // namespace

std::string why_not_lu_panel(const LuPanelConfig& c, DType dtype, const GpuLimits& limits) {
  if (c.cluster > 1 && limits.compute_capability < 90) return fmt::format("{} has no clusters", limits.name);
  if (const int bytes = shared_bytes(c, dtype); bytes > limits.shared_bytes_per_block)
    return fmt::format("{} bytes of shared memory are wanted, and a block has {}", bytes,
                       limits.shared_bytes_per_block);
  return "";
}

LuPanelConfig lu_panel_default(std::int64_t rows, DType dtype, const GpuLimits& limits) {
  const int words = static_cast<int>(size_bytes(dtype)) / 4;
  const int most_cluster = limits.compute_capability >= 90 ? 16 : 1;
  for (const int width : {32, 16, 8}) {
    // More rows a thread rather than more threads: what is broadcast serves more of them.
    const int most_own = std::max(1, panel_registers / (width * words));
    for (int cluster = 1; cluster <= most_cluster; cluster *= 2)
      for (int own = 1; own <= (cluster < most_cluster ? 1 : most_own); own *= 2)
        for (const int threads : {128, 256, 320}) {
          const bool largest = cluster == most_cluster && own == most_own;
          if ((threads == 128 && cluster < 8) || (threads == 320 && !largest)) continue;
          const LuPanelConfig config{cluster, threads, own, width};
          if (lu_panel_most_rows(config) >= rows && why_not_lu_panel(config, dtype, limits).empty())
            return config;
        }
  }
  return {1, 0, 0, 0};
}

StencilRequest lu_panel_request(DType dtype, const LuPanelConfig& config, int compute_capability) {
  return {"kernel/lu_panel/stencil.cuh",
          {fmt::format("tilewright::lu_panel<{}, {}>", device_type(dtype),
                       designated("tilewright::LuPanelConfig", config))},
          fmt::format("sizeof(tilewright::LuPanelArgs<float>) == {}", sizeof(LuPanelArgs<float>)),
          compute_capability};
}

GpuLuPanel::GpuLuPanel(const Gpu& gpu, const JitBinary& binary, DType dtype, const LuPanelConfig& config)
    : dtype_(dtype),
      config_(config),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), shared_bytes(config, dtype))) {
  if (config.cluster > 8) function_.allow_large_clusters();
}

void GpuLuPanel::launch(const LuPanelOperands& o, CUstream_st* stream) const {
  GpuLaunch geometry;
  geometry.blocks = geometry.cluster = static_cast<unsigned>(config_.cluster);
  geometry.threads = static_cast<unsigned>(config_.threads);
  geometry.shared_bytes = static_cast<unsigned>(shared_bytes(config_, dtype_));
  dispatch(dtype_, [&]<class T>() {
    LuPanelArgs<T> args{static_cast<T*>(o.a),
                        o.ld,
                        static_cast<int>(o.m),
                        static_cast<int>(o.n),
                        o.first_row,
                        o.pivots,
                        o.moves,
                        o.info,
                        o.first_column};
    function_.launch(geometry, &args, stream);
  });
}

}  // namespace tilewright
