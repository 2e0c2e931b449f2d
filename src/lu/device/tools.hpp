// What factorizations on one GPU share whatever their shape: two streams, the part of the device that updates
// keep to while panels need the rest, cuBLAS on either stream, and loaded kernels.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/host/fork_gate.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/partition.hpp"
#include "kernel/lu_panel/lu_panel.hpp"
#include "kernel/lu_rows/loader.hpp"
#include "kernel/lu_rows/refine.hpp"
#include "kernel/lu_rows/system.hpp"

namespace tilewright {

// Who makes an update: what the next panel waits for goes with the panels, ahead of all else on the device.
enum class LuLane : std::uint8_t { panel, update };

class LuTools {
 public:
  // A cluster of 16 blocks of a panel fits, and the driver parts in eights.
  static constexpr int usual_room = 20;
  static constexpr std::int64_t products_bytes = 8 << 20;  // of scratch for cuBLAS, in workspaces of systems
  static constexpr int any_width = 32;                     // for rows(): copies have none

  // Both outlive it. `room`: multiprocessors that updates leave to panels while these take longer; 0: none.
  // Throws Error(unsupported) without cuBLAS.
  LuTools(const Gpu& gpu, const StencilCompiler& compiler, int room = usual_room);

  const Gpu& gpu() const { return gpu_; }
  // For one factorization that is being queued at a time.
  LongMutex& mutex() { return mutex_; }

  CUstream_st* stream(LuLane lane) const;
  // Waits for all that the streams were given, after a failure, whatever else fails.
  void wait_at_any_rate() const noexcept;
  // On the lane's stream, with scratch of the caller's from use_workspace() on.
  GpuBlas& blas(LuLane lane) { return *blas_[int(lane)]; }

  // Multiprocessors that updates keep to while panels take longer; 0: all.
  int part() const { return partition_ == nullptr ? 0 : partition_->multiprocessors(); }

  // Of what is queued next: its workspaces by lane.
  void begin(void* const workspaces[2], std::int64_t workspace_bytes);
  // Updates from now on leave some multiprocessors to the panels.
  void make_room_for_panels();

  // Compiled when first asked for; by several threads at once if need be.
  const GpuLuPanel& panel(DType dtype, const LuPanelConfig& config);
  const GpuLuRows& rows(DType dtype, int width);
  const GpuLuSystem& system(DType dtype);
  const GpuLuRefine& refine(DType dtype);

 private:
  void use_workspace(LuLane lane);

  const Gpu& gpu_;
  const StencilCompiler& compiler_;
  LongMutex mutex_;
  GpuStream panels_, updates_;
  std::unique_ptr<GpuPartition> partition_;
  std::unique_ptr<GpuStream> beside_;  // updates by the partition; null where there is none
  bool beside_is_used_ = false;
  GpuEvent switched_;
  std::unique_ptr<GpuBlas> blas_[2];  // by lane
  void* workspaces_[2] = {};
  std::int64_t workspace_bytes_ = 0;
  LongMutex kept_mutex_;
  std::map<std::string, std::unique_ptr<GpuLuPanel>> panels_of_config_;
  std::map<std::pair<DType, int>, std::unique_ptr<GpuLuRows>> rows_;
  std::map<DType, std::unique_ptr<GpuLuSystem>> systems_;
  std::map<DType, std::unique_ptr<GpuLuRefine>> refinements_;
};

}  // namespace tilewright
