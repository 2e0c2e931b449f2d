// Each thing is made when it is first asked for and kept.
#include "gemm/hybrid/node.hpp"

#include <algorithm>

#include "device/cpu.hpp"
#include "gemm/hybrid/stream/stream.hpp"

namespace tilewright {

HybridNode::HybridNode(std::unique_ptr<HybridGpus> gpus, Context::Impl* owner)
    : machine_(std::move(gpus)), owner_(owner) {}

// Who waits in vain for threads, or for a driver, that a fork left behind is not waited for.
HybridNode::~HybridNode() {
  if (!was_lost()) return;
  for (auto& device : devices_) (void)device.release();
  for (auto& [count, team] : teams_) (void)team.release();
  (void)threads_.release();
  (void)machine_.release();
}

const std::vector<HybridGpu>& HybridNode::gpus(std::string* why_none) {
  fork_safe_call_once(looked_, [&] {
    gpus_ = machine_->list(why_none_);
    devices_.resize(gpus_.size());
    if (!gpus_.empty()) generation_ = fork_gate::generation() + 1;
  });
  if (was_lost()) {
    static constinit Once<const std::vector<HybridGpu>> none;
    if (why_none != nullptr) *why_none = "the GPUs are those of the parent of this process";
    return none.get([] { return std::vector<HybridGpu>(); });
  }
  if (why_none != nullptr) *why_none = why_none_;
  return gpus_;
}

std::shared_ptr<const NodeModel> HybridNode::model(const Wisdom* wisdom, const std::string& blas,
                                                   int threads) {
  models_asked_.fetch_add(1, std::memory_order_relaxed);
  const std::vector<HybridGpu>& all = gpus();
  const std::lock_guard lock(models_mutex_);
  std::shared_ptr<const NodeModel>& kept = models_[threads];
  if (kept != nullptr) return kept;
  std::vector<std::string> names;
  for (const HybridGpu& gpu : all) names.push_back(gpu.name);
  NodeModel node = node_model(wisdom, cpu_info().device, blas, threads, names);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const auto own = machine_->model(int(i))) node.gpus[i] = *own;
    if (all[i].memory_bytes > 0) node.gpus[i].memory_bytes = all[i].memory_bytes;
  }
  return kept = std::make_shared<const NodeModel>(std::move(node));
}

std::vector<StreamDevice*> HybridNode::devices_of(const Split& split) const {
  std::vector<StreamDevice*> devices(devices_.size());
  for (const GpuShare& share : split.gpus)
    devices[std::size_t(share.gpu)] = devices_[std::size_t(share.gpu)].get();
  return devices;
}

std::shared_ptr<const ReadyStream> HybridNode::prepare(Context::Impl& context, const GemmProblem& problem,
                                                       const Split& split, bool may_compile) {
  auto ready = std::make_shared<ReadyStream>();
  ready->schedules = schedules_on(devices_of(split), problem, split);
  for (const StreamProduct& what : stream_products(problem, split, ready->schedules)) {
    const int ordinal = gpus_[std::size_t(what.gpu)].ordinal;
    ready->products.add(what, machine_->prepare(context, what, ordinal, may_compile));
  }
  return ready;
}

std::int64_t HybridNode::open(std::span<const int> gpus) {
  const std::lock_guard lock(jobs_);
  std::int64_t least = 0;
  for (const int gpu : gpus) {
    std::unique_ptr<StreamDevice>& device = devices_[std::size_t(gpu)];
    if (device == nullptr)
      device = machine_->open(gpus_[std::size_t(gpu)].ordinal,
                              [this, gpu](const GemmProblem& problem, const Operands& operands) {
                                products_->multiply(gpu, problem, operands);
                              });
    some_device_ = device.get();
    const std::int64_t free = device->free_bytes();
    least = least == 0 ? free : std::min(least, free);
  }
  return least;
}

bool HybridNode::is_pinned(const void* address, std::int64_t bytes) const {
  const StreamDevice* device = some_device_;
  return device != nullptr && device->is_pinned(address, bytes);
}

void HybridNode::leave() {
  const std::lock_guard lock(jobs_);
  owner_ = nullptr;
}

StreamReport HybridNode::Use::run(StreamJob job, const DeviceProducts& products) {
  job.devices = node_.devices_of(job.split);
  if (!job.split.gpus.empty() && job.split.copy_threads > 1) job.copiers = &copiers(job.split.copy_threads);
  job.threads = node_.threads_.get();
  node_.products_ = &products;
  struct Reset {
    const DeviceProducts*& products;
    ~Reset() { products = nullptr; }
  } reset{node_.products_};
  return stream_gemm(job);
}

Workers& HybridNode::Use::copiers(int threads) const {
  std::unique_ptr<Workers>& team = node_.teams_[threads];
  if (team == nullptr) team = std::make_unique<Workers>(threads - 1);
  return *team;
}

StreamDevice* HybridNode::Use::any_device() const { return node_.some_device_; }

Context::Impl& HybridNode::Use::owner() const {
  if (node_.owner_ == nullptr)
    throw Error(ErrorCode::unsupported, "split",
                "a split is searched for while the plan's Context lives, and it is gone");
  return *node_.owner_;
}

}  // namespace tilewright
