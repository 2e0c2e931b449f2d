// Experiments on real GPUs: transfers alone and beside others, copies between GPUs, pinning, products, and
// the transfers that keep every GPU busy while the host works. Times are the device's own, between events.
// Which experiments are made is installation.hpp's. Builds without GPU have none of this.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tilewright/context.hpp"
#include "tune/calibrate/machine.hpp"

namespace tilewright {

class GpuExperiments {
 public:
  // Opens these devices. Throws Error(unsupported) for one that is too old, Error(invalid_argument) for one
  // that does not exist.
  explicit GpuExperiments(const std::vector<int>& devices);
  ~GpuExperiments();

  const std::vector<CalibratedGpu>& gpus() const;
  bool reaches(int gpu, int peer) const;
  // to_device, to_host.
  double transfer(const Experiment& experiment);
  // from_peer, device_copy.
  // Of one of many copies in a row, the other direction busy, while the host does its work again and again.
  double transfer_beside(const Experiment& experiment, const std::function<void()>& work);
  double device_copy(const Experiment& experiment);
  // A thread for each GPU, which copies so many bytes there.
  double start(std::int64_t bytes);

  // Of an experiment's operands on its GPU. Products are given to `context`.
  double product(Context& context, const Experiment& experiment);
  void prepare(Context& context, const std::vector<Experiment>& products);
  // Pins these bytes and gives them back.
  double pin(void* data, std::int64_t bytes);
  // What `work` returns while all GPUs copy both ways, from before it begins until after it ends. Throws
  // Error(unsupported) where it lasts longer than copies can be queued for.
  double beside_transfers(const std::function<double()>& work);
  // At least so many bytes of pinned memory, which stay as large until more are asked for.
  void* pinned(std::int64_t bytes);

 private:
  struct Node;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<CalibratedGpu> gpus_;
};

}  // namespace tilewright
