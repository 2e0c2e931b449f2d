// LU of a tall panel with partial pivoting, unblocked, by the blocks of one cluster. Rows stay in the
// threads' registers and are never swapped there: a thread knows which row of the factored panel each of its
// rows will be. Each column takes one exchange: every block sends its candidate, the row with the largest
// element, to all others; all choose the same one and eliminate with it. A sent word carries the number of
// its step, so that who waits reads its own shared memory until all words are there, and nothing else is
// waited for.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/lu_panel/config.hpp"
#include "kernel/lu_panel/device.cuh"
#include "kernel/lu_panel/pivot.cuh"

namespace tilewright {

template <class T, LuPanelConfig C>
class LuPanel {
  static constexpr int warps = C.threads / 32, block_rows = lu_panel_block_rows(C);
  static constexpr int words = sizeof(T) / 4, slot_bytes = lu_panel_slot_bytes(C, sizeof(T));
  static constexpr int nowhere = 0x7fffffff;  // the position of a row that is no candidate
  static_assert(C.width % 4 == 0 && C.cluster <= 16 && C.threads % 32 == 0);

 public:
  __device__ LuPanel(const LuPanelArgs<T>& args, char* memory)
      : args_(args),
        slots_(memory),
        staged_(reinterpret_cast<T*>(memory + 2 * C.cluster * slot_bytes)),
        bests_(reinterpret_cast<uint4*>(staged_ + C.width)),
        factored_(reinterpret_cast<T*>(bests_ + warps)),
        thread_(threadIdx.x),
        rank_(C.cluster > 1 ? cluster_rank() : 0) {}

  __device__ void run() {
    clear_slots();
    load();
    meet();
    const int steps = min(args_.m, args_.n);
    eliminate<C.width>(0, min(steps, C.width / 4));
    eliminate<C.width / 4 * 3>(C.width / 4, min(steps, C.width / 2));
    eliminate<C.width / 2>(C.width / 2, min(steps, C.width / 4 * 3));
    eliminate<C.width / 4>(C.width / 4 * 3, steps);
    store();
    meet();  // a block must not end while others may send to it
  }

 private:
  struct Best {
    LuKey key;
    int position;
  };

  __device__ void meet() {
    if constexpr (C.cluster > 1)
      sync_all_blocks();
    else
      __syncthreads();
  }

  __device__ void clear_slots() {
    unsigned* const all = reinterpret_cast<unsigned*>(slots_);
    for (int i = thread_; i < 2 * C.cluster * slot_bytes / 4; i += C.threads) all[i] = 0;
    if (rank_ == 0 && thread_ == 0) args_.moves[0] = 0;
  }

  __device__ int row_of(int r) const { return rank_ * block_rows + r * C.threads + thread_; }

  __device__ void load() {
#pragma unroll
    for (int r = 0; r < C.rows; ++r) {
      const int row = row_of(r);
      position_[r] = row;
      is_left_[r] = row < args_.m;
#pragma unroll
      for (int c = 0; c < C.width; ++c) {
        a_[r][c] = zero<T>();
        if (row < args_.m && c < args_.n) a_[r][c] = args_.a[row + c * args_.ld];
      }
    }
  }

  // Steps begin ... end - 1, of rows with at most `Left` columns left. Column `step` is always the first of
  // what is left: whoever eliminates moves the others one place ahead.
  template <int Left>
  __device__ void eliminate(int begin, int end) {
    for (int step = begin; step < end; ++step) {
      const Best own = best_of_block();
      send<Left>(step, own);
      int source;
      const Best best = best_of_all(step, own, source);
      const char* const row = row_of_slot(step, source);
      wait_for_row<Left>(step, row);
      if (best.position < 0) return;  // waited in vain
      take_step<Left>(step, best.position, row);
    }
  }

  __device__ static Best best_of_warp(Best mine) {
    const LuKey most = warp_most(mine.key);
    const bool has_most = mine.key.high == most.high && mine.key.low == most.low;
    return {most, warp_least(has_most ? mine.position : nowhere)};
  }

  __device__ Best best_of_block() {
    Best mine{{0, 0}, nowhere};
#pragma unroll
    for (int r = 0; r < C.rows; ++r) {
      const LuKey key = lu_key(a_[r][0]);
      const bool better =
          key.high > mine.key.high || (key.high == mine.key.high && key.low > mine.key.low) ||
          (key.high == mine.key.high && key.low == mine.key.low && position_[r] < mine.position);
      if (is_left_[r] && better) mine = {key, position_[r]};
    }
    mine = best_of_warp(mine);
    if constexpr (warps == 1) return mine;
    const int lane = thread_ % 32;
    if (lane == 0)
      bests_[thread_ / 32] = {mine.key.high, mine.key.low, static_cast<unsigned>(mine.position), 0};
    __syncthreads();
    Best other{{0, 0}, nowhere};
    if (lane < warps) {
      const uint4 one = bests_[lane];
      other = {{one.x, one.y}, static_cast<int>(one.z)};
    }
    return best_of_warp(other);
  }

  __device__ char* slot_of(int step, int source) const {
    return slots_ + ((step & 1) * C.cluster + source) * slot_bytes;
  }
  __device__ const char* row_of_slot(int step, int source) const {
    return slot_of(step, source) + lu_panel_header_bytes;
  }

  // The block's candidate to all blocks, a warp for each of them in turn.
  template <int Left>
  __device__ void send(int step, const Best& own) {
#pragma unroll
    for (int r = 0; r < C.rows; ++r)
      if (is_left_[r] && position_[r] == own.position)
#pragma unroll
        for (int c = 0; c < Left; ++c) staged_[c] = a_[r][c];
    __syncthreads();
    const unsigned tag = static_cast<unsigned>(step) + 1;
    const int lane = thread_ % 32;
    char* const slot = slot_of(step, rank_);
    const auto word = [&](int i) {
      unsigned x;
      memcpy(&x, reinterpret_cast<const char*>(staged_) + 4 * i, 4);
      return x;
    };
    for (int to = thread_ / 32; to < C.cluster; to += warps) {
      if (lane == 0) store_words<C.cluster>(slot, to, own.key.high, tag, own.key.low, tag);
      if (lane == 1) store_words<C.cluster>(slot + 16, to, static_cast<unsigned>(own.position), tag, 0, tag);
      char* const words_there = slot + lu_panel_header_bytes;
      if constexpr (words == 1) {
        if (lane < Left) store_pair<C.cluster>(words_there + lane * 8, to, word(lane), tag);
      } else {
        for (int i = lane; i < Left * words / 2; i += 32)
          store_words<C.cluster>(words_there + i * 16, to, word(2 * i), tag, word(2 * i + 1), tag);
      }
    }
  }

  // The best of all blocks' candidates and who sent it; a negative position where one never came.
  __device__ Best best_of_all(int step, const Best& own, int& source) {
    source = 0;
    if constexpr (C.cluster == 1) return own;
    const unsigned tag = static_cast<unsigned>(step) + 1;
    const int lane = thread_ % 32;
    Best mine{{0, 0}, nowhere};
    if (lane < C.cluster) {
      const char* const slot = slot_of(step, lane);
      uint4 key, where;
      int turns = 0;
      do {
        key = load_words(slot);
        where = load_words(slot + 16);
      } while ((key.y != tag || key.w != tag || where.y != tag) && ++turns < lu_most_turns);
      mine = {{key.x, key.z}, static_cast<int>(where.x)};
      if (turns == lu_most_turns) mine.position = -1;
    }
    if (any_of_warp(mine.position < 0)) {
      give_up();
      return {{0, 0}, -1};
    }
    const Best best = best_of_warp(mine);
    source = first_lane_with(lane < C.cluster && mine.position == best.position);
    return best;
  }

  __device__ void give_up() const { *args_.info = lu_panel_waited_in_vain; }

  // Each lane waits for a word or more of the chosen row.
  template <int Left>
  __device__ void wait_for_row(int step, const char* row) {
    if constexpr (C.cluster == 1) {
      __syncthreads();
    } else {
      const unsigned tag = static_cast<unsigned>(step) + 1;
      for (int i = thread_ % 32; i < Left * words; i += 32) {
        int turns = 0;
        while (load_pair(row + i * 8).y != tag && ++turns < lu_most_turns) {
        }
        if (turns == lu_most_turns) give_up();
      }
      __syncwarp();
    }
  }

  __device__ static T value_at(const char* row, int c) {
    unsigned all[words];
    if constexpr (words == 1) {
      all[0] = load_pair_plain(row + c * 8).x;
    } else {
#pragma unroll
      for (int w = 0; w < words; w += 2) {
        const uint4 both = load_words_plain(row + (c * words + w) * 8);
        all[w] = both.x, all[w + 1] = both.z;
      }
    }
    T value;
    memcpy(&value, all, sizeof(T));
    return value;
  }

  template <int Left>
  __device__ void take_step(int step, int pivot, const char* row) {
    const T head = value_at(row, 0);
    const LuDivisor<T> divisor(head);
    T multiplier[C.rows];
#pragma unroll
    for (int r = 0; r < C.rows; ++r) {
      multiplier[r] = zero<T>();
      const bool is_pivot = is_left_[r] && position_[r] == pivot;
      if (is_pivot) {
        is_left_[r] = false;
        position_[r] = step;
#pragma unroll
        for (int c = 0; c < Left; ++c)
          if (step + c < C.width) factored(r, step + c) = a_[r][c];
      } else if (is_left_[r]) {
        if (position_[r] == step) position_[r] = pivot;
        multiplier[r] = divisor.divide(a_[r][0]);
        factored(r, step) = multiplier[r];
      }
    }
#pragma unroll
    for (int c = 1; c < Left; ++c) {
      const T u = value_at(row, c);
#pragma unroll
      for (int r = 0; r < C.rows; ++r) {
        a_[r][c - 1] = a_[r][c];
        multiply_subtract(a_[r][c - 1], multiplier[r], u);
      }
    }
    if (rank_ == 0 && thread_ == 0) {
      args_.pivots[step] = args_.first_row + pivot + 1;
      if (is_zero(head) && *args_.info == 0) *args_.info = args_.first_column + step + 1;
    }
  }

  __device__ T& factored(int r, int c) { return factored_[c * block_rows + r * C.threads + thread_]; }

  __device__ void store() {
#pragma unroll
    for (int r = 0; r < C.rows; ++r) {
      const int row = row_of(r);
      if (row >= args_.m) continue;
      for (int c = 0; c < args_.n; ++c) args_.a[position_[r] + c * args_.ld] = factored(r, c);
      if (position_[r] == row) continue;
      const int at = add_to(args_.moves, 1);
      args_.moves[2 + 2 * at] = row;
      args_.moves[3 + 2 * at] = position_[r];
    }
  }

  const LuPanelArgs<T>& args_;
  char* slots_;
  T* staged_;
  uint4* bests_;
  T* factored_;
  const int thread_, rank_;
  T a_[C.rows][C.width];
  int position_[C.rows];
  bool is_left_[C.rows];
};

template <class T, LuPanelConfig C>
__global__ void __launch_bounds__(C.threads, 1) lu_panel(const LuPanelArgs<T> args) {
  extern __shared__ __align__(16) unsigned char shared[];
  LuPanel<T, C>(args, reinterpret_cast<char*>(shared)).run();
}

}  // namespace tilewright
