// A GPU that is simulated for a bench, at the pace of the wall clock.
#include "bench/simulated_gpu.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/plan.hpp"
#include "measure/clock.hpp"
#include "simulated/simulated_device.hpp"

namespace tilewright::bench {
namespace {

// Slows the simulated device of hybrid products down to its own clock.

constexpr double launch_s = 10e-6;
constexpr double memory_bytes_per_s = 200e9;  // rate of the GPU's own memory, like that of the paper's cards
constexpr std::int64_t memory_bytes = std::int64_t(16) << 30;

GpuModel model_of(const SimulatedGpu& gpu) {
  GpuModel model = default_node(1, {gpu.text()}).gpus.front();
  model.memory_bytes = memory_bytes;
  model.to_device = model.to_host = {launch_s, 1e-9 / gpu.link_gb_per_s};
  model.duplex = 1;
  model.memory_bytes_per_s = memory_bytes_per_s;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = DType(i);
    GemmTime& time = model.gemm[i];
    time = {};
    time.start_s = launch_s;
    time.s_per_product = (is_complex(dtype) ? 8 : 2) / gpu.speed(dtype);
    time.s_per_c = 2 * double(size_bytes(dtype)) / memory_bytes_per_s;
  }
  return model;
}

class PacedDevice : public StreamDevice {
 public:
  PacedDevice(SimulatedNode& node, bool paced) : device_(node.device(0)), paced_(paced) {}

  std::string name() const override { return device_.name(); }
  std::int64_t free_bytes() const override { return device_.free_bytes(); }
  bool reaches(const StreamDevice&) const override { return false; }
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) override { return device_.allocate(bytes); }
  std::unique_ptr<PinnedMemory> allocate_pinned(std::int64_t bytes) override {
    return device_.allocate_pinned(bytes);
  }
  bool is_pinned(const void*, std::int64_t) const override { return true; }

  void copy_in(const Block& to, const Block& from, const BlockShape& shape) override {
    begin();
    device_.copy_in(to, from, shape);
  }
  void copy_out(const Block& to, const Block& from, const BlockShape& shape) override {
    begin();
    device_.copy_out(to, from, shape);
  }
  void copy_from_peer(Lane, const Block&, StreamDevice&, const Block&, const BlockShape&, Mark) override {
    throw Error(ErrorCode::internal, "gpu", name() + " has no neighbours");
  }
  void multiply(const GemmProblem& problem, const Operands& operands) override {
    begin();
    device_.multiply(problem, operands);
  }
  bool adds() const override { return device_.adds(); }
  void add(DType dtype, const Block& to, const Block& from, const BlockShape& shape,
           const void* beta) override {
    begin();
    device_.add(dtype, to, from, shape, beta);
  }

  Mark mark(Lane lane) override { return device_.mark(lane); }
  void hold_back(Lane lane, Mark mark) override { device_.hold_back(lane, mark); }
  bool has_passed(Mark mark) override { return device_.has_passed(mark); }
  void wait(Mark mark) override {
    device_.wait(mark);
    sleep();
  }
  void wait_all() override {
    device_.wait_all();
    sleep();
    idle_ = true;
  }

 private:
  // Work given to an idle device begins now.
  void begin() {
    if (idle_) ahead_s_ = wall_seconds() - device_.seconds();
    idle_ = false;
  }
  // Waits until the wall clock reaches the device's clock. The core stays free for the CPU's part.
  void sleep() const {
    const double left = ahead_s_ + device_.seconds() - wall_seconds();
    if (paced_ && left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
  }

  SimulatedDevice& device_;
  bool paced_;
  bool idle_ = true;
  double ahead_s_ = 0;  // wall clock minus device clock
};

class OneSimulatedGpu : public HybridGpus {
 public:
  OneSimulatedGpu(const SimulatedGpu& gpu, bool paced)
      : model_(model_of(gpu)), paced_(paced), node_(node_of(model_), product()) {}

  std::vector<HybridGpu> list(std::string&) override { return {{0, model_.name, model_.memory_bytes}}; }
  std::optional<GpuModel> model(int) const override { return model_; }
  std::unique_ptr<StreamDevice> open(int, DeviceMultiply multiply) override {
    multiply_ = std::move(multiply);
    return std::make_unique<PacedDevice>(node_, paced_);
  }
  // The CPU computes the product: the device's memory is the host's.
  DeviceProduct prepare(Context::Impl& context, const StreamProduct& what, int, bool) override {
    if (paced_) return [](const Operands&) {};
    GemmProblem problem = what.problem;
    problem.location = Location::host;
    GemmOptions options;
    options.target = Target::cpu;
    return [plan = find_plan(context, problem, options)](const Operands& o) { execute(*plan, o); };
  }

 private:
  static NodeModel node_of(const GpuModel& model) {
    NodeModel node = default_node(1, {model.name});
    node.gpus.front() = model;
    return node;
  }
  SimulatedNode::Product product() {
    if (paced_) return {};
    return [this](const GemmProblem& problem, const Operands& operands) { multiply_(problem, operands); };
  }

  GpuModel model_;
  bool paced_;
  DeviceMultiply multiply_;
  SimulatedNode node_;
};

}  // namespace

std::string SimulatedGpu::text() const {
  return fmt::format("{:g} GFLOP/s of f64, {:g} GB/s each way", gflops, link_gb_per_s);
}

void simulate_gpu(Context& context, const SimulatedGpu& gpu, bool paced) {
  Access::impl(context).hybrid =
      std::make_shared<HybridNode>(std::make_unique<OneSimulatedGpu>(gpu, paced), &Access::impl(context));
}

}  // namespace tilewright::bench
