// Makes each part on first use and keeps it.
#include "gemm/hybrid/node.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "device/cpu.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t widest_bytes = 128;  // buffers begin at multiples of this

int alignment(std::int64_t bits, std::int64_t element_bytes) {
  if (bits % widest_bytes == 0) return int(widest_bytes);
  return bits % 16 == 0 ? 16 : int(element_bytes);
}

// The products of the split's schedules, each once.
std::vector<StreamProduct> stream_products(const GemmProblem& problem, const Split& split,
                                           const std::vector<StreamSchedule>& schedules) {
  std::vector<StreamProduct> all;
  const StreamShape shape(problem, split.side);
  for (std::size_t i = 0; i < split.gpus.size(); ++i)
    for (const StreamStep& step : schedules[i].steps) {
      if (step.kind != StepKind::multiply) continue;
      std::int64_t bits = 0;
      for (const ProductMatrix which : product_matrices)
        bits |= buffer_offset_bytes(shape, schedules[i], step, which);
      StreamProduct product{split.gpus[i].gpu, device_product(shape, schedules[i], step),
                            alignment(bits, shape.element_bytes())};
      if (std::find(all.begin(), all.end(), product) == all.end()) all.push_back(std::move(product));
    }
  return all;
}

}  // namespace

void ReadyStream::multiply(int gpu, const GemmProblem& problem, const Operands& operands) const {
  const auto bits = reinterpret_cast<std::uintptr_t>(operands.a) |
                    reinterpret_cast<std::uintptr_t>(operands.b) |
                    reinterpret_cast<std::uintptr_t>(operands.c);
  const int align = alignment(std::int64_t(bits % widest_bytes), size_bytes(problem.dtype));
  const std::pair<StreamProduct, DeviceProduct>* best = nullptr;
  for (const auto& one : products)
    if (one.first.gpu == gpu && one.first.align_bytes <= align && one.first.problem == problem &&
        (best == nullptr || one.first.align_bytes > best->first.align_bytes))
      best = &one;
  if (best == nullptr)
    throw Error(ErrorCode::internal, "problem",
                fmt::format("{} on {} bytes was not planned for a GPU", to_string(problem), align));
  // The job's values are not those of a part, whose beta may be one whatever the job's is.
  Operands o = operands;
  alignas(16) unsigned char alpha[16], beta[16];
  dispatch(problem.dtype, [&]<class T>() {
    if (problem.alpha != Scalar::general) o.alpha = new (alpha) T(float(problem.alpha == Scalar::one));
    if (problem.beta != Scalar::general) o.beta = new (beta) T(float(problem.beta == Scalar::one));
  });
  best->second(o);
}

HybridNode::HybridNode(std::unique_ptr<HybridGpus> gpus, Context::Impl* owner)
    : machine_(std::move(gpus)), owner_(owner) {}

// In a child of fork nothing waits for threads or a driver of the parent: they would never answer.
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
    if (why_none != nullptr) *why_none = "the GPUs are in use by the parent of this process";
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
    ready->products.emplace_back(what, machine_->prepare(context, what, ordinal, may_compile));
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
                                running_->multiply(gpu, problem, operands);
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

StreamReport HybridNode::Use::run(StreamJob job, const ReadyStream& ready) {
  job.devices = node_.devices_of(job.split);
  if (!job.split.gpus.empty() && job.split.copy_threads > 1) job.copiers = &copiers(job.split.copy_threads);
  job.threads = node_.threads_.get();
  node_.running_ = &ready;
  struct Reset {
    const ReadyStream*& running;
    ~Reset() { running = nullptr; }
  } reset{node_.running_};
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
                "the search for a split needs the plan's Context, which has been destroyed");
  return *node_.owner_;
}

}  // namespace tilewright
