// One queue of pieces small enough that all threads end at about the same time.
#include "gemm/hybrid/stream/copy_team.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

#include "core/host/host_state.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t piece_bytes = std::int64_t(128) << 10;

}  // namespace

void copy_block(const HostBlockCopy& block) {
  if (block.to_pitch == block.column_bytes && block.from_pitch == block.column_bytes) {
    std::memcpy(block.to, block.from, std::size_t(block.column_bytes * block.columns));
    return;
  }
  for (std::int64_t j = 0; j < block.columns; ++j)
    std::memcpy(block.to + j * block.to_pitch, block.from + j * block.from_pitch,
                std::size_t(block.column_bytes));
}

CopyTeam::CopyTeam(int threads) {
  const SignalsBlocked scope;
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // Fewer threads copy as well, only slower.
  }
}

CopyTeam::~CopyTeam() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::int64_t CopyTeam::items_of_piece(std::int64_t item_bytes) {
  return std::max<std::int64_t>(1, piece_bytes / std::max<std::int64_t>(1, item_bytes));
}

void CopyTeam::submit(const HostBlockCopy& block, Ticket& ticket) {
  submit(
      block.columns, items_of_piece(block.column_bytes),
      [block](std::int64_t first, std::int64_t count) {
        HostBlockCopy piece = block;
        piece.to += first * block.to_pitch, piece.from += first * block.from_pitch;
        piece.columns = count;
        copy_block(piece);
      },
      ticket);
}

void CopyTeam::submit(std::int64_t items, std::int64_t each, Work work, Ticket& ticket) {
  const auto shared = std::make_shared<const Work>(std::move(work));
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t before = pieces_.size();
    try {
      for (std::int64_t first = 0; first < items; first += each, ++count)
        pieces_.push_back({shared, first, std::min(each, items - first), &ticket});
    } catch (...) {
      // A part of the work must not be done: who is told that it failed takes none for done.
      while (pieces_.size() > before) pieces_.pop_back();
      throw;
    }
    ticket.left += int(count);
  }
  // No more than there is work for: those who wake in vain keep the others from the queue.
  for (std::size_t i = 0; i < std::min(count, workers_.size()); ++i) has_work_.notify_one();
}

bool CopyTeam::is_finished(const Ticket& ticket) const {
  const std::lock_guard lock(mutex_);
  return ticket.left == 0;
}

void CopyTeam::copy_one(std::unique_lock<std::mutex>& lock) {
  const Piece piece = std::move(pieces_.front());
  pieces_.pop_front();
  lock.unlock();
  (*piece.work)(piece.first, piece.count);
  lock.lock();
  if (--piece.ticket->left == 0) has_finished_.notify_all();
}

void CopyTeam::finish(Ticket& ticket) {
  std::unique_lock lock(mutex_);
  while (ticket.left > 0) {
    if (pieces_.empty())
      has_finished_.wait(lock, [&] { return ticket.left == 0 || !pieces_.empty(); });
    else
      copy_one(lock);
  }
}

void CopyTeam::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [&] { return ends_ || !pieces_.empty(); });
    if (pieces_.empty()) return;
    copy_one(lock);
  }
}

}  // namespace tilewright
