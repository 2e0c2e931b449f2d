// Threads that are kept to work beside their caller, who goes on meanwhile: copies between pageable and
// pinned memory, and shares of GPUs that are queued. A queue of pieces serves all; whoever needs one to be
// done may help. Teams in which the caller takes part are thread_pool's.
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
  // How many pieces are yet to be done.
  struct Ticket {
    int left = 0;
  };

  // Fewer threads where so many cannot be started: they do the same, only slower.
  explicit Workers(int threads = 0);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts threads until there are so many. Throws std::system_error where they cannot be started.
  void grow(std::size_t threads);

  // `items` of them, `each` at a time. The ticket, which must have been finished or may count more than one
  // work, has to live until it is again. Where submit() throws, nothing of the work is done.
  void submit(std::int64_t items, std::int64_t each, Work work, Ticket& ticket);
  bool is_finished(const Ticket& ticket) const;
  // Works along until the ticket is finished.
  void finish(Ticket& ticket);
  // Sleeps until then: for pieces that may wait for one another, each of which has a thread of its own.
  void wait(const Ticket& ticket);

 private:
  struct Piece {
    std::shared_ptr<const Work> work;
    std::int64_t first, count;
    Ticket* ticket;
  };
  void serve();
  // Does the next piece, without the lock meanwhile.
  void do_one(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable has_work_, has_finished_;
  std::deque<Piece> pieces_;
  std::vector<std::thread> threads_;
  bool ends_ = false;
};

}  // namespace tilewright
