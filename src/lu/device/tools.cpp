// Streams and kernels are made once, on first use.
#include "lu/device/tools.hpp"

#include <limits>

#include "core/dispatch.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/parallel.hpp"

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
      // The device is lost, or there is no memory to say so.
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

const GpuLuSystem& LuTools::system(DType dtype) {
  compile_ahead(GpuLuSystem::requests(dtype, gpu_.limits().compute_capability));
  return kept(systems_, dtype, dtype);
}

const GpuLuRefine& LuTools::refine(DType dtype) {
  compile_ahead(GpuLuRefine::requests(dtype, gpu_.limits().compute_capability));
  return kept(refinements_, dtype, dtype);
}

void LuTools::compile_ahead(const std::vector<StencilRequest>& requests) {
  if (!compiler_.keeps()) return;
  std::vector<const StencilRequest*> missing;
  {
    const std::lock_guard lock(kept_mutex_);
    for (const StencilRequest& request : requests)
      if (compiled_.insert(request.expressions.front()).second) missing.push_back(&request);
  }
  parallel_each(allowed_threads(0), std::int64_t(missing.size()), [&](std::int64_t i) {
    try {
      compiler_.compile(*missing[std::size_t(i)]);
    } catch (const Error&) {
    }
  });
}

void LuTools::multiply(LuLane lane, DType dtype, Op op, std::int64_t m, std::int64_t n, std::int64_t k,
                       double alpha, const LuBlock& a, const LuBlock& b, double beta, const LuBlock& c) {
  if (m == 0 || n == 0) return;
  dispatch(dtype, [&]<class T>() {
    const T alpha_value = T(alpha), beta_value = T(beta);
    GpuBlas::Batch call;
    call.dtype = dtype;
    call.op_a = op;
    call.m = int(m), call.n = int(n), call.k = int(k);
    call.alpha = &alpha_value, call.beta = &beta_value;
    call.a = a.data, call.lda = int(a.ld);
    call.b = b.data, call.ldb = int(b.ld);
    call.c = c.data, call.ldc = int(c.ld);
    blas(lane).gemm(call);
  });
}

void require_blas_sizes(std::initializer_list<std::pair<const char*, std::int64_t>> sizes) {
  for (const auto& [name, value] : sizes)
    if (value > std::numeric_limits<int>::max())
      throw Error(ErrorCode::unsupported, name,
                  fmt::format("{} = {} does not fit the 32-bit integers of cuBLAS", name, value));
}

LuMachines& LuMachines::of(Context::Impl& context) {
  fork_safe_call_once(context.lu_asked, [&] { context.lu = std::make_shared<LuMachines>(context.gpus); });
  return *context.lu;
}

std::shared_ptr<LuTools> LuMachines::tools(int ordinal) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Kept>& kept = kept_[ordinal];
  if (kept == nullptr) {
    const std::shared_ptr<const GpuMachine> machine = gpus_->open(ordinal);
    if (const std::string reason = why_too_old(machine->gpu().limits()); !reason.empty())
      throw Error(ErrorCode::unsupported, "device", reason);
    kept =
        std::make_shared<Kept>(Kept{machine, std::make_shared<LuTools>(machine->gpu(), machine->compiler())});
  }
  // The tools keep the machine.
  return {kept, kept->tools.get()};
}

}  // namespace tilewright
