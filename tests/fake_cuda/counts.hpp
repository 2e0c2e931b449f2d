// Reports of the fake driver about itself, found with dlsym in the libcuda.so.1 of the process.
#pragma once

#include <cstddef>
#include <functional>

namespace tilewright::fake_cuda {

struct Launch {
  void* stream = nullptr;
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
};

// Returns the number of calls so far by kind: retain, release, push, pop, synchronize, allocate, free, copy,
// load, unload, launch.
using Count = long long (*)(const char* name);
inline constexpr const char* count_name = "fake_cuda_count";
// Returns the number of launches; writes the latest `most` of them, the last one first.
using Launches = std::size_t (*)(Launch* to, std::size_t most);
inline constexpr const char* launches_name = "fake_cuda_launches";
// Returns how many owners hold the device's primary context.
using Retained = int (*)(int device);
inline constexpr const char* retained_name = "fake_cuda_retained";
// Queues work on a stream, for libraries that launch kernels of their own.
using QueueWork = int (*)(void* stream, const std::function<void()>& work);
inline constexpr const char* queue_name = "fake_cuda_queue";

}  // namespace tilewright::fake_cuda
