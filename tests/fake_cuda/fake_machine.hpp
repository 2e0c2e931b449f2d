// State that the parts of the fake driver share: its contexts, its memory, and its counts of calls.
#pragma once

#include <cuda.h>
// The name under which every driver exports the function.
#undef cuEventElapsedTime

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "counts.hpp"
#include "fake_devices.hpp"
#include "fake_kernels.hpp"

struct CUctx_st {
  int device = 0;
  int retained = 0;
  std::set<int> peers{};  // devices whose memory it can access
};

namespace tilewright::fake_cuda {

struct Machine {
  std::recursive_mutex mutex;  // recursive, because work that runs during a wait may count as well
  CUctx_st contexts[device_count] = {{0}, {1}, {2}};
  std::map<std::string, long long> counts;
  std::vector<Launch> launches;
  Memory memory;
  std::map<const char*, std::size_t> pinned;  // host memory that was allocated as pinned or registered
};
inline Machine& machine() {
  static Machine one;
  return one;
}
inline thread_local std::vector<CUcontext> current;

// Defined by tests/memory, in whose programs calls fail like requests for memory; null in all others.
extern "C" int failing_memory_refuses() __attribute__((weak));
inline bool is_refused() { return failing_memory_refuses != nullptr && failing_memory_refuses() != 0; }

inline std::lock_guard<std::recursive_mutex> count(const char* name) {
  machine().mutex.lock();
  ++machine().counts[name];
  return {machine().mutex, std::adopt_lock};
}

}  // namespace tilewright::fake_cuda
