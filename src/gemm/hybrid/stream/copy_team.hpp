// Threads that copy between pageable and pinned memory, piece by piece, for all GPUs of one product. Whoever
// needs a copy to be complete helps until it is. What is copied when is staging.hpp's and batch/run.hpp's.
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

struct HostBlockCopy {
  char* to = nullptr;
  std::int64_t to_pitch = 0;
  const char* from = nullptr;
  std::int64_t from_pitch = 0;
  std::int64_t column_bytes = 0, columns = 0;
};

// On the calling thread.
void copy_block(const HostBlockCopy& block);

class CopyTeam {
 public:
  // Copies items first ... first + count - 1 of something.
  using Work = std::function<void(std::int64_t first, std::int64_t count)>;
  // How many pieces are yet to be copied.
  struct Ticket {
    int left = 0;
  };

  // `threads` with one that waits among them: 1 copies within finish().
  explicit CopyTeam(int threads);
  ~CopyTeam();
  CopyTeam(const CopyTeam&) = delete;
  CopyTeam& operator=(const CopyTeam&) = delete;

  // The ticket, which must have been finished or may count more than one work, has to live until it is again.
  // Where submit() throws, nothing of the work is done.
  void submit(const HostBlockCopy& block, Ticket& ticket);
  // `items` of them, `each` at a time.
  void submit(std::int64_t items, std::int64_t each, Work work, Ticket& ticket);
  // How many items of so many bytes make a piece.
  static std::int64_t items_of_piece(std::int64_t item_bytes);
  bool is_finished(const Ticket& ticket) const;
  void finish(Ticket& ticket);

 private:
  struct Piece {
    std::shared_ptr<const Work> work;
    std::int64_t first, count;
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
