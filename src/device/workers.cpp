// One queue for all threads, so that they end at about the same time.
#include "device/workers.hpp"

#include <algorithm>
#include <system_error>

#include "core/host/host_state.hpp"

namespace tilewright {

Workers::Workers(int threads) {
  try {
    grow(std::size_t(std::max(0, threads)));
  } catch (const std::system_error&) {
    // Callers that wait do the work.
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::grow(std::size_t threads) {
  const SignalsBlocked scope;
  while (threads_.size() < threads) threads_.emplace_back([this] { serve(); });
}

void Workers::submit(std::int64_t items, std::int64_t each, Work work, Ticket& ticket) {
  const auto shared = std::make_shared<const Work>(std::move(work));
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t before = pieces_.size();
    try {
      for (std::int64_t first = 0; first < items; first += each, ++count)
        pieces_.push_back({shared, first, std::min(each, items - first), &ticket});
    } catch (...) {
      // The caller sees a failure, so no part of the work may be done.
      while (pieces_.size() > before) pieces_.pop_back();
      throw;
    }
    ticket.left += int(count);
  }
  // Wakes no more threads than there are pieces: others would only contend for the queue.
  for (std::size_t i = 0; i < std::min(count, threads_.size()); ++i) has_work_.notify_one();
}

bool Workers::is_finished(const Ticket& ticket) const {
  const std::lock_guard lock(mutex_);
  return ticket.left == 0;
}

void Workers::do_one(std::unique_lock<std::mutex>& lock) {
  const Piece piece = std::move(pieces_.front());
  pieces_.pop_front();
  lock.unlock();
  (*piece.work)(piece.first, piece.count);
  lock.lock();
  if (--piece.ticket->left == 0) has_finished_.notify_all();
}

void Workers::finish(Ticket& ticket) {
  std::unique_lock lock(mutex_);
  while (ticket.left > 0) {
    if (pieces_.empty())
      has_finished_.wait(lock, [&] { return ticket.left == 0 || !pieces_.empty(); });
    else
      do_one(lock);
  }
}

void Workers::wait(const Ticket& ticket) {
  std::unique_lock lock(mutex_);
  has_finished_.wait(lock, [&] { return ticket.left == 0; });
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [&] { return ends_ || !pieces_.empty(); });
    if (pieces_.empty()) return;
    do_one(lock);
  }
}

}  // namespace tilewright
