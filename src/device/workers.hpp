// Threads that work beside their caller: copies between pageable and pinned memory, and GPUs' shares to
// queue. All take pieces from one queue; callers may help.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tilewright {

class Workers {
 public:
  // Does items first ... first + count - 1 of something. Must not throw.
  using Work = std::function<void(std::int64_t first, std::int64_t count)>;
  // Counts unfinished pieces.
  struct Ticket {
    int left = 0;
  };

  // Starts fewer threads if not all can be started.
  explicit Workers(int threads = 0);
  ~Workers();
  Workers& operator=(Workers&&) = delete;

  // Starts threads until there are `threads`. Throws std::system_error on failure.
  void grow(std::size_t threads);

  // Queues `items` items, `each` at a time. The ticket, which may count several works, must live until it is
  // finished. If submit() throws, none of the work is done.
  void submit(std::int64_t items, std::int64_t each, Work work, Ticket& ticket);
  bool is_finished(const Ticket& ticket) const;
  // Helps until the ticket is finished.
  void finish(Ticket& ticket);
  // Waits without helping: for pieces that wait for one another, with a thread each.
  void wait(const Ticket& ticket);

 private:
  struct Piece {
    std::shared_ptr<const Work> work;
    std::int64_t first, count;
    Ticket* ticket;
  };
  void serve();
  // Does the next piece, without the lock.
  void do_one(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable has_work_, has_finished_;
  std::deque<Piece> pieces_;
  std::vector<std::thread> threads_;
  bool ends_ = false;
};

}  // namespace tilewright
