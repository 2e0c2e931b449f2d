// Compiles, loads and launches panels.
#include <algorithm>

#include "kernel/lu_panel/lu_panel.hpp"

namespace tilewright {
namespace {

// 32-bit registers that a thread has for its part of the panel; the kernel itself needs the others.
constexpr int panel_registers = 128;

int shared_bytes(const LuPanelConfig& c, DType dtype) {
  return lu_panel_shared_bytes(c, int(size_bytes(dtype)));
}

// Returns the rows that fit the registers of a thread.
int most_own_rows(int width, DType dtype) {
  return std::max(1, panel_registers / (width * int(size_bytes(dtype)) / 4));
}

// Returns the configs of one cluster, fewest blocks first; more rows per thread come before more threads,
// since each broadcast then serves more rows.
std::vector<LuPanelConfig> cluster_panels(int width, DType dtype, const GpuLimits& limits) {
  std::vector<LuPanelConfig> all;
  const int most_cluster = limits.compute_capability >= 90 ? 16 : 1;
  const int most_own = most_own_rows(width, dtype);
  for (int cluster = 1; cluster <= most_cluster; cluster *= 2)
    for (int own = 1; own <= (cluster < most_cluster ? 1 : most_own); own *= 2)
      for (const int threads : {128, 256, 320}) {
        const bool largest = cluster == most_cluster && own == most_own;
        if ((threads == 128 && cluster < 8) || (threads == 320 && !largest)) continue;
        all.push_back({cluster, threads, own, width});
      }
  return all;
}

std::vector<LuPanelConfig> global_panels(int width, DType dtype) {
  std::vector<LuPanelConfig> all;
  for (const int threads : {256, 128})
    for (int own = most_own_rows(width, dtype); own >= 1; own /= 2)
      all.push_back({1, threads, own, width, LuExchange::global});
  return all;
}

}  // namespace

std::string why_not_lu_panel(const LuPanelConfig& c, DType dtype, const GpuLimits& limits) {
  if (c.cluster > 1 && limits.compute_capability < 90) return fmt::format("{} has no clusters", limits.name);
  if (c.cluster > 1 && lu_panel_is_global(c))
    return fmt::format("cluster = {}: blocks that tell one another through global memory are in none",
                       c.cluster);
  if (const int bytes = shared_bytes(c, dtype); bytes > limits.shared_bytes_per_block)
    return fmt::format("{} bytes of shared memory are needed, but a block has {}", bytes,
                       limits.shared_bytes_per_block);
  return "";
}

std::int64_t lu_panel_most_rows(const LuPanelConfig& c, const GpuLimits& limits) {
  return std::int64_t(lu_panel_block_rows(c)) * (lu_panel_is_global(c) ? limits.multiprocessors : c.cluster);
}

LuPanelConfig lu_panel_default(std::int64_t rows, DType dtype, const GpuLimits& limits) {
  for (const int width : {32, 16, 8}) {
    std::vector<LuPanelConfig> all = cluster_panels(width, dtype, limits);
    for (const LuPanelConfig& one : global_panels(width, dtype)) all.push_back(one);
    for (const LuPanelConfig& one : all)
      if (lu_panel_most_rows(one, limits) >= rows && why_not_lu_panel(one, dtype, limits).empty()) return one;
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
  geometry.blocks = unsigned(lu_panel_blocks(config_, o.m));
  geometry.cluster = unsigned(config_.cluster);
  geometry.cooperative = lu_panel_is_global(config_) && geometry.blocks > 1;
  geometry.threads = unsigned(config_.threads);
  geometry.shared_bytes = unsigned(shared_bytes(config_, dtype_));
  LuPanelOperands args = o;
  function_.launch(geometry, &args, stream);
}

}  // namespace tilewright
