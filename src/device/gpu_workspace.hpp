// Scratch memory that launches on any stream may use: allocated once, lent to one launch after the other, and
// kept apart on the device where two streams want it at once. It knows nothing of who uses it for what.
#pragma once

#include <mutex>

#include "device/gpu.hpp"

namespace tilewright {

class GpuWorkspace {
 public:
  // `bytes` of scratch and behind them `zero_bytes` that are zero when a loan begins, and that the borrower
  // leaves zero. Waits until they are.
  GpuWorkspace(const Gpu& gpu, std::size_t bytes, std::size_t zero_bytes);

  // The memory for the work that its holder queues on `stream` before the loan ends. Where the memory still
  // serves another stream, `stream` waits on the device. While `stream` is captured into a graph, the graph
  // gets memory of its own, allocated and freed by its replays.
  class Loan {
   public:
    Loan(GpuWorkspace& workspace, CUstream_st* stream);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    void* scratch() const;
    void* zeros() const;

   private:
    GpuWorkspace& workspace_;
    CUstream_st* stream_;
    std::unique_lock<std::mutex> lock_;
    unsigned long long own_ = 0;  // of the graph that is being captured
  };

 private:
  const Gpu& gpu_;
  std::size_t bytes_, zero_bytes_;
  GpuBuffer memory_;
  GpuEvent last_use_;
  bool used_ = false;
  std::mutex mutex_;
};

}  // namespace tilewright
