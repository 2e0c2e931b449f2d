// LU of a tall panel with partial pivoting, unblocked, by concurrent blocks. Rows stay in registers and are
// not swapped: a thread knows the final position of each of its rows. Each column takes one exchange
// (exchange.cuh): all blocks send their largest candidate, select the same one and eliminate with it. The
// pivot search of the next column is part of the elimination, which starts with that column.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/lu_panel/config.hpp"
#include "kernel/lu_panel/device.cuh"
#include "kernel/lu_panel/exchange.cuh"
#include "kernel/lu_panel/pivot.cuh"

namespace tilewright {

template <class T, LuPanelConfig C>
class LuPanel {
  static constexpr int warps = C.threads / 32, block_rows = lu_panel_block_rows(C);
  static constexpr int row_elements = lu_panel_row_elements(C), quarter = C.width / 4;
  static constexpr int rows_sent = lu_panel_is_global(C) ? 1 : C.cluster > 1 ? 2 * C.cluster : 0;
  static_assert(C.width % 8 == 0 && C.width <= 32 && C.cluster <= 16 && C.threads % 32 == 0 && warps <= 32);
  using Pair = Pack<T, 2>;

 public:
  __device__ LuPanel(const LuPanelArgs<T>& args, char* memory)
      : args_(args),
        steps_(min(args.m, args.n)),
        thread_(threadIdx.x),
        lane_(threadIdx.x % 32),
        bests_(reinterpret_cast<uint4*>(memory + 16)),
        sent_(reinterpret_cast<T*>(memory + lu_panel_header_bytes(C))),
        staged_(sent_ + rows_sent * row_elements),
        factored_(staged_ + row_elements),
        exchange_(reinterpret_cast<unsigned long long*>(memory), sent_, args.exchange),
        rank_(exchange_.rank()) {}

  __device__ void run() {
    if (rank_ == 0 && thread_ == 0) args_.moves[0] = 0;
    exchange_.begin();
    load();
    exchange_.meet();
    const bool done = eliminate<C.width>(0, min(steps_, quarter)) &&
                      eliminate<3 * quarter>(quarter, min(steps_, 2 * quarter)) &&
                      eliminate<2 * quarter>(2 * quarter, min(steps_, 3 * quarter)) &&
                      eliminate<quarter>(3 * quarter, steps_);
    if (!done) *args_.info = lu_panel_waited_in_vain;
    store();
    exchange_.end();
  }

 private:
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
    const LuBest mine = best_of_thread();
    finish_search(mine, warp_most(mine.key.high));
  }

  // Runs steps begin ... end - 1 on rows with at most `Left` remaining columns. Column `step` is always the
  // first of these: elimination moves the others one place ahead. Returns false after a timeout.
  template <int Left>
  __device__ bool eliminate(int begin, int end) {
    for (int step = begin; step < end; ++step) {
      const int own = best_of_block();
      stage<Left>(own);
      exchange_.template send<Left>(step, staged_);
      int pivot;
      const T* const row = exchange_.template receive<Left>(step, staged_, pivot);
      if (row == nullptr) return false;
      take_step<Left>(step, pivot, row);
    }
    return true;
  }

  __device__ LuBest best_of_thread() const {
    LuBest mine;
#pragma unroll
    for (int r = 0; r < C.rows; ++r) {
      const LuKey key = lu_key(a_[r][0]);
      if (is_left_[r] && mine.gives_way(key, position_[r])) mine = {key, position_[r]};
    }
    return mine;
  }

  __device__ void finish_search(const LuBest& mine, unsigned high) {
    if (lane_ == lu_best_lane(mine, high))
      bests_[thread_ / 32] = {mine.key.high, mine.key.low, static_cast<unsigned>(mine.position), 0};
  }

  // Returns its position.
  __device__ int best_of_block() const {
    __syncthreads();
    LuBest mine;
    if (lane_ < warps) {
      const uint4 one = bests_[lane_];
      mine = {{one.x, one.y}, static_cast<int>(one.z)};
    }
    const int lane = lu_best_lane(mine, warp_most(mine.key.high));
    return static_cast<int>(word_of_lane(static_cast<unsigned>(mine.position), lane));
  }

  // Collects the block's candidate, the reciprocal of its first element, and its position.
  template <int Left>
  __device__ void stage(int position) {
#pragma unroll
    for (int r = 0; r < C.rows; ++r)
      if (is_left_[r] && position_[r] == position) {
#pragma unroll
        for (int c = 0; c < Left; c += 2) *reinterpret_cast<Pair*>(staged_ + c) = {a_[r][c], a_[r][c + 1]};
        staged_[C.width] = lu_reciprocal(a_[r][0]);
      }
    if (thread_ == 0) memcpy(staged_ + C.width + 1, &position, sizeof position);
    __syncthreads();
  }

  template <int Left>
  __device__ void take_step(int step, int pivot, const T* row) {
    const LuDivisor<T> divisor(row[0], row[C.width]);
    T multiplier[C.rows];
#pragma unroll
    for (int r = 0; r < C.rows; ++r) {
      const bool is_pivot = position_[r] == pivot;
      if (is_left_[r] && !is_pivot && position_[r] == step) position_[r] = pivot;
      if (is_left_[r] && is_pivot) is_left_[r] = false, position_[r] = step;
      multiplier[r] = is_left_[r] ? divisor.divide(a_[r][0]) : zero<T>();
    }
    const Pair head = *reinterpret_cast<const Pair*>(row);
#pragma unroll
    for (int r = 0; r < C.rows; ++r) move_ahead(r, 1, multiplier[r], head.item[1]);
    const LuBest mine = best_of_thread();
    const unsigned high = warp_most(mine.key.high);
#pragma unroll
    for (int c = 2; c < Left; c += 2) {
      const Pair u = *reinterpret_cast<const Pair*>(row + c);
#pragma unroll
      for (int r = 0; r < C.rows; ++r) {
        move_ahead(r, c, multiplier[r], u.item[0]);
        move_ahead(r, c + 1, multiplier[r], u.item[1]);
      }
    }
#pragma unroll
    for (int r = 0; r < C.rows; ++r)
      if (is_left_[r]) factored(r, step) = multiplier[r];
    finish_search(mine, high);
    if (rank_ == 0 && thread_ / 32 == warps - 1) tell(step, pivot, row, divisor.is_of_zero());
  }

  __device__ void move_ahead(int r, int c, const T& multiplier, const T& u) {
    a_[r][c - 1] = a_[r][c];
    multiply_subtract(a_[r][c - 1], multiplier, u);
  }

  // Writes the pivot and its row's part of U; all blocks have the panel in registers by now.
  __device__ void tell(int step, int pivot, const T* row, bool is_zero_pivot) const {
    if (step + lane_ < args_.n) args_.a[step + (step + lane_) * args_.ld] = row[lane_];
    if (lane_ != 0) return;
    args_.pivots[step] = args_.first_row + pivot + 1;
    if (is_zero_pivot && *args_.info == 0) *args_.info = args_.first_column + step + 1;
  }

  __device__ T& factored(int r, int c) { return factored_[c * block_rows + r * C.threads + thread_]; }

  // Writes L and the moves of rows.
  __device__ void store() {
#pragma unroll
    for (int r = 0; r < C.rows; ++r) {
      const int row = row_of(r);
      if (row >= args_.m) continue;
      const int columns = min(position_[r], steps_);
#pragma unroll
      for (int c = 0; c < C.width; ++c)
        if (c < columns) args_.a[position_[r] + c * args_.ld] = factored(r, c);
      if (position_[r] == row) continue;
      const int at = add_to(args_.moves, 1);
      args_.moves[2 + 2 * at] = row;
      args_.moves[3 + 2 * at] = position_[r];
    }
  }

  const LuPanelArgs<T>& args_;
  const int steps_, thread_, lane_;
  uint4* const bests_;
  T *const sent_, *const staged_, *const factored_;
  const typename LuExchangeOf<T, C>::type exchange_;
  const int rank_;
  T a_[C.rows][C.width];
  int position_[C.rows];
  bool is_left_[C.rows];
};

template <class T, LuPanelConfig C>
__global__ void __launch_bounds__(C.threads, 1) lu_panel(const LuPanelArgs<T> args) {
  extern __shared__ __align__(32) unsigned char shared[];
  LuPanel<T, C>(args, reinterpret_cast<char*>(shared)).run();
}

}  // namespace tilewright
