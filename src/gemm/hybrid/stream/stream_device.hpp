// One GPU as the pipelined executor uses it: memory, three queues that run side by side (copies in, copies
// out, products), and marks by which one queue waits for another. cuda_device.cpp has the real GPU; the one
// of simulated_device.hpp has its own clock, for tests. stream_job.hpp decides what is moved when.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/problem.hpp"

struct CUstream_st;

namespace tilewright {

enum class Lane : std::uint8_t { in, compute, out };
constexpr int lane_count = 3;

// A part of a matrix: `rows` x `columns` elements of `element_bytes` bytes, columns `pitch_bytes` apart.
struct Block {
  void* data = nullptr;
  std::int64_t pitch_bytes = 0;
};
struct BlockShape {
  std::int64_t rows = 0, columns = 0;
  int element_bytes = 8;
  std::int64_t bytes() const { return rows * columns * element_bytes; }
};

// Memory of the device; freed with its owner.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void* data() const = 0;
};

// Host memory that copies reach without staging.
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
  virtual void* data() const = 0;
};

class StreamDevice {
 public:
  // A point in one lane; marks are numbered from 1 in the order in which they are made, 0 is the beginning.
  using Mark = std::int64_t;

  virtual ~StreamDevice() = default;
  virtual std::string name() const = 0;
  // The bytes that an executor may allocate now.
  virtual std::int64_t free_bytes() const = 0;
  // True if another device's memory is reached without a detour through the host's.
  virtual bool reaches(const StreamDevice& other) const = 0;

  // Throw Error(out_of_memory) naming the bytes.
  virtual std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) = 0;
  virtual std::unique_ptr<PinnedMemory> allocate_pinned(std::int64_t bytes) = 0;
  virtual bool is_pinned(const void* address, std::int64_t bytes) const = 0;

  // All of the following are queued and return at once. They throw Error(device_lost) if the device is gone,
  // possibly late: by the next call, or by wait().
  virtual void copy_in(const Block& to_device, const Block& from_host, const BlockShape& shape) = 0;
  virtual void copy_out(const Block& to_host, const Block& from_device, const BlockShape& shape) = 0;
  // On the lane, not `compute`, from memory of `other`, which must be reached, after its `mark`; another
  // thread may queue there. Lane `out` is idle while operands arrive.
  virtual void copy_from_peer(Lane lane, const Block& to, StreamDevice& other, const Block& from,
                              const BlockShape& shape, Mark mark) = 0;
  // C = alpha op(A) op(B) + beta C, on lane `compute`, of operands in this device's memory: single matrices.
  virtual void multiply(const GemmProblem& problem, const Operands& operands) = 0;

  // True if add() is implemented; else C is always copied in before the product.
  virtual bool adds() const { return false; }
  // to += beta from, by elements, on lane `compute`, both in this device's memory; beta as in Operands.
  virtual void add(DType, const Block& /*to*/, const Block& /*from*/, const BlockShape&,
                   const void* /*beta*/) {
    throw Error(ErrorCode::unsupported, "device", name() + " cannot add matrices");
  }

  // The stream of the lane, for kernels outside of this interface; null if it has none.
  virtual CUstream_st* native_stream(Lane) const { return nullptr; }

  // A mark after all work queued on the lane so far.
  virtual Mark mark(Lane lane) = 0;
  // Work queued on the lane from now on begins after the mark.
  virtual void hold_back(Lane lane, Mark mark) = 0;
  // The host waits for the mark.
  virtual void wait(Mark mark) = 0;
  // The same without spinning, at the price of some 0.1 ms: threads that multiply wait for the slowest of
  // them, which would share its core with the one that spins.
  virtual void wait_asleep(Mark mark) { wait(mark); }
  // True if wait() would return at once; false if that is unknown.
  virtual bool has_passed(Mark) { return false; }
  virtual void wait_all() = 0;
};

// Multiplies on the device that it was given to, queued on operands.stream.
using DeviceMultiply = std::function<void(const GemmProblem&, const Operands&)>;

// A GPU of this machine, in builds with GPU sources; `multiply` must not wait. The device is used by one
// thread at a time; copy_from_peer() of another may meanwhile ask it for its marks. Throws Error(unsupported)
// without a driver and Error(invalid_argument) for a GPU that does not exist.
std::unique_ptr<StreamDevice> make_cuda_device(int ordinal, DeviceMultiply multiply);

}  // namespace tilewright
