// What a Context keeps for products of host operands on CPU and GPUs: which GPUs there are, the models of the
// machine, and, once a plan wants them, opened devices and threads that copy. One product at a time has the
// devices; others wait. Plans keep it alive, also beyond their Context.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "core/host/fork_gate.hpp"
#include "device/workers.hpp"
#include "gemm/hybrid/gpus.hpp"
#include "gemm/hybrid/stream/stream.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {

// What a split is run by on opened GPUs.
struct ReadyStream {
  std::vector<StreamSchedule> schedules;
  DeviceProducts products;
};

class HybridNode {
 public:
  // `owner` is the Context that makes plans with it, until leave().
  HybridNode(std::unique_ptr<HybridGpus> gpus, Context::Impl* owner);
  ~HybridNode();
  HybridNode(const HybridNode&) = delete;
  HybridNode& operator=(const HybridNode&) = delete;

  // Looked for once; says why where there are none.
  const std::vector<HybridGpu>& gpus(std::string* why_none = nullptr);
  // One that is in the list, or was in the parent of this process.
  const HybridGpu& gpu(int index) const { return gpus_[std::size_t(index)]; }
  // Whether this process is a child of one that had GPUs: their driver and the threads that feed them are not
  // there, and the list is empty.
  bool was_lost() const { return generation_ != 0 && generation_ != fork_gate::generation() + 1; }

  // Of this host with so many threads and of all GPUs.
  std::shared_ptr<const NodeModel> model(const Wisdom* wisdom, const std::string& blas, int threads);
  // How often it was asked for: a decision asks once.
  std::int64_t models_asked() const { return models_asked_.load(std::memory_order_relaxed); }

  // The schedules of a split on open GPUs, and their products, all made ready.
  std::shared_ptr<const ReadyStream> prepare(Context::Impl& context, const GemmProblem& problem,
                                             const Split& split, bool may_compile);

  // Opens these GPUs, by position, unless they are open; tells the bytes that are free on the one that has
  // least.
  std::int64_t open(std::span<const int> gpus);

  // The devices, for one product at a time. Open ones only.
  class Use {
   public:
    explicit Use(HybridNode& node) : node_(node), lock_(node.jobs_) {}
    // Fills in devices and threads that copy, and runs it.
    StreamReport run(StreamJob job, const DeviceProducts& products);
    // By position; must be open.
    StreamDevice& device(int gpu) const { return *node_.devices_[std::size_t(gpu)]; }
    // So many, at least one.
    Workers& copiers(int threads) const;
    // One that is open.
    StreamDevice* any_device() const;
    // Throws Error(unsupported) where the Context is gone.
    Context::Impl& owner() const;

   private:
    HybridNode& node_;
    std::unique_lock<LongMutex> lock_;
  };
  // Whether all of these bytes are pinned; asked of a device that stays open, without waiting for the product
  // that has it.
  bool is_pinned(const void* address, std::int64_t bytes) const;

  // The Context goes: waits for what uses it.
  void leave();

 private:
  // By position; of those that the split leaves out null.
  std::vector<StreamDevice*> devices_of(const Split& split) const;

  std::unique_ptr<HybridGpus> machine_;
  Context::Impl* owner_;
  std::once_flag looked_;
  std::vector<HybridGpu> gpus_;
  std::string why_none_;
  Mutex models_mutex_;
  std::map<int, std::shared_ptr<const NodeModel>> models_;  // by threads
  std::atomic<std::int64_t> models_asked_{0};
  LongMutex jobs_;
  const DeviceProducts* products_ = nullptr;            // of the product that has the devices
  std::vector<std::unique_ptr<StreamDevice>> devices_;  // by position; null: not open
  std::atomic<StreamDevice*> some_device_ = nullptr;
  std::map<int, std::unique_ptr<Workers>> teams_;  // by threads
  std::unique_ptr<Workers> threads_ = std::make_unique<Workers>();
  std::atomic<int> generation_ = 0;  // of fork in which GPUs were found, plus one
};

}  // namespace tilewright
