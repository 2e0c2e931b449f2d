// Scratch memory for launches on any stream in turn, with waits on the device. It grows in reserve().
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

  // Provides `bytes` of scratch and `zero_bytes` that every loan finds and leaves zero. Growing waits for the
  // last use, so plans do it. Throws Error(out_of_memory) and keeps the old memory if there is no more.
  void reserve(std::size_t bytes, std::size_t zero_bytes);

  // Lends the memory to the work that its holder queues on `stream` during the loan; `stream` waits on the
  // device for the last use. While `stream` is captured, the graph gets memory of its own from its replays.
  class Loan {
   public:
    Loan(GpuWorkspace& workspace, std::size_t bytes, std::size_t zero_bytes, CUstream_st* stream);
    ~Loan();
    Loan& operator=(Loan&&) = delete;
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
