// One turn after the other, each known by its number.
#include "gemm/hybrid/stream/share_threads.hpp"

#include "core/host/host_state.hpp"

namespace tilewright {

ShareThreads::~ShareThreads() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ShareThreads::begin(std::size_t count, std::function<void(std::size_t)> work) {
  const std::lock_guard lock(mutex_);
  const SignalsBlocked scope;
  while (threads_.size() < count) threads_.emplace_back([this, index = threads_.size()] { serve(index); });
  work_ = std::move(work);
  count_ = left_ = count;
  ++turn_;
  has_begun_.notify_all();
}

void ShareThreads::wait() {
  std::unique_lock lock(mutex_);
  has_ended_.wait(lock, [this] { return left_ == 0; });
}

void ShareThreads::serve(std::size_t index) {
  std::size_t served = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    has_begun_.wait(lock, [&] { return ends_ || (turn_ != served && index < count_); });
    if (ends_) return;
    served = turn_;
    lock.unlock();
    work_(index);
    lock.lock();
    if (--left_ == 0) has_ended_.notify_all();
  }
}

}  // namespace tilewright
