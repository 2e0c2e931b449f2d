// Threads that queue the shares of a product, one for each GPU, kept from one product to the next: starting a
// thread, and a driver's first call on it, take as long as a small product. What they do is stream.cpp's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tilewright {

class ShareThreads {
 public:
  ShareThreads() = default;
  ~ShareThreads();
  ShareThreads(const ShareThreads&) = delete;
  ShareThreads& operator=(const ShareThreads&) = delete;

  // Has `work` called with 0 to count - 1, each on a thread of its own. Throws std::system_error where they
  // cannot be started, and then calls nothing. wait() comes before the next begin().
  void begin(std::size_t count, std::function<void(std::size_t)> work);
  // Until all calls have returned; at once where none was begun.
  void wait();

 private:
  void serve(std::size_t index);

  std::mutex mutex_;
  std::condition_variable has_begun_, has_ended_;
  std::vector<std::thread> threads_;
  std::function<void(std::size_t)> work_;
  std::size_t count_ = 0, left_ = 0;  // of this turn
  std::size_t turn_ = 0;
  bool ends_ = false;
};

}  // namespace tilewright
