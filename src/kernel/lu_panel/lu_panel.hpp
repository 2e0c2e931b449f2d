// LU panel kernels on the host's side: configs, which fit a panel, and the loaded kernel of one config.
#pragma once

#include "core/fields.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"
#include "kernel/lu_panel/config.hpp"

namespace tilewright {

TILEWRIGHT_NAMES(LuExchange, "cluster", "global");

TILEWRIGHT_FIELDS(LuPanelConfig, cluster, threads, rows, width, exchange);

// Returns why the device cannot run the config; "" if it can.
std::string why_not_lu_panel(const LuPanelConfig& config, DType dtype, const GpuLimits& limits);

// Returns the rows that the registers of all concurrently running blocks hold.
std::int64_t lu_panel_most_rows(const LuPanelConfig& config, const GpuLimits& limits);

// The config of the widest panels for `rows` rows, preferably in one cluster; 0 threads if there is none.
LuPanelConfig lu_panel_default(std::int64_t rows, DType dtype, const GpuLimits& limits);

StencilRequest lu_panel_request(DType dtype, const LuPanelConfig& config, int compute_capability);

// One panel, in device memory. Launches take it for any type, since pointers have one layout.
using LuPanelOperands = LuPanelArgs<void>;

class GpuLuPanel {
 public:
  GpuLuPanel(const Gpu& gpu, const JitBinary& binary, DType dtype, const LuPanelConfig& config);
  const LuPanelConfig& config() const { return config_; }
  int registers() const { return function_.registers(); }
  int spilled_bytes() const { return function_.local_bytes(); }
  // Never waits.
  void launch(const LuPanelOperands& operands, CUstream_st* stream) const;

 private:
  DType dtype_;
  LuPanelConfig config_;
  GpuModule module_;
  GpuFunction function_;
};

}  // namespace tilewright
