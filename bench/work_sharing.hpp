// Work that several threads take from one list.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tilewright {

inline unsigned all_cores() { return std::max(1u, std::thread::hardware_concurrency()); }

// work(i) for every i below `count`, on `threads` threads at most. Throws the first of what work throws, when
// all else is done.
template <class Work>
void share_work(std::size_t count, unsigned threads, Work&& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr first;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < std::max(1u, threads) && t < count; ++t) workers.emplace_back(take);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace tilewright
