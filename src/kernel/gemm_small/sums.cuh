// Products that are summed into one C: each warp takes the runs of equal C that begin in its part of the
// list, to their ends, and holds that C in registers over a run. So each C belongs to one warp, and its bits
// do not depend on other warps. If the config stages them, A and B of later products load meanwhile.
#pragma once

#include "kernel/gemm_small/copy.cuh"
#include "kernel/gemm_small/product.cuh"
#include "kernel/gemm_small/warp.cuh"

namespace tilewright {

// Products of the list, one for each lane of a warp.
template <class T>
struct GemmSmallListed {
  static constexpr int count = 32;

  long long first;  // in the list
  unsigned begins;  // bit i: product first + i begins a run, or lies beyond the list
  unsigned adds;    // bit i: it has an A and a B
  const T* a;       // this lane's
  const T* b;
  T* c;
};

template <class T, GemmSmallShape S, GemmSmallConfig C>
struct GemmSmallRuns {
  using Listed = GemmSmallListed<T>;
  using Sizes = GemmSmallFixedSizes<S, C>;
  using Product = GemmSmallProduct<T, S, C, Sizes>;
  static constexpr GemmSmallOperand a = gemm_small_a(S, sizeof(T)), b = gemm_small_b(S, sizeof(T)),
                                    c = gemm_small_c(S, sizeof(T));
  static constexpr GemmSmallMemory memory = gemm_small_memory(S, C, sizeof(T));
  static constexpr bool staged = !gemm_small_is_direct(C.load) && S.k > 0;
  static constexpr int slot_bytes = memory.a_bytes + memory.b_bytes;
  static constexpr int thread_tiles = Sizes::tiles_m * Sizes::tiles_n;
  // A warp walks over its products once for every 32 thread tiles of C.
  static constexpr int passes = ceil_div(thread_tiles, 32);

  const GemmSmallArgs<T>& args;
  unsigned char* shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  // Returns the address of matrix p of an operand.
  template <class X>
  __device__ __forceinline__ X* matrix(GemmSmallStep step, X* base, X* origin, long long stride,
                                       long long p) const {
    if (step != GemmSmallStep::pointer) return base + p * stride;
    const long long entry = reinterpret_cast<const long long*>(base)[p * args.list_step];
    return origin == nullptr ? reinterpret_cast<X*>(entry) : origin + entry;
  }
  __device__ __forceinline__ T* c_of(long long p) const {
    if constexpr (S.sums == GemmSmallSums::fixed) p /= args.run;
    return matrix(S.step_c, args.c, args.origin_c, args.stride_c, p);
  }

  // Reads the list from product `first` on. Called by all lanes.
  __device__ __forceinline__ Listed look(long long first) const {
    const long long p = first + lane;
    const bool exists = p < args.count;
    Listed x{first, 0, 0, nullptr, nullptr, nullptr};
    if (exists) {
      x.c = c_of(p);
      if constexpr (S.k > 0) {
        x.a = matrix(S.step_a, args.a, args.origin_a, args.stride_a, p);
        x.b = matrix(S.step_b, args.b, args.origin_b, args.stride_b, p);
      }
    }
    bool begins = p == 0;
    if constexpr (S.sums == GemmSmallSums::fixed) {
      begins = p % args.run == 0;
    } else {
      const T* before = warp_address(x.c, lane - 1);
      if (lane == 0 && first > 0 && exists) before = c_of(first - 1);
      begins |= x.c != before;
    }
    x.begins = warp_votes(!exists || begins);
    x.adds = warp_votes(x.a != nullptr && x.b != nullptr && !is_zero(args.alpha));
    return x;
  }

  __device__ __forceinline__ T* slot(int stage) const {
    return reinterpret_cast<T*>(shared + (warp * C.stages + stage) * slot_bytes);
  }
  __device__ __forceinline__ T* b_of(T* in_slot) const {
    return reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(in_slot) + memory.b_offset);
  }
  // Copies a matrix, without the gaps between its columns, by `threads` lanes.
  static __device__ __forceinline__ void copy(T* to, const T* from, int rows, int columns, long long ld,
                                              int thread, int threads) {
    if (ld == rows)
      matrix_async(to, from, rows * columns, thread, threads);
    else
      elements_async(to, from, rows, columns, ld, thread, threads);
  }
  __device__ __forceinline__ long long ld_a() const { return a.contiguous ? a.rows : args.lda; }
  __device__ __forceinline__ long long ld_b() const { return b.contiguous ? b.rows : args.ldb; }

  // Each half of the warp copies one small matrix, so that no lane is idle.
  __device__ __forceinline__ void copy_both(T* to, const T* from_a, const T* from_b) const {
    constexpr int most_bytes = 16 * 16;
    constexpr bool by_halves =
        a.rows * a.columns * sizeof(T) <= most_bytes && b.rows * b.columns * sizeof(T) <= most_bytes;
    if constexpr (by_halves) {
      const bool of_a = lane < 16;
      copy(of_a ? to : b_of(to), of_a ? from_a : from_b, of_a ? a.rows : b.rows, of_a ? a.columns : b.columns,
           of_a ? ld_a() : ld_b(), lane % 16, 16);
    } else {
      copy(to, from_a, a.rows, a.columns, ld_a(), lane, 32);
      copy(b_of(to), from_b, b.rows, b.columns, ld_b(), lane, 32);
    }
  }

  // Fetches the old C into the L2 cache: in registers it would take as many as the sum, for the whole run.
  __device__ __forceinline__ void fetch(const T* old, long long ld) const {
    constexpr int line = 128 / sizeof(T);
    for (int column = lane; column < S.n; column += Listed::count)
      for (int row = 0; row < S.m; row += line) fetch_line(old + column * ld + row);
  }

  // The walk from a run's first product to the end of the last run that begins before `last`.
  struct Walk {
    Listed here, next;
    int at;         // the product being added, from here.first
    int asked;      // the next one to request
    int slot_in;    // its slot
    int slot_out;   // the slot of the one being added
    bool has_more;  // true if there is one to request
  };
  static __device__ __forceinline__ bool begins(const Listed& here, const Listed& next, int i) {
    return ((i < Listed::count ? here.begins : next.begins) >> i % Listed::count & 1) != 0;
  }
  static __device__ __forceinline__ int after(int slot) { return slot + 1 == C.stages ? 0 : slot + 1; }

  __device__ __forceinline__ void ask(Walk& w, long long last) const {
    if (begins(w.here, w.next, w.asked) && w.here.first + w.asked >= last) w.has_more = false;
    const bool in_here = w.asked < Listed::count;
    const int from = w.asked % Listed::count;
    const T* const from_a = warp_address(in_here ? w.here.a : w.next.a, from);
    const T* const from_b = warp_address(in_here ? w.here.b : w.next.b, from);
    const bool adds = ((in_here ? w.here.adds : w.next.adds) >> from & 1) != 0;
    if (w.has_more && adds) copy_both(slot(w.slot_in), from_a, from_b);
    copy_async_commit();
    ++w.asked;
    w.slot_in = after(w.slot_in);
  }

  // Adds op(A) op(B) of the product at w.at to sum, by lanes that have a thread tile.
  __device__ __forceinline__ void add(const Walk& w, Product& product, bool has_tile) const {
    const bool adds = (w.here.adds >> w.at & 1) != 0;
    if constexpr (staged) {
      using View = GemmSmallView<T, int>;
      T* const in_slot = slot(w.slot_out);
      if (adds && has_tile) product.form(View{in_slot, a.rows, 1}, View{b_of(in_slot), b.rows, 1});
    } else {
      using View = GemmSmallView<const T, long long>;
      const T* const of_a = warp_address(w.here.a, w.at);
      const T* const of_b = warp_address(w.here.b, w.at);
      if (adds && has_tile) product.form(View{of_a, ld_a(), 1}, View{of_b, ld_b(), 1});
    }
  }
  __device__ __forceinline__ void step(Walk& w) const {
    w.slot_out = after(w.slot_out);
    if (++w.at < Listed::count) return;
    w.here = w.next;
    w.next = look(w.next.first + Listed::count);
    w.at = 0;
    w.asked -= Listed::count;
  }

  // Sums the runs from product `at` of `here` on, for the thread tiles of this pass.
  __device__ __forceinline__ void sum_up(const Listed& here, int at, long long last, int pass) const {
    constexpr Sizes sizes{};
    const int unit = pass * 32 + lane;
    Walk w{here, look(here.first + Listed::count), at, at, 0, 0, true};
    if constexpr (staged)
      for (int stage = 0; stage < C.stages - 1; ++stage) ask(w, last);
    do {
      T* const in_memory = warp_address(w.here.c, w.at);
      const GemmSmallView<T, long long> out{in_memory, c.contiguous ? c.rows : args.ldc, 1};
      const bool has_tile = unit < thread_tiles && in_memory != nullptr;
      Product product(sizes, gemm_small_place_in_c(C, unit, Sizes::tiles_m));
      if constexpr (Product::reads_early)
        if (has_tile) fetch(in_memory, out.ld);
      do {
        if constexpr (staged) {
          ask(w, last);
          copy_async_wait<C.stages - 1>();
          __syncwarp();
        }
        if constexpr (S.k > 0) add(w, product, has_tile);
        if constexpr (staged) __syncwarp();  // the next copy overwrites its slot
        step(w);
      } while (!begins(w.here, w.next, w.at));
      if (has_tile) {
        if constexpr (Product::reads_early) product.read_old(out, args.beta);
        product.finish(out, out, args.alpha, args.beta);
      }
    } while (w.here.first + w.at < last);
  }

  // Computes the runs that begin in [first, last), within the list.
  __device__ __forceinline__ void run(long long first, long long last) const {
    Listed here = look(first);
    while (here.begins == 0 && here.first + Listed::count < last) here = look(here.first + Listed::count);
    if (here.begins == 0) return;
    const int at = lowest_bit(here.begins);
    if (here.first + at >= last) return;
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) sum_up(here, at, last, pass);
  }
};

template <class T, GemmSmallShape S, GemmSmallConfig C>
__device__ __forceinline__ void gemm_small_by_sums(const GemmSmallArgs<T>& args, unsigned char* shared) {
  const GemmSmallRuns<T, S, C> runs{args, shared};
  // Sums of a fixed number of products are distributed whole.
  const long long each = S.sums == GemmSmallSums::fixed ? args.run : 1;
  const long long share = C.matrices_per_block / (C.threads / 32) * each;
  const long long of_tile = C.matrices_per_block * each;
  for (long long tile = blockIdx.x; tile * of_tile < args.count; tile += gridDim.x) {
    const long long first = tile * of_tile + runs.warp * share;
    const long long last = first + share < args.count ? first + share : args.count;
    if (first < last) runs.run(first, last);
  }
}

}  // namespace tilewright
