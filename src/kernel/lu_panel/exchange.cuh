// Agreement of the blocks of an LU panel on a pivot: each sends its candidate to all, and all select the same
// best one. Both implementations have the same interface, called by all threads of a block: begin(), per step
// send() and receive() (null after a timeout), and end().
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/lu_panel/config.hpp"
#include "kernel/lu_panel/device.cuh"
#include "kernel/lu_panel/pivot.cuh"

namespace tilewright {

// The position of a row that is not a candidate.
constexpr int lu_nowhere = 0x7fffffff;

struct LuBest {
  LuKey key{0, 0};
  int position = lu_nowhere;

  __device__ static unsigned long long whole(const LuKey& k) {
    return static_cast<unsigned long long>(k.high) << 32 | k.low;
  }
  // The first of equal keys wins.
  __device__ bool gives_way(const LuKey& other, int other_position) const {
    const unsigned long long theirs = whole(other), mine = whole(key);
    return theirs > mine || (theirs == mine && other_position < position);
  }
};

// Returns the lane with the best key; `high` is the largest high word of the warp's keys.
__device__ __forceinline__ int lu_best_lane(const LuBest& mine, unsigned high) {
  const unsigned with_high = lanes_with(mine.key.high == high);
  if ((with_high & (with_high - 1)) == 0) return lowest_lane(with_high);
  const unsigned low = warp_most(mine.key.high == high ? mine.key.low : 0);
  const bool has_most = mine.key.high == high && mine.key.low == low;
  const int position = warp_least(has_most ? mine.position : lu_nowhere);
  return lowest_lane(lanes_with(has_most && mine.position == position));
}

// Exchange in a cluster: each block's shared memory holds rows of two steps from every block; senders signal
// the receiver's barrier.
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
  // Synchronizes the cluster: after loading, as barriers must exist, and at the end, as others may send.
  __device__ void meet() const {
    if constexpr (C.cluster > 1)
      sync_all_blocks();
    else
      __syncthreads();
  }
  __device__ void end() const { meet(); }

  // Sends to all blocks: each warp serves some of them, a lane a pair of elements.
  template <int Left>
  __device__ void send(int step, const T* staged) const {
    const int lane = threadIdx.x % 32;
    const int at = lane < Left / 2 ? 2 * lane : C.width;
    if (C.cluster == 1 || lane > Left / 2) return;
    const Pair pair = *reinterpret_cast<const Pair*>(staged + at);
    for (int to = threadIdx.x / 32; to < C.cluster; to += warps)
      send_to(to, row(step, rank_) + at, pair, barriers_ + (step & 1));
  }

  // Returns the row that all blocks selected, and its position.
  template <int Left>
  __device__ const T* receive(int step, const T* staged, int& pivot) const {
    if constexpr (C.cluster == 1) {
      memcpy(&pivot, staged + C.width + 1, sizeof pivot);
      return staged;
    } else {
      if (!comes_in_time(barriers_ + (step & 1), step >> 1 & 1)) return nullptr;
      // Nobody sends for step + 2 before this block has sent for step + 1.
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
  // Sets the bytes that the step's barrier expects.
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

// Exchange in global memory: each block has a slot for each of two steps. Every word carries the number of
// its step and launch, so that nothing needs clearing or ordering: a word with the right number has its
// value. The first warp polls all slots and fetches the selected row.
template <class T, LuPanelConfig C>
class LuGlobalExchange {
  using Word = unsigned long long;
  static constexpr int slot_words = lu_panel_slot_bytes(C, sizeof(T)) / 8, steps_of_launch = 64;
  static constexpr int element_words = sizeof(T) / 4, key_words = 3;
  // Blocks and words that a lane requests before it checks what arrived.
  static constexpr int blocks_ahead = 4, words_ahead = (lu_panel_row_elements(C) * element_words + 31) / 32;
  static_assert(C.width < steps_of_launch);

 public:
  __device__ LuGlobalExchange(unsigned long long*, T* chosen, char* memory)
      : chosen_(chosen),
        words_(reinterpret_cast<Word*>(memory)),
        launch_(static_cast<unsigned>(seen_word(words_))) {}

  __device__ int rank() const { return static_cast<int>(blockIdx.x); }
  // Makes this block's earlier writes visible before its words.
  __device__ void begin() const {
    if (threadIdx.x == 0) tell_all_before();
  }
  __device__ void meet() const { __syncthreads(); }
  // All blocks have read the launch number before they sent anything.
  __device__ void end() const {
    if (blockIdx.x == 0 && threadIdx.x == 0) tell_word(words_, launch_ + 1);
  }

  template <int Left>
  __device__ void send(int step, const T* staged) const {
    const int lane = threadIdx.x;
    if (lane >= 32) return;
    Word* const slot = slot_of(step, rank());
    if (lane == 0) {
      int position;
      memcpy(&position, staged + C.width + 1, sizeof position);
      const LuKey key = position == lu_nowhere ? LuKey{0, 0} : lu_key(staged[0]);
      tell_word(slot, tagged(key.high, step));
      tell_word(slot + 1, tagged(key.low, step));
      tell_word(slot + 2, tagged(static_cast<unsigned>(position), step));
    }
    for (int word = lane; word < row_words<Left>(); word += 32) {
      unsigned value;
      memcpy(&value, part_of<Left>(staged, word), sizeof value);
      tell_word(slot + key_words + word, tagged(value, step));
    }
  }

  template <int Left>
  __device__ const T* receive(int step, const T*, int& pivot) const {
    if (threadIdx.x < 32) bring<Left>(step);
    __syncthreads();
    memcpy(&pivot, chosen_ + C.width + 1, sizeof pivot);
    return pivot < 0 ? nullptr : chosen_;
  }

 private:
  template <int Left>
  static constexpr int row_words() {
    return (Left + 2) * element_words;
  }
  // Returns the place of a word in a row: the remaining columns first, then the row's last two elements.
  template <int Left, class Row>
  __device__ static auto* part_of(Row* row, int word) {
    using Byte = decltype(bytes_of(row));
    const int element = word / element_words;
    return static_cast<Byte>(bytes_of(row + (element < Left ? element : C.width + element - Left))) +
           word % element_words * 4;
  }
  __device__ static char* bytes_of(T* row) { return reinterpret_cast<char*>(row); }
  __device__ static const char* bytes_of(const T* row) { return reinterpret_cast<const char*>(row); }

  __device__ Word tagged(unsigned value, int step) const {
    return static_cast<Word>(value) << 32 | (launch_ * steps_of_launch + step + 1);
  }
  __device__ Word* slot_of(int step, int block) const {
    return words_ + 4 + static_cast<long long>((step & 1) * gridDim.x + block) * slot_words;
  }
  __device__ static unsigned value_of(Word word) { return static_cast<unsigned>(word >> 32); }

  // Returns the best of the existing blocks first, first + 32, ....
  __device__ bool look_at(int step, int first, LuBest& mine, int& source) const {
    Word seen[blocks_ahead][key_words];
#pragma unroll
    for (int b = 0; b < blocks_ahead; ++b)
#pragma unroll
      for (int i = 0; i < key_words; ++i)
        if (first + 32 * b < static_cast<int>(gridDim.x))
          seen[b][i] = seen_word(slot_of(step, first + 32 * b) + i);
    bool came = true;
#pragma unroll
    for (int b = 0; b < blocks_ahead; ++b) {
      const int block = first + 32 * b;
      if (block >= static_cast<int>(gridDim.x)) continue;
#pragma unroll
      for (int i = 0; i < key_words; ++i)
        came = comes_in_time(slot_of(step, block) + i, tagged(0, step), seen[b][i]) && came;
      const LuKey key{value_of(seen[b][0]), value_of(seen[b][1])};
      const int position = static_cast<int>(value_of(seen[b][2]));
      if (mine.gives_way(key, position)) mine = {key, position}, source = block;
    }
    return came;
  }

  template <int Left>
  __device__ void bring(int step) const {
    const int lane = threadIdx.x;
    LuBest mine;
    int source = 0;
    bool came = true;
    for (int first = lane; first < static_cast<int>(gridDim.x); first += 32 * blocks_ahead)
      came = look_at(step, first, mine, source) && came;
    const int best = lu_best_lane(mine, warp_most(mine.key.high));
    const Word* const row =
        slot_of(step, static_cast<int>(word_of_lane(static_cast<unsigned>(source), best))) + key_words;
    Word seen[words_ahead];
#pragma unroll
    for (int i = 0; i < words_ahead; ++i)
      if (lane + 32 * i < row_words<Left>()) seen[i] = seen_word(row + lane + 32 * i);
#pragma unroll
    for (int i = 0; i < words_ahead; ++i) {
      const int word = lane + 32 * i;
      if (word >= row_words<Left>()) continue;
      came = comes_in_time(row + word, tagged(0, step), seen[i]) && came;
      const unsigned value = value_of(seen[i]);
      memcpy(part_of<Left>(chosen_, word), &value, sizeof value);
    }
    const bool all_came = lanes_with(!came) == 0;
    __syncwarp();
    const int nobody = -1;
    if (lane == 0 && !all_came) memcpy(chosen_ + C.width + 1, &nobody, sizeof nobody);
  }

  T* const chosen_;
  Word* const words_;
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
