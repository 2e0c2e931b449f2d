// Scratch memory that launches on any stream may use: lent to one launch after the other, with waits on the
// device if two streams want it at once. It grows on reserve() and never within a loan. It does not know its
// users.
#pragma once

#include <mutex>
#include <optional>

#include "core/host/fork_gate.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright {

class GpuWorkspace {
 public:
  // Allocates nothing yet.
  explicit GpuWorkspace(const Gpu& gpu);

  // Provides `bytes` of scratch and `zero_bytes` that are zero when a loan begins and that the borrower
  // leaves zero. If it has to grow, it waits for the last use, so calls must not use it. Throws
  // Error(out_of_memory), and keeps the old memory, if the device has no more.
  void reserve(std::size_t bytes, std::size_t zero_bytes);

  // Lends the memory to the work that its holder queues on `stream` before the loan ends, at most the
  // reserved bytes. If the memory still serves another stream, `stream` waits on the device. While `stream`
  // is captured into a graph, the graph gets memory of its own, allocated and freed by its replays.
  class Loan {
   public:
    Loan(GpuWorkspace& workspace, std::size_t bytes, std::size_t zero_bytes, CUstream_st* stream);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    void* scratch() const { return scratch_; }
    void* zeros() const { return zeros_; }

   private:
    GpuWorkspace& workspace_;
    CUstream_st* stream_;
    std::unique_lock<LongMutex> lock_;
    unsigned long long own_ = 0;  // of the graph that is being captured
    void* scratch_ = nullptr;
    void* zeros_ = nullptr;
  };

 private:
  const Gpu& gpu_;
  LongMutex mutex_;
  std::size_t bytes_ = 0, zero_bytes_ = 0;
  std::optional<GpuBuffer> memory_;
  GpuEvent last_use_;
  bool used_ = false;
};

}  // namespace tilewright
