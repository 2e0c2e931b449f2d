// The family of LU panel kernels on the host's side: configs, which of them fit a panel, and the loaded
// kernel of one config. src/lu runs whole factorizations.
#pragma once

#include <vector>

#include "core/fields.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"
#include "kernel/lu_panel/config.hpp"

namespace tilewright {

template <>
struct EnumNames<LuExchange> {
  static constexpr std::array value{std::pair{LuExchange::cluster, "cluster"},
                                    std::pair{LuExchange::global, "global"}};
};

template <>
struct FieldList<LuPanelConfig> {
  using C = LuPanelConfig;
  static constexpr auto value =
      std::make_tuple(field("cluster", &C::cluster), field("threads", &C::threads), field("rows", &C::rows),
                      field("width", &C::width), field("exchange", &C::exchange));
};

// Returns why the device cannot run the config; "" if it can.
std::string why_not_lu_panel(const LuPanelConfig& config, DType dtype, const GpuLimits& limits);

// Returns the rows that the registers of all concurrently running blocks hold.
std::int64_t lu_panel_most_rows(const LuPanelConfig& config, const GpuLimits& limits);

// Returns the config of the widest panels whose blocks hold `rows` rows, in one cluster if possible, with the
// fewest blocks; with 0 threads if no config does.
LuPanelConfig lu_panel_default(std::int64_t rows, DType dtype, const GpuLimits& limits);

StencilRequest lu_panel_request(DType dtype, const LuPanelConfig& config, int compute_capability);

// One panel, in device memory.
struct LuPanelOperands {
  void* a = nullptr;
  std::int64_t ld = 0;
  std::int64_t m = 0, n = 0;
  std::int64_t first_row = 0, first_column = 0;  // of the matrix
  long long* pivots = nullptr;
  int* moves = nullptr;
  long long* info = nullptr;
  void* exchange = nullptr;  // lu_panel_exchange_bytes(), zero before the first launch
};

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
