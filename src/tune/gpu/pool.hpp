// The configs of one GPU problem as a pool, whatever the family: made several at a time, each passed through
// the gate before anybody may time it, and timed over batches that rotate through device memory. The vendor's
// library may be among them as a peer.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/gpu/check.hpp"
#include "measure/gpu/pointers.hpp"
#include "measure/gpu/ring.hpp"
#include "measure/gpu/timer.hpp"
#include "tune/checked_pool.hpp"
#include "tune/gpu/kernels.hpp"
#include "tune/gpu/machine.hpp"
#include "tune/gpu/sizes.hpp"
#include "tune/gpu/vendor.hpp"

namespace tilewright {

// Makes room for the operands of a problem as it is timed: one matrix or block may be larger than what was
// set aside for many. Throws Error(unsupported) naming the problem where they do not fit the device's memory.
void reserve_operands(const GemmProblem& timed, TuneGpu& gpu);

class GpuPool : public CheckedPool {
 public:
  // The problem as it is timed, for whose operands there is room. A vendor without a trial takes no part.
  GpuPool(const GemmProblem& problem, std::unique_ptr<GpuKernels> kernels, GpuVendor vendor, TuneGpu& gpu);
  ~GpuPool() override;

  std::string peer_name(std::size_t) const override { return gpu_vendor_family; }
  nlohmann::json fields(std::size_t i) const override {
    return is_peer(i) ? vendor_.config() : kernels_->fields(i);
  }
  Origin origin() const override;
  // After some heat, between two moves of the meter (measure/gpu/energy.hpp).
  Metrics time_with_energy(std::size_t i, double turn_s, EnergyMeter& meter) override;
  double shortest_energy_s(const EnergyMeter&) const override { return 1; }
  std::vector<std::unique_ptr<Observer>> observers() const override;
  std::vector<std::string> notes() const override { return gpu_.other_users(); }

 private:
  struct Slot {
    JitBinary binary;
    std::unique_ptr<GpuTrial> trial;
    double launch_s = 0;  // as last seen
  };
  struct Scalars;
  void make(std::size_t i) override { slots_[i].binary = kernels_->compile(i); }
  // Every element of a small batch with edges, and some of the problem itself.
  CheckResult check(std::size_t i) override;
  CheckResult check(const GpuTrial& trial, const SmallCase& edges);
  void drop(std::size_t i) override { slots_[i].trial.reset(); }
  // Between two events, at least one launch.
  TurnTimer::Turn time_made(std::size_t i, double turn_s) override;
  // Loads what was compiled. Throws Error(unsupported) when it does not fit the device.
  const GpuTrial& trial(std::size_t i);
  // Loaded, and known how long a launch takes.
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
  std::unique_ptr<const Scalars> scalars_;
  std::optional<SampledCheck> sample_;
  std::vector<SmallCheck> edges_;  // of the last small batches, which many candidates share
  std::vector<Slot> slots_;        // the candidates', then the peer's
  std::int64_t next_ = 0;          // batch
};

}  // namespace tilewright
