// The GPUs that a Context uses, each opened when a problem first lies on it, with the kernels made for it.
// Plans keep theirs alive. Everything here may be used by many threads at once.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "core/bounded_map.hpp"
#include "core/env.hpp"
#include "core/host/fork_gate.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/workspace.hpp"
#include "kernel/gemm_large/loader.hpp"
#include "kernel/gemm_large/near.hpp"
#include "kernel/gemm_small/loader.hpp"
#include "kernel/gemm_small/total.hpp"
#include "kernel/layout/loader.hpp"
#include "kernel/scale/loader.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

class GpuMachine {
 public:
  GpuMachine(int device, std::shared_ptr<const StencilCompiler> compiler);

  const Gpu& gpu() const { return gpu_; }
  const StencilCompiler& compiler() const { return *compiler_; }
  // With what the first who asks is told by wisdom, or where that is null by the shipped one, of large GEMM.
  const GemmLargeDevice& large(const Wisdom* wisdom) const;

  GemmLargeNear& large_near() const { return large_near_; }

  // The loaded kernel: kept from before, from the disk or, where that is allowed, compiled. Throws what
  // StencilCompiler throws, and Error(unsupported) when no block of it fits the device.
  std::shared_ptr<const GemmSmallKernel> gemm_small(const GemmSmallShape& shape,
                                                    const GemmSmallConfig& config, DType dtype,
                                                    bool may_compile) const;
  std::shared_ptr<const GemmSmallTotal> gemm_small_total(DType dtype, bool may_compile) const;
  // Also throws Error(unsupported) where the compiler's report forbids running it.
  std::shared_ptr<const GemmLargeKernel> gemm_large(const GemmLargeShape& shape,
                                                    const GemmLargeConfig& config, DType dtype,
                                                    bool may_compile) const;
  std::shared_ptr<const GpuScale> scale(const GpuScaleKind& kind, bool may_compile) const;
  // Converts matrices of so many elements, to blocks of interleaved ones where `interleaves`, else back.
  std::shared_ptr<const GpuLayoutKernel> layout(DType dtype, bool interleaves, int elements,
                                                bool may_compile) const;

  // The vendor's library, opened when first asked for, for one call at a time: a handle serves one stream and
  // one thread.
  class Blas {
   public:
    // Holds the library until it ends. `gpu` must be current.
    struct Use {
      std::unique_lock<LongMutex> lock;
      GpuBlas& library;
      GpuBlas* operator->() const { return &library; }
    };
    Use on(CUstream_st* stream);
    const std::string& version() const { return library_.version(); }

   private:
    LongMutex mutex_;
    GpuBlas library_;
    CUstream_st* stream_ = nullptr;
  };
  // Throws Error(unsupported) naming what was tried.
  std::shared_ptr<Blas> blas() const;

  // Of all plans: they reserve what they need when they are made.
  GpuWorkspace& workspace() const { return workspace_; }

 private:
  // Each loaded module takes device memory; plans hold what they use.
  static constexpr std::size_t largest_count = 4096;

  template <class Kernel, class Make>
  std::shared_ptr<const Kernel> kept_or(const StencilRequest& request, bool may_compile, Make&& make) const;
  template <class Kernel, class Make>
  std::shared_ptr<const Kernel> kept_or(const std::string& name, const StencilRequest& request,
                                        bool may_compile, Make&& make) const;

  Gpu gpu_;
  std::shared_ptr<const StencilCompiler> compiler_;
  mutable std::once_flag large_asked_;
  mutable GemmLargeDevice large_;
  mutable GemmLargeNear large_near_;
  mutable BoundedMap<std::string, void> kernels_{largest_count};  // by name
  mutable LongMutex blas_mutex_;
  mutable std::shared_ptr<Blas> blas_;
  mutable GpuWorkspace workspace_;
};

class GpuMachines {
 public:
  using Report = std::function<void(const std::string&)>;
  // `share` holds kernel/, `cache` the compiled kernels ("" for none), `nvrtc` names the compiler or is "".
  // `report` gets the reason where compiled kernels cannot be kept.
  GpuMachines(std::filesystem::path share, std::filesystem::path cache, std::string nvrtc,
              Report report = {});

  // Throws Error(unsupported) without a driver, Error(invalid_argument) for a device that does not exist,
  // Error(io) where the kernel sources are missing. A failure is not kept: the next call looks again.
  std::shared_ptr<const GpuMachine> open(int device);
  // Who made this goes, and is told nothing any more.
  void forget_report();

 private:
  std::filesystem::path share_, cache_;
  std::string nvrtc_;
  Report report_;
  LongMutex mutex_;
  std::shared_ptr<const StencilCompiler> compiler_;
  std::map<int, std::shared_ptr<const GpuMachine>> machines_;
};

}  // namespace tilewright
