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
#include "tune/config_pool.hpp"
#include "tune/gpu/kernels.hpp"
#include "tune/gpu/machine.hpp"
#include "tune/gpu/sizes.hpp"
#include "tune/gpu/vendor.hpp"

namespace tilewright {

// Makes room for the operands of a problem as it is timed: one matrix or block may be larger than what was
// set aside for many. Throws Error(unsupported) naming the problem where they do not fit the device's memory.
void reserve_operands(const GemmProblem& timed, TuneGpu& gpu);

class GpuPool : public ConfigPool {
 public:
  // The problem as it is timed, for whose operands there is room. A vendor without a trial takes no part.
  GpuPool(const GemmProblem& problem, std::unique_ptr<GpuKernels> kernels, GpuVendor vendor, TuneGpu& gpu);
  ~GpuPool() override;

  std::size_t size() const override { return kernels_->size(); }
  std::size_t peer_count() const override { return slots_.size() - kernels_->size(); }
  std::string peer_name(std::size_t) const override { return gpu_vendor_family; }
  nlohmann::json fields(std::size_t i) const override {
    return is_peer(i) ? vendor_.config() : kernels_->fields(i);
  }
  Origin origin() const override;
  void announce(std::span<const std::size_t> wanted) override;
  // Whether it compiled, fits the device and is right: every element of a small batch with edges, and some
  // of the problem itself.
  bool is_right(std::size_t i) override;
  const std::string& failure(std::size_t i) const override { return slots_[i].failure; }
  const Accuracy& accuracy(std::size_t i) const override { return slots_[i].accuracy; }
  void set_failure(std::size_t i, std::string reason) override;
  void set_passed(std::size_t i, const Accuracy& accuracy) override;
  // Between two events, at least one launch.
  TurnTimer::Turn time(std::size_t i, double turn_s) override;
  // After some heat, between two moves of the meter (measure/gpu/energy.hpp).
  Metrics time_with_energy(std::size_t i, double turn_s, EnergyMeter& meter) override;
  double shortest_energy_s(const EnergyMeter&) const override { return 1; }
  std::vector<std::unique_ptr<Observer>> observers() const override;

 private:
  struct Slot {
    JitBinary binary;
    std::unique_ptr<GpuTrial> trial;
    std::string failure;
    Accuracy accuracy{};
    bool compiled = false, checked = false;
    double launch_s = 0;  // as last seen
  };
  struct Scalars;
  bool is_peer(std::size_t i) const { return i >= kernels_->size(); }
  void compile(std::span<const std::size_t> wanted);
  void make(Slot& slot, std::size_t i);
  void check(Slot& slot);
  void check(Slot& slot, const SmallCase& edges);
  // Loaded, and known how long a launch takes.
  const GpuTrial& ready(std::size_t i);
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
  std::vector<std::size_t> announced_;
  std::size_t next_announced_ = 0;
  std::int64_t next_ = 0;  // batch
};

}  // namespace tilewright
