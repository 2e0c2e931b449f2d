// Tuning on a GPU: the device with its compiler and arena, the kernels of a family's configs, and the pool
// that makes several at a time, checks each before it is timed, and times them over batches that rotate
// through device memory. The vendor's library may be in the pool as a peer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/jit/stencil.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/check.hpp"
#include "measure/gpu/energy.hpp"
#include "measure/gpu/observer.hpp"
#include "tune/checked_pool.hpp"
#include "tune/kernel_timer.hpp"

namespace tilewright {

// The GPU of a session: device, compiler and the memory of the operands, opened once for all problems.
class TuneGpu {
 public:
  // Throws Error(unsupported) for a missing or too old device, Error(io) for missing kernel sources.
  TuneGpu(int device, std::size_t operand_bytes);

  const Gpu& gpu() const { return gpu_; }
  const StencilCompiler& compiler() const { return compiler_; }
  GpuArena& arena() { return arena_; }
  std::vector<std::string> other_users() const { return other_users_.notes(); }

 private:
  Gpu gpu_;
  StencilCompiler compiler_;
  OtherUsersNotes other_users_;  // begins before any work of this process
  GpuArena arena_;
};

// A loaded kernel, or the vendor's library, for one problem on the GPU.
class GpuTrial {
 public:
  virtual ~GpuTrial() = default;
  // A batch small enough to check every element, with the edge cases of the kernel.
  virtual SmallCase edges() const = 0;
  virtual void run_edges(const Operands& operands) const = 0;
  // Queues the problem itself on operands.stream.
  virtual void run(const Operands& operands) const = 0;
};

// The kernels of one problem's configs, the default first.
class GpuKernels {
 public:
  virtual ~GpuKernels() = default;
  virtual const char* family() const = 0;
  virtual std::size_t size() const = 0;
  virtual nlohmann::json fields(std::size_t i) const = 0;
  // From any thread. Throws Error if it does not compile or the compiler's report forbids running it.
  virtual JitBinary compile(std::size_t i) const = 0;
  // Throws Error(unsupported) if it does not fit the device.
  virtual std::unique_ptr<GpuTrial> load(std::size_t i, const JitBinary& binary) const = 0;
};

template <class Config>
class GpuKernelsOf : public GpuKernels {
 public:
  explicit GpuKernelsOf(std::vector<Config> configs) : configs_(std::move(configs)) {}
  std::size_t size() const override { return configs_.size(); }
  nlohmann::json fields(std::size_t i) const override { return to_json(configs_[i]); }

 protected:
  const Config& config(std::size_t i) const { return configs_[i]; }

 private:
  std::vector<Config> configs_;
};

inline constexpr int gpu_operand_align = 128;  // of the arena's operands and of the batches in them

inline constexpr const char* gpu_vendor_family = "cublas";

// The vendor's library, checked and timed like a kernel, so that wisdom has the times of both.
struct GpuVendor {
  std::unique_ptr<GpuTrial> trial;  // null if the library is absent or refuses the problem
  std::string version;
  std::string absence;  // the reason

  nlohmann::json config() const { return {{"version", version}}; }
};
GpuVendor open_gpu_vendor(const Gpu& gpu, const GemmProblem& timed);

// Makes room for the operands of a problem as it is timed. Throws Error(unsupported) if they do not fit.
void reserve_operands(const GemmProblem& timed, TuneGpu& gpu);

// The pointer batch of largest sizes that a variable batch lies within; any other problem as it is.
GemmProblem with_places_of_pointers(GemmProblem problem);

// m, n, k, lda, ldb and ldc of each problem of a variable batch, in device memory: sizes from 1 to the
// largest, drawn alike in every run. Columns have no gaps.
class GpuSizes {
 public:
  GpuSizes(const Gpu& gpu, const GemmProblem& largest);
  VariableSizes arrays() const;

 private:
  std::vector<GpuBuffer> buffers_;
};

class GpuPool : public CheckedPool {
 public:
  // The problem as it is timed, after reserve_operands(). A vendor without a trial takes no part.
  GpuPool(const GemmProblem& problem, std::unique_ptr<GpuKernels> kernels, GpuVendor vendor, TuneGpu& gpu);

  std::string peer_name(std::size_t) const override { return gpu_vendor_family; }
  nlohmann::json fields(std::size_t i) const override {
    return is_peer(i) ? vendor_.config() : kernels_->fields(i);
  }
  Origin origin() const override;
  // After a warm-up, between two updates of the meter (measure/gpu/energy.hpp).
  Metrics time_with_energy(std::size_t i, double turn_s, EnergyMeter& meter) override;
  double shortest_energy_s(const EnergyMeter&) const override { return 1; }
  std::vector<std::unique_ptr<Observer>> observers() const override;
  std::vector<std::string> notes() const override { return gpu_.other_users(); }

 private:
  struct Slot {
    JitBinary binary;
    std::unique_ptr<GpuTrial> trial;
    double launch_s = 0;  // latest
  };
  void make(std::size_t i) override { slots_[i].binary = kernels_->compile(i); }
  // Every element of a small batch with edges, and some of the problem itself.
  CheckResult check(std::size_t i) override;
  CheckResult check(const GpuTrial& trial, const SmallCase& edges);
  void drop(std::size_t i) override { slots_[i].trial.reset(); }
  // Between two events, at least one launch; an isolated one has its own, so that its time includes that of
  // the launch.
  TurnTimer::Turn time_made(std::size_t i, double turn_s) override;
  // Loads the compiled kernel. Throws Error(unsupported) if it does not fit the device.
  const GpuTrial& trial(std::size_t i);
  // Loads it and times a launch.
  const GpuTrial& warm(std::size_t i);
  Operands operands(std::int64_t index) const;
  void launch(const GpuTrial& trial) { trial.run(operands(next_++)); }

  GemmProblem problem_;
  std::unique_ptr<GpuKernels> kernels_;
  GpuVendor vendor_;
  const TuneGpu& gpu_;
  GpuArena& arena_;
  GpuStream stream_;
  GpuTimer timer_;
  GpuRing ring_;
  std::optional<GpuPointers> pointers_;  // of a pointer or variable batch
  std::optional<GpuSizes> sizes_;        // of a variable batch
  ScalarValues scalars_;
  std::optional<SampledCheck> sample_;
  std::vector<SmallCheck> edges_;          // of the latest small batches, which candidates share
  std::optional<IsolatedCalls> isolated_;  // empty for launches back to back
  std::vector<Slot> slots_;                // of the candidates, then of the peer
  std::int64_t next_ = 0;                  // batch
};

}  // namespace tilewright
