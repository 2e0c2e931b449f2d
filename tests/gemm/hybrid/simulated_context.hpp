// A Context whose GPUs are simulated: what plans and calls of host operands do on CPU and GPUs, without one.
#pragma once

#include <mutex>
#include <set>
#include <thread>

#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "simulated_job.hpp"

namespace tilewright::testing {

// GPUs of a simulated node, of the names and memory of small_node().
class SimulatedGpus : public HybridGpus {
 public:
  explicit SimulatedGpus(int count, std::vector<SimulatedFaults> faults = {})
      : node_(small_node(count), [this](const GemmProblem& p, const Operands& o) { multiply(p, o); }),
        faults_(std::move(faults)) {}

  std::vector<HybridGpu> list(std::string& why_none) override {
    ++looked;
    if (node_.model().gpus.empty()) why_none = "none was simulated";
    std::vector<HybridGpu> all;
    for (std::size_t i = 0; i < node_.model().gpus.size(); ++i)
      all.push_back({int(i), node_.model().gpus[i].name, node_.model().gpus[i].memory_bytes});
    return all;
  }
  std::unique_ptr<StreamDevice> open(int ordinal, DeviceMultiply multiply) override {
    ++opened;
    multiply_.push_back(std::move(multiply));
    const std::size_t i = std::size_t(ordinal);
    return std::make_unique<SimulatedDevice>(node_, ordinal,
                                             i < faults_.size() ? faults_[i] : SimulatedFaults{});
  }
  DeviceProduct prepare(Context::Impl&, const StreamProduct& what, int, bool) override {
    ++prepared;
    {
      const std::lock_guard lock(mutex_);
      callers.insert(std::this_thread::get_id());
    }
    return [problem = what.problem](const Operands& o) { multiply_on_host(problem, o); };
  }
  SimulatedNode& node() { return node_; }

  int looked = 0, opened = 0, prepared = 0;
  std::set<std::thread::id> callers;  // threads on which products were asked for

 private:
  // The node does not say which of its GPUs multiplies; what is asked for must have been planned for one.
  void multiply(const GemmProblem& p, const Operands& o) {
    for (const DeviceMultiply& one : multiply_) try {
        return one(p, o);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::internal || &one == &multiply_.back()) throw;
      }
  }

  std::mutex mutex_;
  std::vector<DeviceMultiply> multiply_;
  SimulatedNode node_;
  std::vector<SimulatedFaults> faults_;
};

struct SimulatedContext {
  explicit SimulatedContext(int gpus, std::vector<SimulatedFaults> faults = {}) {
    auto machine = std::make_unique<SimulatedGpus>(gpus, std::move(faults));
    simulated = machine.get();
    Access::impl(context).hybrid = std::make_shared<HybridNode>(std::move(machine), &Access::impl(context));
  }
  Context context{ContextOptions{.use_wisdom = false}};
  SimulatedGpus* simulated;
};

}  // namespace tilewright::testing
