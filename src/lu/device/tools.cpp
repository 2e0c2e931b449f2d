// Streams and kernels are made once; what a factorization uses of them is said by begin().
#include "lu/device/tools.hpp"

namespace tilewright {

LuTools::LuTools(const Gpu& gpu, const StencilCompiler& compiler, int room)
    : gpu_(gpu),
      compiler_(compiler),
      panels_(gpu, StreamPriority::first),
      updates_(gpu),
      partition_(room > 0 ? GpuPartition::make(gpu, gpu.limits().multiprocessors - room) : nullptr),
      switched_(gpu) {
  const Gpu::Current current(gpu);
  for (std::unique_ptr<GpuBlas>& one : blas_) one = std::make_unique<GpuBlas>();
  if (partition_ != nullptr) beside_ = std::make_unique<GpuStream>(gpu, *partition_);
}

CUstream_st* LuTools::stream(LuLane lane) const {
  if (lane == LuLane::panel) return panels_.get();
  return beside_is_used_ ? beside_->get() : updates_.get();
}

void LuTools::wait_at_any_rate() const noexcept {
  for (const GpuStream* stream : {&panels_, &updates_, static_cast<const GpuStream*>(beside_.get())}) try {
      if (stream != nullptr) stream->synchronize();
    } catch (...) {
      // It is lost, and does nothing any more; or there is no memory to say so.
    }
}

void LuTools::use_workspace(LuLane lane) {
  blas(lane).set_stream(stream(lane));
  blas(lane).set_workspace(workspaces_[int(lane)], workspace_bytes_);
}

void LuTools::begin(void* const workspaces[2], std::int64_t workspace_bytes) {
  beside_is_used_ = false;
  workspace_bytes_ = workspace_bytes;
  for (const LuLane lane : {LuLane::panel, LuLane::update}) {
    workspaces_[int(lane)] = workspaces[int(lane)];
    use_workspace(lane);
  }
}

void LuTools::make_room_for_panels() {
  if (beside_ == nullptr || beside_is_used_) return;
  switched_.record(updates_.get());
  switched_.hold_back(beside_->get());
  beside_is_used_ = true;
  use_workspace(LuLane::update);
}

const GpuLuPanel& LuTools::panel(DType dtype, const LuPanelConfig& config) {
  const StencilRequest request = lu_panel_request(dtype, config, gpu_.limits().compute_capability);
  const std::lock_guard lock(kept_mutex_);
  std::unique_ptr<GpuLuPanel>& kept = panels_of_config_[request.expressions.front()];
  if (kept == nullptr) kept = std::make_unique<GpuLuPanel>(gpu_, compiler_.compile(request), dtype, config);
  return *kept;
}

const GpuLuRows& LuTools::rows(DType dtype, int width) {
  const std::lock_guard lock(kept_mutex_);
  std::unique_ptr<GpuLuRows>& kept = rows_[{dtype, width}];
  if (kept == nullptr) kept = std::make_unique<GpuLuRows>(gpu_, compiler_, dtype, width);
  return *kept;
}

const GpuLuSystem& LuTools::system(DType dtype) {
  const std::lock_guard lock(kept_mutex_);
  std::unique_ptr<GpuLuSystem>& kept = systems_[dtype];
  if (kept == nullptr) kept = std::make_unique<GpuLuSystem>(gpu_, compiler_, dtype);
  return *kept;
}

const GpuLuRefine& LuTools::refine(DType dtype) {
  const std::lock_guard lock(kept_mutex_);
  std::unique_ptr<GpuLuRefine>& kept = refinements_[dtype];
  if (kept == nullptr) kept = std::make_unique<GpuLuRefine>(gpu_, compiler_, dtype);
  return *kept;
}

}  // namespace tilewright
