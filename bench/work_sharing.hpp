// Work that several threads take from one list.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tilewright {

inline unsigned all_cores() { return std::max(1u, std::thread::hardware_concurrency()); }

// work(i) for every i below `count`, on `threads` threads at most; work must not throw.
template <class Work>
void share_work(std::size_t count, unsigned threads, Work&& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (unsigned t = 0; t < std::max(1u, threads) && t < count; ++t)
    workers.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    });
}

}  // namespace tilewright
