// The part of a Context for products of host operands on CPU and GPUs: the list of GPUs, the models of the
// machine, and, once a plan needs them, opened devices, their products, and threads that copy. One product at
// a time has the devices; others wait. Plans keep the node alive beyond their Context.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/host/fork_gate.hpp"
#include "device/workers.hpp"
#include "gemm/hybrid/stream/stream_job.hpp"
#include "tilewright/context.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {

// A product that a split has a GPU form, known before it is queued, so that its kernel is compiled ahead.
struct StreamProduct {
  int gpu = 0;          // position in the model's list
  GemmProblem problem;  // in device memory, with the leading dimensions of the buffers
  int align_bytes = 0;  // of all addresses: 128, 16 or the size of an element

  friend bool operator==(const StreamProduct&, const StreamProduct&) = default;
};

// One product, ready to be queued on operands.stream.
using DeviceProduct = std::function<void(const Operands&)>;

// A split's schedules and products on opened GPUs.
struct ReadyStream {
  std::vector<StreamSchedule> schedules;
  std::vector<std::pair<StreamProduct, DeviceProduct>> products;

  // Throws Error(internal) for a product that was not prepared.
  void multiply(int gpu, const GemmProblem& problem, const Operands& operands) const;
};

struct HybridGpu {
  int ordinal = 0;  // as options name it
  std::string name;
  std::int64_t memory_bytes = 0;
};

// The GPUs that products of host operands may use. Tests put simulated ones in place of machine_gpus().
class HybridGpus {
 public:
  virtual ~HybridGpus() = default;
  // Sets nothing up on a device; says why there are none.
  virtual std::vector<HybridGpu> list(std::string& why_none) = 0;
  // The model of a simulated GPU, by position in the list.
  virtual std::optional<GpuModel> model(int /*position*/) const { return std::nullopt; }
  virtual std::unique_ptr<StreamDevice> open(int ordinal, DeviceMultiply multiply) = 0;
  // Chooses the kernel of the product and compiles it if it may. Throws Error(unsupported) if there is none.
  virtual DeviceProduct prepare(Context::Impl& context, const StreamProduct& product, int ordinal,
                                bool may_compile) = 0;
};

// The GPUs of this machine; a build without GPU sources has none, and says so.
std::unique_ptr<HybridGpus> machine_gpus();

class HybridNode {
 public:
  // `owner` is the Context that makes plans with it, until leave().
  HybridNode(std::unique_ptr<HybridGpus> gpus, Context::Impl* owner);
  ~HybridNode();
  HybridNode& operator=(HybridNode&&) = delete;

  // Listed once; says why there are none.
  const std::vector<HybridGpu>& gpus(std::string* why_none = nullptr);
  // A GPU that is in the list, or was in the parent of this process.
  const HybridGpu& gpu(int index) const { return gpus_[std::size_t(index)]; }
  // True if this process is a child of one that had GPUs: driver and threads are gone, the list is empty.
  bool was_lost() const { return generation_ != 0 && generation_ != fork_gate::generation() + 1; }

  // The model of this host with so many threads and of all GPUs.
  std::shared_ptr<const NodeModel> model(const Wisdom* wisdom, const std::string& blas, int threads);
  // Counts the calls of model(): a decision makes one.
  std::int64_t models_asked() const { return models_asked_.load(std::memory_order_relaxed); }

  // The schedules of a split on open GPUs, and their products, all made ready.
  std::shared_ptr<const ReadyStream> prepare(Context::Impl& context, const GemmProblem& problem,
                                             const Split& split, bool may_compile);

  // Opens these GPUs, by position, unless they are open. Returns the least of their free bytes.
  std::int64_t open(std::span<const int> gpus);

  // The open devices, for one product at a time.
  class Use {
   public:
    explicit Use(HybridNode& node) : node_(node), lock_(node.jobs_) {}
    // Fills in devices and threads that copy, and runs it.
    StreamReport run(StreamJob job, const ReadyStream& ready);
    // By position; must be open.
    StreamDevice& device(int gpu) const { return *node_.devices_[std::size_t(gpu)]; }
    // So many, at least one.
    Workers& copiers(int threads) const;
    // An open device.
    StreamDevice* any_device() const;
    // Throws Error(unsupported) if the Context is gone.
    Context::Impl& owner() const;

   private:
    HybridNode& node_;
    std::unique_lock<LongMutex> lock_;
  };
  // True if all of these bytes are pinned, by an open device and without waiting for the product that has it.
  bool is_pinned(const void* address, std::int64_t bytes) const;

  // The Context goes: waits for what uses it.
  void leave();

 private:
  // By position; null for those that the split leaves out.
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
  const ReadyStream* running_ = nullptr;                // the product that has the devices
  std::vector<std::unique_ptr<StreamDevice>> devices_;  // by position; null: not open
  std::atomic<StreamDevice*> some_device_ = nullptr;
  std::map<int, std::unique_ptr<Workers>> teams_;  // by threads
  std::unique_ptr<Workers> threads_ = std::make_unique<Workers>();
  std::atomic<int> generation_ = 0;  // of fork in which GPUs were found, plus one
};

}  // namespace tilewright
