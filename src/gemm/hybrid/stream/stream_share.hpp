// One GPU's share of a product or batch being computed, as stream.cpp sees it: it is computed by one thread,
// and tells what is missing should it fail.
#pragma once

#include <exception>
#include <functional>

#include "gemm/hybrid/split/shape.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"

namespace tilewright {

class StreamShare {
 public:
  virtual ~StreamShare() = default;
  // Returns when the share's part of C is complete in host memory; what it throws is kept as failure().
  virtual void compute() noexcept = 0;
  // After all shares have returned: gives the buffers back.
  virtual void release() noexcept = 0;

  virtual std::exception_ptr failure() const = 0;
  virtual StreamDevice& device() const = 0;
  virtual double seconds() const = 0;
  // Blocks of C that are not known to be complete, one after the other and adjacent ones joined; of a batch
  // its problems are columns. Asks for no memory.
  virtual void each_missing(const std::function<void(const StoredBlock&)>& use) const = 0;
};

}  // namespace tilewright
