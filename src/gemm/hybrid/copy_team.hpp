// Threads that copy blocks between pageable and pinned memory, piece by piece, for all GPUs of one product.
// Whoever needs a copy to be complete helps until it is. What is copied when is staging.hpp's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace tilewright {

struct HostBlockCopy {
  char* to = nullptr;
  std::int64_t to_pitch = 0;
  const char* from = nullptr;
  std::int64_t from_pitch = 0;
  std::int64_t column_bytes = 0, columns = 0;
};

class CopyTeam {
 public:
  // How many pieces of a block are yet to be copied.
  struct Ticket {
    int left = 0;
  };

  // `threads` with one that waits among them: 1 copies within finish().
  explicit CopyTeam(int threads);
  ~CopyTeam();
  CopyTeam(const CopyTeam&) = delete;
  CopyTeam& operator=(const CopyTeam&) = delete;

  // The ticket, which must have been finished, has to live until it is again.
  void submit(const HostBlockCopy& block, Ticket& ticket);
  bool is_finished(const Ticket& ticket) const;
  void finish(Ticket& ticket);

 private:
  struct Piece {
    HostBlockCopy block;
    Ticket* ticket;
  };
  void work();
  // Copies the next piece, without the lock meanwhile.
  void copy_one(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable has_work_, has_finished_;
  std::deque<Piece> pieces_;
  std::vector<std::thread> workers_;
  bool ends_ = false;
};

}  // namespace tilewright
