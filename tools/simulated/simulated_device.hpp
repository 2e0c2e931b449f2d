// A simulated GPU: its three lanes take the time that a GpuModel predicts, and its memory is the host's.
// Queued work happens when its clock is read, at the time at which a real device would have finished it, so
// that an executor that forgets to wait gets wrong results here as well. Faults occur on request.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gemm/hybrid/split/timeline.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {

// The number of the operation that fails, counted from 1; 0: none.
struct SimulatedFaults {
  int failing_allocation = 0;
  int failing_copy = 0;  // half of the data arrives, then the device is lost
  int lost_after = 0;    // operations of any lane; later ones have no effect
  double slower = 1;     // factor over the model's times
  bool adds = true;      // true if the device supports add()
};

class SimulatedDevice;

// The state that the devices of one machine share.
class SimulatedNode {
 public:
  using Product = std::function<void(const GemmProblem&, const Operands&)>;

  // `product` multiplies host operands; without one, no data are moved or multiplied, and only time passes.
  explicit SimulatedNode(NodeModel model, Product product = {});
  ~SimulatedNode();

  // Returns one of the model's GPUs. It lives as long as the node.
  SimulatedDevice& device(int gpu, const SimulatedFaults& faults = {});
  // Marks host memory as pinned.
  void pin(const void* address, std::int64_t bytes);
  bool is_pinned(const void* address, std::int64_t bytes) const;

  const NodeModel& model() const { return model_; }
  const Product& product() const { return product_; }
  // Guards all operations of a device: other devices may query it from other threads.
  std::recursive_mutex& mutex() { return mutex_; }

 private:
  NodeModel model_;
  Product product_;
  std::vector<std::unique_ptr<SimulatedDevice>> devices_;
  std::vector<std::pair<const char*, std::int64_t>> pinned_;
  mutable std::recursive_mutex mutex_;
};

class SimulatedDevice : public StreamDevice {
 public:
  SimulatedDevice(SimulatedNode& node, int gpu, const SimulatedFaults& faults);

  std::string name() const override;
  std::int64_t free_bytes() const override;
  bool reaches(const StreamDevice& other) const override;
  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) override;
  std::unique_ptr<PinnedMemory> allocate_pinned(std::int64_t bytes) override;
  bool is_pinned(const void* address, std::int64_t bytes) const override;

  void copy_in(const Block& to_device, const Block& from_host, const BlockShape& shape) override;
  void copy_out(const Block& to_host, const Block& from_device, const BlockShape& shape) override;
  void copy_from_peer(Lane lane, const Block& to, StreamDevice& other, const Block& from,
                      const BlockShape& shape, Mark mark) override;
  void multiply(const GemmProblem& problem, const Operands& operands) override;
  bool adds() const override { return faults_.adds; }
  void add(DType dtype, const Block& to, const Block& from, const BlockShape& shape,
           const void* beta) override;

  Mark mark(Lane lane) override;
  void hold_back(Lane lane, Mark mark) override;
  void wait(Mark mark) override;
  bool has_passed(Mark mark) override;
  void wait_all() override;

  // Time by the device's clock, from the beginning to the end of the work that was waited for.
  double seconds() const { return timeline_.now(); }
  std::int64_t most_bytes() const { return most_bytes_; }  // largest number of bytes allocated at one time
  int operations() const { return int(effects_.size()); }
  // Bytes that came over the link from the host.
  std::int64_t bytes_in() const { return bytes_in_; }

 private:
  friend class SimulatedMemory;

  void check();
  void queue(Lane lane, Traffic traffic, double start_s, double seconds, std::function<bool()> effect,
             double not_before = 0);
  void copy(Lane lane, const Block& to, const Block& from, const BlockShape& shape);
  // Advances time until the operation, or all, has ended, and applies the effects of operations that end
  // meanwhile.
  void run(int operation);
  int operation_of(Mark mark) const { return mark <= 0 ? -1 : marks_[std::size_t(mark - 1)]; }

  SimulatedNode& node_;
  const GpuModel& model_;
  SimulatedFaults faults_;
  Timeline timeline_;
  // Effects of the operations; an effect returns false if the device is lost in it.
  std::vector<std::function<bool()>> effects_;
  std::size_t happened_ = 0;
  std::vector<int> marks_;
  std::array<int, lane_count> last_{-1, -1, -1};
  std::array<std::vector<int>, lane_count> held_;
  int allocations_ = 0, copies_ = 0;
  std::int64_t used_bytes_ = 0, most_bytes_ = 0, bytes_in_ = 0;
  bool lost_ = false, in_effect_ = false;
};

}  // namespace tilewright
