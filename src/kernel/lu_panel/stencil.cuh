// LU of a tall panel with partial pivoting, unblocked, by the blocks of one cluster. Rows stay in the
// threads' registers and are never swapped there: a thread knows which row of the factored panel each of its
// rows will be. Each column takes one exchange: every block sends its candidate, the row with the largest
// element, to all others; all choose the same one and eliminate with it. A sent word carries the number of
// its step: one warp of each block looks at its own shared memory until all words are there, and nothing else
// is waited for. The search for the next pivot goes along with the elimination, which begins with the next
// column.
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
  static constexpr int words = sizeof(T) / 4, sent_bytes = lu_panel_sent_bytes(C, sizeof(T));
  static constexpr int row_elements = lu_panel_row_elements(C);
  static constexpr int nowhere = 0x7fffffff;  // the position of a row that is no candidate
  static_assert(C.width % 8 == 0 && C.cluster <= 16 && C.threads % 32 == 0 && warps <= 32);
  using Pair = Pack<T, 2>;

 public:
  __device__ LuPanel(const LuPanelArgs<T>& args, char* memory)
      : args_(args),
        thread_(threadIdx.x),
        lane_(threadIdx.x % 32),
        rank_(C.cluster > 1 ? cluster_rank() : 0) {
    headers_ = memory;
    sent_ = headers_ + (C.cluster > 1 ? 2 * C.cluster * lu_panel_header_bytes : 0);
    staged_ = reinterpret_cast<T*>(sent_ + (C.cluster > 1 ? 2 * C.cluster * sent_bytes : 0));
    row_ = C.cluster > 1 ? staged_ + row_elements : staged_;
    bests_ = reinterpret_cast<uint4*>(staged_ + 2 * row_elements);
    factored_ = reinterpret_cast<T*>(bests_ + warps + 1);
  }

  __device__ void run() {
    clear();
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

  __device__ void clear() {
    if constexpr (C.cluster > 1) {
      unsigned* const all = reinterpret_cast<unsigned*>(headers_);
      const int count = 2 * C.cluster * (lu_panel_header_bytes + sent_bytes) / 4;
      for (int i = thread_; i < count; i += C.threads) all[i] = 0;
    }
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
    Best mine = best_of_thread();
    mine.key.high = warp_most_of(mine.key.high);
    finish_search(mine, best_of_thread());
  }

  // Steps begin ... end - 1, of rows with at most `Left` columns left. Column `step` is always the first of
  // what is left: whoever eliminates moves the others one place ahead.
  template <int Left>
  __device__ void eliminate(int begin, int end) {
    for (int step = begin; step < end; ++step) {
      const Best own = best_of_block();
      stage<Left>(own.position);
      int pivot = own.position;
      if constexpr (C.cluster > 1) {
        send<Left>(step, own);
        if (thread_ < 32) receive<Left>(step);
        __syncthreads();
        pivot = chosen();
        if (pivot < 0) return;  // waited in vain
      }
      take_step<Left>(step, pivot);
    }
  }

  __device__ Best best_of_thread() const {
    Best mine{{0, 0}, nowhere};
#pragma unroll
    for (int r = 0; r < C.rows; ++r) {
      const LuKey key = lu_key(a_[r][0]);
      const bool same = key.high == mine.key.high && key.low == mine.key.low;
      const bool better = key.high > mine.key.high || (key.high == mine.key.high && key.low > mine.key.low) ||
                          (same && position_[r] < mine.position);
      if (is_left_[r] && better) mine = {key, position_[r]};
    }
    return mine;
  }

  // Of `mine` the high word is the warp's largest already.
  __device__ void finish_search(const Best& most, const Best& mine) {
    const bool has_high = mine.key.high == most.key.high;
    const unsigned low = warp_most_of(has_high ? mine.key.low : 0);
    const int position = warp_least(has_high && mine.key.low == low ? mine.position : nowhere);
    if (lane_ == 0) bests_[thread_ / 32] = {most.key.high, low, static_cast<unsigned>(position), 0};
  }

  __device__ Best best_of_block() {
    __syncthreads();
    Best mine{{0, 0}, nowhere};
    if (lane_ < warps) {
      const uint4 one = bests_[lane_];
      mine = {{one.x, one.y}, static_cast<int>(one.z)};
    }
    if constexpr (warps == 1)
      return {{word_of_lane(mine.key.high, 0), word_of_lane(mine.key.low, 0)},
              static_cast<int>(word_of_lane(static_cast<unsigned>(mine.position), 0))};
    return best_of_warp(mine);
  }

  __device__ static Best best_of_warp(Best mine) {
    const LuKey most = warp_most(mine.key);
    const bool has_most = mine.key.high == most.high && mine.key.low == most.low;
    return {most, warp_least(has_most ? mine.position : nowhere)};
  }

  // The block's candidate with the reciprocal of its first element.
  template <int Left>
  __device__ void stage(int position) {
#pragma unroll
    for (int r = 0; r < C.rows; ++r)
      if (is_left_[r] && position_[r] == position) {
#pragma unroll
        for (int c = 0; c < Left; c += 2) *reinterpret_cast<Pair*>(staged_ + c) = {a_[r][c], a_[r][c + 1]};
        staged_[C.width] = lu_reciprocal(a_[r][0]);
      }
    __syncthreads();
  }

  __device__ char* header_of(int step, int source) const {
    return headers_ + ((step & 1) * C.cluster + source) * lu_panel_header_bytes;
  }
  __device__ char* sent_row(int step, int source) const {
    return sent_ + ((step & 1) * C.cluster + source) * sent_bytes;
  }
  __device__ static unsigned tag_of(int step) { return static_cast<unsigned>(step) + 1; }

  // Words of a row as it is sent: what is left of it, then the reciprocal.
  template <int Left>
  static constexpr int sent_words() {
    return (Left + 1) * words;
  }
  template <int Left>
  __device__ static int place_of_word(int i) {
    return i < Left * words ? i : i - Left * words + C.width * words;
  }

  // To all blocks, a warp for each of them in turn.
  template <int Left>
  __device__ void send(int step, const Best& own) {
    const unsigned tag = tag_of(step);
    for (int to = thread_ / 32; to < C.cluster; to += warps) {
      char* const header = header_of(step, rank_);
      char* const row = sent_row(step, rank_);
      if (lane_ == 0) store_words(header, to, own.key.high, tag, own.key.low, tag);
      if (lane_ == 1) store_words(header + 16, to, static_cast<unsigned>(own.position), tag, 0, tag);
      for (int i = lane_; i < sent_words<Left>(); i += 32) {
        unsigned word;
        memcpy(&word, reinterpret_cast<const char*>(staged_) + 4 * place_of_word<Left>(i), 4);
        store_pair(row + i * 8, to, word, tag);
      }
    }
  }

  // By one warp: chooses among the candidates of all blocks and has the chosen row for all threads.
  template <int Left>
  __device__ void receive(int step) {
    const unsigned tag = tag_of(step);
    Best mine{{0, 0}, nowhere};
    bool in_vain = false;
    if (lane_ < C.cluster) {
      const char* const header = header_of(step, lane_);
      uint4 key, where;
      int turns = 0;
      do {
        key = load_words(header);
        where = load_words(header + 16);
      } while ((key.y != tag || key.w != tag || where.y != tag) && ++turns < lu_most_turns);
      mine = {{key.x, key.z}, static_cast<int>(where.x)};
      in_vain = turns == lu_most_turns;
    }
    const Best best = best_of_warp(mine);
    const int source = first_lane_with(lane_ < C.cluster && mine.position == best.position);
    const char* const row = sent_row(step, source);
    for (int i = lane_; i < sent_words<Left>(); i += 32) {
      uint2 pair = load_pair(row + i * 8);
      for (int turns = 0; pair.y != tag && !in_vain; pair = load_pair(row + i * 8))
        in_vain = ++turns == lu_most_turns;
      memcpy(reinterpret_cast<char*>(row_) + 4 * place_of_word<Left>(i), &pair.x, 4);
    }
    in_vain = any_of_warp(in_vain);
    if (in_vain) *args_.info = lu_panel_waited_in_vain;
    if (lane_ == 0) bests_[warps].x = static_cast<unsigned>(in_vain ? -1 : best.position);
  }
  __device__ int chosen() const { return static_cast<int>(bests_[warps].x); }

  template <int Left>
  __device__ void take_step(int step, int pivot) {
    const LuDivisor<T> divisor(row_[0], row_[C.width]);
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
    const Pair head = *reinterpret_cast<const Pair*>(row_);
#pragma unroll
    for (int r = 0; r < C.rows; ++r) move_ahead(r, 1, multiplier[r], head.item[1]);
    const Best mine = best_of_thread();
    Best most = mine;
    most.key.high = warp_most_of(mine.key.high);
#pragma unroll
    for (int c = 2; c < Left; c += 2) {
      const Pair u = *reinterpret_cast<const Pair*>(row_ + c);
#pragma unroll
      for (int r = 0; r < C.rows; ++r) {
        move_ahead(r, c, multiplier[r], u.item[0]);
        move_ahead(r, c + 1, multiplier[r], u.item[1]);
      }
    }
    finish_search(most, mine);
    if (rank_ == 0 && thread_ == 0) {
      args_.pivots[step] = args_.first_row + pivot + 1;
      if (divisor.is_of_zero() && *args_.info == 0) *args_.info = args_.first_column + step + 1;
    }
  }

  __device__ void move_ahead(int r, int c, const T& multiplier, const T& u) {
    a_[r][c - 1] = a_[r][c];
    multiply_subtract(a_[r][c - 1], multiplier, u);
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
  const int thread_, lane_, rank_;
  char *headers_, *sent_;
  T *staged_, *row_;
  uint4* bests_;
  T* factored_;
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
