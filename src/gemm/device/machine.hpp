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
#include "kernel/factor_gpu/loader.hpp"
#include "kernel/factor_gpu_large/loader.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/gemm_large/loader.hpp"
#include "kernel/gemm_small/loader.hpp"
#include "kernel/gemm_thin/gemm_thin.hpp"
#include "kernel/layout/loader.hpp"
#include "kernel/scale/loader.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

class GpuMachine {
 public:
  GpuMachine(int device, std::shared_ptr<const StencilCompiler> compiler);

  const Gpu& gpu() const { return gpu_; }
  const StencilCompiler& compiler() const { return *compiler_; }
  // Returns the device's model of large GEMM, from the wisdom of the first call; null: from shipped wisdom.
  const GemmLargeDevice& large(const Wisdom* wisdom) const;
  GemmLargeNear& large_near() const { return large_near_; }

  // Returns a loaded kernel: kept, from the disk or, if allowed, compiled. Throws the errors of
  // StencilCompiler, and Error(unsupported) if no block of it fits the device.
  std::shared_ptr<const GemmSmallKernel> gemm_small(const GemmSmallShape& shape,
                                                    const GemmSmallConfig& config, DType dtype,
                                                    bool may_compile) const;
  std::shared_ptr<const GemmSmallTotal> gemm_small_total(DType dtype, bool may_compile) const;
  // Also throws Error(unsupported) if the compiler's report forbids running it.
  std::shared_ptr<const GemmLargeKernel> gemm_large(const GemmLargeShape& shape,
                                                    const GemmLargeConfig& config, DType dtype,
                                                    bool may_compile) const;
  std::shared_ptr<const GemmThinKernel> gemm_thin(const GemmThinShape& shape, const GemmThinConfig& config,
                                                  DType dtype, bool may_compile) const;
  std::shared_ptr<const FactorGpuKernel> factor_gpu(const FactorGpuShape& shape,
                                                    const FactorGpuConfig& config, DType dtype,
                                                    bool may_compile) const;
  std::shared_ptr<const FactorLargeKernel> factor_large(const FactorGpuShape& shape,
                                                        const FactorLargeAnyConfig& config, DType dtype,
                                                        bool may_compile) const;
  std::shared_ptr<const GpuScale> scale(const GpuScaleKind& kind, bool may_compile) const;
  // Converts matrices of `elements` elements to interleaved blocks or, if not `interleaves`, back.
  std::shared_ptr<const GpuLayoutKernel> layout(DType dtype, bool interleaves, int elements,
                                                bool may_compile) const;

  // The vendor's library, for one call at a time: a handle serves one stream and one thread.
  class Blas {
   public:
    // Locks the library during its lifetime. `gpu` must be current.
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
  // Opens the library at the first call. Throws Error(unsupported) naming the files that were tried.
  std::shared_ptr<Blas> blas() const;

  // Shared by all plans, which reserve memory when they are made.
  GpuWorkspace& workspace() const { return workspace_; }
  // Workspace of copies in another layout, held while a plan that uses workspace() runs.
  GpuWorkspace& converted() const { return converted_; }

 private:
  // Each loaded module takes device memory; plans hold theirs.
  static constexpr std::size_t largest_count = 4096;

  // Returns the kernel kept by this name, or makes it of its binary and `parts`.
  template <class Kernel, class... Parts>
  std::shared_ptr<const Kernel> kept_or(const std::string& name, const StencilRequest& request,
                                        bool may_compile, const Parts&... parts) const;
  void refuse_large(const JitBinary& binary, const GemmLargeShape& shape, const GemmLargeConfig& config,
                    DType dtype) const;

  Gpu gpu_;
  std::shared_ptr<const StencilCompiler> compiler_;
  mutable std::once_flag large_asked_;
  mutable GemmLargeDevice large_;
  mutable GemmLargeNear large_near_;
  mutable BoundedMap<std::string, void> kernels_{largest_count};  // by name
  mutable LongMutex blas_mutex_;
  mutable std::shared_ptr<Blas> blas_;
  mutable GpuWorkspace workspace_, converted_;
};

class GpuMachines {
 public:
  using Report = std::function<void(const std::string&)>;
  // `share` holds kernel/, `cache` the compiled kernels ("" for none), `nvrtc` names the compiler or is "".
  // `report` gets the reason if compiled kernels cannot be kept.
  GpuMachines(std::filesystem::path share, std::filesystem::path cache, std::string nvrtc,
              Report report = {});

  // Throws Error(unsupported) without a driver, Error(invalid_argument) for a device that does not exist,
  // Error(io) if the kernel sources are missing. A failure is not kept: the next call tries again.
  std::shared_ptr<const GpuMachine> open(int device);
  // Reports nothing any more.
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
