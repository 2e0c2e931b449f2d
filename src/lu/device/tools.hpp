// State that factorizations on one GPU share, kept by a Context: two streams, the part of the device that
// updates use beside panels, cuBLAS on either stream, and loaded kernels.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/host/fork_gate.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/device/machine.hpp"
#include "kernel/lu_panel/lu_panel.hpp"
#include "kernel/lu_rows/config.hpp"
#include "kernel/lu_rows/loader.hpp"
#include "tilewright/context.hpp"

namespace tilewright {

// The stream of an update: one that the next panel waits for is queued with the panels, which have priority.
enum class LuLane : std::uint8_t { panel, update };

class LuTools {
 public:
  // A cluster of 16 blocks of a panel fits, and the driver parts in eights.
  static constexpr int default_room = 20;
  static constexpr std::int64_t products_bytes = 8 << 20;  // of scratch for cuBLAS, in workspaces of systems
  static constexpr int any_width = 32;                     // for rows(): copies have none

  // Both arguments outlive it. `room`: multiprocessors that updates leave to panels while these take longer;
  // 0: none. Throws Error(unsupported) without cuBLAS.
  LuTools(const Gpu& gpu, const StencilCompiler& compiler, int room = default_room);

  const Gpu& gpu() const { return gpu_; }
  // One factorization is queued at a time.
  LongMutex& mutex() { return mutex_; }

  CUstream_st* stream(LuLane lane) const;
  // Waits after a failure for all that the streams were given, whatever else fails.
  void wait_at_any_rate() const noexcept;
  // On the lane's stream, with the caller's scratch from begin() on.
  GpuBlas& blas(LuLane lane) { return *blas_[int(lane)]; }
  // C = alpha op(A) B + beta C by cuBLAS; C is m x n and may be empty.
  void multiply(LuLane lane, DType dtype, Op op, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                const LuBlock& a, const LuBlock& b, double beta, const LuBlock& c);

  // Multiprocessors that updates use while panels take longer; 0: all.
  int part() const { return partition_ == nullptr ? 0 : partition_->multiprocessors(); }

  // Sets the workspaces, by lane, of the factorization that is queued next.
  void begin(void* const workspaces[2], std::int64_t workspace_bytes);
  // Updates from now on leave some multiprocessors to the panels.
  void make_room_for_panels();

  // Compiled when first asked for; by several threads at once if need be.
  const GpuLuPanel& panel(DType dtype, const LuPanelConfig& config);
  const GpuLuRows& rows(DType dtype, int width) { return kept(rows_, std::pair(dtype, width), dtype, width); }
  const GpuLuCloser& closer(DType dtype, int width, int n) {
    const int height = lu_close_height(n);
    return kept(closers_, std::tuple(dtype, width, height), dtype, width, height);
  }
  const GpuLuSystem& system(DType dtype);
  const GpuLuRefine& refine(DType dtype);
  // Compiles what is asked for next, on all cores at once, into the cache on disk. Without one it does
  // nothing; what does not compile says so when it is asked for.
  void compile_ahead(const std::vector<StencilRequest>& requests);

 private:
  void use_workspace(LuLane lane);
  template <class Key, class Kernels, class... Arguments>
  const Kernels& kept(std::map<Key, std::unique_ptr<Kernels>>& all, const Key& key, Arguments... arguments) {
    const std::lock_guard lock(kept_mutex_);
    std::unique_ptr<Kernels>& one = all[key];
    if (one == nullptr) one = std::make_unique<Kernels>(gpu_, compiler_, arguments...);
    return *one;
  }

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
  std::map<std::tuple<DType, int, int>, std::unique_ptr<GpuLuCloser>> closers_;
  std::map<DType, std::unique_ptr<GpuLuSystem>> systems_;
  std::map<DType, std::unique_ptr<GpuLuRefine>> refinements_;
  std::set<std::string> compiled_;  // expressions that were compiled ahead
};

// The tools of each GPU that a Context has used for LU.
class LuMachines {
 public:
  static LuMachines& of(Context::Impl& context);

  explicit LuMachines(std::shared_ptr<GpuMachines> gpus) : gpus_(std::move(gpus)) {}
  // Opens the GPU on the first call. Throws as GpuMachines::open(), and without cuBLAS or on an old GPU.
  std::shared_ptr<LuTools> tools(int ordinal);

 private:
  struct Kept {
    std::shared_ptr<const GpuMachine> machine;
    std::shared_ptr<LuTools> tools;  // destroyed first
  };
  std::shared_ptr<GpuMachines> gpus_;
  LongMutex mutex_;
  std::map<int, std::shared_ptr<Kept>> kept_;
};

// Throws Error(unsupported) naming the first size that cuBLAS cannot count.
void require_blas_sizes(std::initializer_list<std::pair<const char*, std::int64_t>> sizes);

// Buffers one after the other in one workspace, each at a multiple of 256 bytes.
class LuLayout {
 public:
  // Returns the offset of a buffer of so many bytes.
  std::int64_t take(std::int64_t bytes) { return std::exchange(bytes_, bytes_ + aligned(bytes)); }
  std::int64_t bytes() const { return bytes_; }
  static std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

 private:
  std::int64_t bytes_ = 0;
};

}  // namespace tilewright
