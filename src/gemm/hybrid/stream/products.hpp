// The products that a split has GPUs form, known before any of them is queued, so that their kernels are
// chosen and compiled ahead. Running them is stream.hpp's.
#pragma once

#include <functional>
#include <vector>

#include "gemm/hybrid/split/schedule.hpp"

namespace tilewright {

struct StreamProduct {
  int gpu = 0;          // position in the model's list
  GemmProblem problem;  // in device memory, with the leading dimensions of the buffers
  int align_bytes = 0;  // of all addresses: 128, 16 or the size of an element

  friend bool operator==(const StreamProduct&, const StreamProduct&) = default;
};

// Those of the split's schedules, each once.
std::vector<StreamProduct> stream_products(const GemmProblem& problem, const Split& split,
                                           const std::vector<StreamSchedule>& schedules);

// One product, ready to be queued on operands.stream.
using DeviceProduct = std::function<void(const Operands&)>;

// What the GPUs of one split multiply with.
class DeviceProducts {
 public:
  void add(const StreamProduct& what, DeviceProduct product) { all_.push_back({what, std::move(product)}); }
  bool has(const StreamProduct& what) const { return find(what) != nullptr; }
  // Throws Error(internal) for a product that was not added.
  void multiply(int gpu, const GemmProblem& problem, const Operands& operands) const;

 private:
  struct Entry {
    StreamProduct what;
    DeviceProduct product;
  };
  const Entry* find(const StreamProduct& what) const;

  std::vector<Entry> all_;
};

}  // namespace tilewright
