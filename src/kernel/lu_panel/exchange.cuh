// How the blocks of an LU panel agree on a pivot: each tells all others of its candidate, and all find the
// same one to be the best. Both ways have the same functions, which all threads of a block call: begin(),
// and for each step send() and then receive(), which is null where a block waited in vain; end().
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/lu_panel/config.hpp"
#include "kernel/lu_panel/device.cuh"
#include "kernel/lu_panel/pivot.cuh"

namespace tilewright {

// The position of a row that is no candidate.
constexpr int lu_nowhere = 0x7fffffff;

struct LuBest {
  LuKey key{0, 0};
  int position = lu_nowhere;

  // Of equal ones the first is the better.
  __device__ bool gives_way(const LuKey& other, int other_position) const {
    if (other.high != key.high) return other.high > key.high;
    if (other.low != key.low) return other.low > key.low;
    return other_position < position;
  }
};

// The lane with the best; `high` is the largest high word of the warp's keys.
__device__ __forceinline__ int lu_best_lane(const LuBest& mine, unsigned high) {
  const unsigned with_high = lanes_with(mine.key.high == high);
  if ((with_high & (with_high - 1)) == 0) return lowest_lane(with_high);
  const unsigned low = warp_most(mine.key.high == high ? mine.key.low : 0);
  const bool has_most = mine.key.high == high && mine.key.low == low;
  const int position = warp_least(has_most ? mine.position : lu_nowhere);
  return lowest_lane(lanes_with(has_most && mine.position == position));
}

// Rows of two steps from every block lie in each block's shared memory. What is sent tells the barrier of its
// receiver.
template <class T, LuPanelConfig C>
class LuClusterExchange {
  static constexpr int warps = C.threads / 32, row_elements = lu_panel_row_elements(C);
  using Pair = Pack<T, 2>;

 public:
  __device__ LuClusterExchange(unsigned long long* barriers, T* sent, char*)
      : barriers_(barriers), sent_(sent), rank_(C.cluster > 1 ? cluster_rank() : 0) {}

  __device__ int rank() const { return rank_; }

  __device__ void begin() const {
    if (C.cluster == 1 || threadIdx.x != 0) return;
    barrier_init(barriers_, 1);
    barrier_init(barriers_ + 1, 1);
    barrier_init_fence();
    expect(0);
    expect(1);
  }
  // After loading: nothing may be sent to a block whose barriers are not there yet; and at the end, which a
  // block must not come to while others may send to it.
  __device__ void meet() const {
    if constexpr (C.cluster > 1)
      sync_all_blocks();
    else
      __syncthreads();
  }
  __device__ void end() const { meet(); }

  // To all blocks, a warp for each of them in turn, a lane for each pair of elements.
  template <int Left>
  __device__ void send(int step, const T* staged) const {
    const int lane = threadIdx.x % 32;
    const int at = lane < Left / 2 ? 2 * lane : C.width;
    if (C.cluster == 1 || lane > Left / 2) return;
    const Pair pair = *reinterpret_cast<const Pair*>(staged + at);
    for (int to = threadIdx.x / 32; to < C.cluster; to += warps)
      send_to(to, row(step, rank_) + at, pair, barriers_ + (step & 1));
  }

  // The row that all blocks choose, and its position.
  template <int Left>
  __device__ const T* receive(int step, const T* staged, int& pivot) const {
    if constexpr (C.cluster == 1) {
      memcpy(&pivot, staged + C.width + 1, sizeof pivot);
      return staged;
    } else {
      if (!comes_in_time(barriers_ + (step & 1), step >> 1 & 1)) return nullptr;
      // Nobody sends for the step after the next before this block has sent for the next.
      if (threadIdx.x == 0) expect(step + 2);
      LuBest mine;
      if (threadIdx.x % 32 < C.cluster) {
        const T* const one = row(step, threadIdx.x % 32);
        memcpy(&mine.position, one + C.width + 1, sizeof mine.position);
        if (mine.position != lu_nowhere) mine.key = lu_key(one[0]);
      }
      const int source = lu_best_lane(mine, warp_most(mine.key.high));
      pivot = static_cast<int>(word_of_lane(static_cast<unsigned>(mine.position), source));
      return row(step, source);
    }
  }

 private:
  // What comes for the step.
  __device__ void expect(int step) const {
    constexpr int quarter = C.width / 4;
    const int left = C.width - step / quarter * quarter;
    barrier_arrive_expect(barriers_ + (step & 1), static_cast<unsigned>(C.cluster * (left + 2) * sizeof(T)));
  }
  __device__ T* row(int step, int source) const {
    return sent_ + ((step & 1) * C.cluster + source) * row_elements;
  }

  unsigned long long* const barriers_;
  T* const sent_;
  const int rank_;
};

// Each block has a slot in global memory for each of two steps. Its words carry the number of the step and of
// the launch, so that nothing is cleared in between. The first warp looks at all of them and brings the
// chosen row.
template <class T, LuPanelConfig C>
class LuGlobalExchange {
  static constexpr int slot_bytes = lu_panel_slot_bytes(C, sizeof(T)), steps_of_launch = 64;
  static_assert(C.width < steps_of_launch);
  using Pair = Pack<T, 2>;
  using Word = unsigned long long;

 public:
  __device__ LuGlobalExchange(unsigned long long*, T* chosen, char* memory)
      : chosen_(chosen),
        memory_(memory),
        launch_(static_cast<unsigned>(seen_word(reinterpret_cast<const Word*>(memory)))) {}

  __device__ int rank() const { return static_cast<int>(blockIdx.x); }
  __device__ void begin() const {}
  __device__ void meet() const { __syncthreads(); }
  // All have read the number before they sent anything.
  __device__ void end() const {
    if (blockIdx.x == 0 && threadIdx.x == 0) tell_word(reinterpret_cast<Word*>(memory_), launch_ + 1);
  }

  template <int Left>
  __device__ void send(int step, const T* staged) const {
    const int lane = threadIdx.x;
    if (lane >= 32) return;
    char* const slot = slot_of(step, rank());
    if (lane <= Left / 2) {
      const int at = lane < Left / 2 ? 2 * lane : C.width;
      *reinterpret_cast<Pair*>(row_of(slot) + at) = *reinterpret_cast<const Pair*>(staged + at);
    }
    __syncwarp();
    if (lane != 0) return;
    tell_all_before();
    int position;
    memcpy(&position, staged + C.width + 1, sizeof position);
    const LuKey key = position == lu_nowhere ? LuKey{0, 0} : lu_key(staged[0]);
    Word* const words = reinterpret_cast<Word*>(slot);
    tell_word(words, tagged(key.high, step));
    tell_word(words + 1, tagged(key.low, step));
    tell_word(words + 2, tagged(static_cast<unsigned>(position), step));
  }

  template <int Left>
  __device__ const T* receive(int step, const T*, int& pivot) const {
    if (threadIdx.x < 32) bring<Left>(step);
    __syncthreads();
    memcpy(&pivot, chosen_ + C.width + 1, sizeof pivot);
    return pivot < 0 ? nullptr : chosen_;
  }

 private:
  __device__ Word tagged(unsigned value, int step) const {
    return static_cast<Word>(value) << 32 | (launch_ * steps_of_launch + step + 1);
  }
  __device__ char* slot_of(int step, int block) const {
    return memory_ + 32 + static_cast<long long>((step & 1) * gridDim.x + block) * slot_bytes;
  }
  __device__ static T* row_of(char* slot) { return reinterpret_cast<T*>(slot + 32); }

  template <int Left>
  __device__ void bring(int step) const {
    const int lane = threadIdx.x;
    LuBest mine;
    int source = 0;
    bool came = true;
    for (int block = lane; block < static_cast<int>(gridDim.x); block += 32) {
      const Word* const words = reinterpret_cast<const Word*>(slot_of(step, block));
      Word value[3];
      for (int i = 0; i < 3; ++i) came = comes_in_time(words + i, tagged(0, step), value[i]) && came;
      const LuKey key{static_cast<unsigned>(value[0] >> 32), static_cast<unsigned>(value[1] >> 32)};
      const int position = static_cast<int>(value[2] >> 32);
      if (mine.gives_way(key, position)) mine = {key, position}, source = block;
    }
    see_all_after();
    const int lanes_best = lu_best_lane(mine, warp_most(mine.key.high));
    source = static_cast<int>(word_of_lane(static_cast<unsigned>(source), lanes_best));
    const bool all_came = lanes_with(!came) == 0;
    if (lane <= Left / 2) {
      const int at = lane < Left / 2 ? 2 * lane : C.width;
      Pair pair = seen_pack<Pair>(row_of(slot_of(step, source)) + at);
      const int nobody = -1;
      if (at == C.width && !all_came) memcpy(&pair.item[1], &nobody, sizeof nobody);
      *reinterpret_cast<Pair*>(chosen_ + at) = pair;
    }
  }

  T* const chosen_;
  char* const memory_;
  const unsigned launch_;
};

template <class T, LuPanelConfig C, bool IsGlobal = lu_panel_is_global(C)>
struct LuExchangeOf {
  using type = LuClusterExchange<T, C>;
};
template <class T, LuPanelConfig C>
struct LuExchangeOf<T, C, true> {
  using type = LuGlobalExchange<T, C>;
};

}  // namespace tilewright
