// Experiments on real GPUs: transfers alone and under load, copies between GPUs, pinning, products, and the
// transfers that keep every GPU busy while the host works. Times are between events.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tune/calibrate/machine.hpp"

namespace tilewright {

class GpuExperiments {
 public:
  // Opens these devices. Throws Error(unsupported) for an old one, Error(invalid_argument) for a missing one.
  explicit GpuExperiments(const std::vector<int>& devices);
  ~GpuExperiments();

  const std::vector<CalibratedGpu>& gpus() const { return gpus_; }
  bool reaches(int gpu, int peer) const;
  double transfer(const Experiment& experiment);     // to_device, to_host
  double device_copy(const Experiment& experiment);  // from_peer, device_copy
  double start(std::int64_t bytes);                  // start_gpus
  double product(Context& context, const Experiment& experiment);
  // Compiles what the products, and factorizations of their types, need.
  void prepare(Context& context, const std::vector<Experiment>& products);
  double pin(void* data, std::int64_t bytes);
  // The time of one of many copies in a row, with the other direction busy, while the host repeats `work`.
  double transfer_beside(const Experiment& experiment, const std::function<void()>& work);
  // Runs `work` while all GPUs copy both ways from before it begins until after it ends; returns its result.
  // Throws Error(unsupported) if it lasts longer than copies can be queued for.
  double beside_transfers(const std::function<double()>& work);
  // At least so many bytes of pinned memory, valid until the next call.
  void* pinned(std::int64_t bytes);

 private:
  void prepare_factorizations(Context& context, const Experiment& experiment);

  struct Node;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<CalibratedGpu> gpus_;
  std::set<std::pair<int, DType>> factors_;  // devices and types that LU is compiled for
};

}  // namespace tilewright
