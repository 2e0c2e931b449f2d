// One tile of the batch in a block: loads its operands, forms its products, stores its C, and loads its
// stages again. The stencil decides the order of tiles.
#pragma once

#include "kernel/gemm_small/copy.cuh"
#include "kernel/gemm_small/place.cuh"
#include "kernel/gemm_small/product.cuh"

namespace tilewright {

template <class P>
struct GemmSmallPointed;
template <class T>
struct GemmSmallPointed<T*> {
  using type = T;
};

template <class T, GemmSmallShape S, GemmSmallConfig C>
struct GemmSmallTile {
  using Place = GemmSmallPlace<S, C>;
  using Entry = GemmSmallEntry<T>;
  using Entries = GemmSmallEntries<T, S, C>;
  static constexpr GemmSmallMemory memory = gemm_small_memory(S, C, sizeof(T));
  enum Which { a, b, c };
  template <Which X>
  static constexpr GemmSmallOperand op = X == a   ? gemm_small_a(S, sizeof(T))
                                         : X == b ? gemm_small_b(S, sizeof(T))
                                                  : gemm_small_c(S, sizeof(T));
  static constexpr int lanes = gemm_small_lanes(S, C);
  static constexpr bool direct = gemm_small_is_direct(C.load);
  static constexpr bool by_bulk = C.load == GemmSmallLoad::bulk;
  static constexpr bool loads_c = gemm_small_loads_c(S, C);
  static constexpr bool has_entries = gemm_small_has(S, GemmSmallStep::pointer);
  static constexpr bool interleaved = gemm_small_has(S, GemmSmallStep::interleaved);
  static constexpr bool keeps_entries = has_entries && !direct;
  static constexpr bool rings = gemm_small_rings(S, C);
  // Threads that issue bulk copies: one, or a warp with a matrix each, whose threads also arrive for their
  // own small copies.
  static constexpr int issuers = has_entries ? 32 : 1;
  static constexpr int arrivals = has_entries ? 1 + issuers : 1;

  const GemmSmallArgs<T>& args;
  unsigned char* shared;

  template <Which X>
  static constexpr bool is_broadcast = op<X>.step == GemmSmallStep::broadcast;
  template <Which X>
  __device__ __forceinline__ T* stage(Place place) const {
    if constexpr (X == c) return reinterpret_cast<T*>(shared + place.stage_c * memory.c_bytes);
    constexpr int offset = X == a ? memory.a_offset : memory.b_offset;
    constexpr int bytes = X == a ? memory.a_bytes : memory.b_bytes;
    return reinterpret_cast<T*>(shared + offset + (is_broadcast<X> ? 0 : place.stage * bytes));
  }
  __device__ __forceinline__ unsigned long long* barrier(int stage) const {
    return reinterpret_cast<unsigned long long*>(shared + memory.barrier_offset) + stage;
  }
  __device__ __forceinline__ Entries entries() const { return {args, shared + memory.entry_offset}; }
  __device__ __forceinline__ Entry& entry(Place place, int q) const {
    return entries().entry(place.entries, q);
  }
  template <Which X>
  __device__ __forceinline__ auto base() const {
    if constexpr (X == c)
      return args.c;
    else
      return X == a ? args.a : args.b;
  }
  template <Which X>
  static __device__ __forceinline__ auto matrix(const Entry& e) {
    if constexpr (X == c)
      return e.c;
    else
      return X == a ? e.a : e.b;
  }
  template <Which X>
  __device__ __forceinline__ long long stride() const {
    return X == a ? args.stride_a : X == b ? args.stride_b : args.stride_c;
  }
  template <Which X>
  __device__ __forceinline__ long long run_time_ld() const {
    return X == a ? args.lda : X == b ? args.ldb : args.ldc;
  }

  __device__ __forceinline__ long long first(long long tile) const { return tile * C.matrices_per_block; }
  // The problems of a tile; only the batch's last is not full. Interleaved blocks are stored whole.
  __device__ __forceinline__ int problems(long long tile) const {
    constexpr int block = interleaved ? 1 : S.interleave;
    const long long stored = (args.count + block - 1) / block * block;
    const long long left = stored - first(tile);
    return left < C.matrices_per_block ? static_cast<int>(left) : C.matrices_per_block;
  }

  // Broadcast operands are read once per block.
  template <Which X>
  __device__ __forceinline__ void keep() const {
    if constexpr (is_broadcast<X> && !direct) {
      for (int e = threadIdx.x; e < op<X>.elements; e += C.threads)
        stage<X>({})[e] = base<X>()[e / op<X>.rows * run_time_ld<X>() + e % op<X>.rows];
    }
  }

  // Returns the elements by which a packed operand's tile is shifted in its stage.
  template <Which X>
  __device__ __forceinline__ int shift(long long tile) const {
    if constexpr (!gemm_small_shifts(S, C, op<X>, sizeof(T))) return 0;
    const auto address = reinterpret_cast<unsigned long long>(base<X>() + first(tile) * op<X>.elements);
    return static_cast<int>(address % C.shift_bytes) / static_cast<int>(sizeof(T));
  }
  // Returns the elements of a packed operand's tile, without the rows below its last column.
  template <Which X>
  __device__ __forceinline__ int run_length(long long tile) const {
    return problems(tile) * op<X>.elements - (op<X>.ld - op<X>.rows) * lanes;
  }

  // Returns the problems of a tile that may lie beyond the last.
  __device__ __forceinline__ int known_problems(long long tile) const {
    return first(tile) < args.count ? problems(tile) : 0;
  }
  // Reads the entries of the first tiles; no other copy is in flight.
  __device__ __forceinline__ void read_first_entries(long long step) const {
    if constexpr (keeps_entries) {
      for (int stage = 0; stage < C.stages; ++stage) {
        const long long tile = blockIdx.x + stage * step;
        entries().ask(first(tile), known_problems(tile), stage, C.threads);
      }
      copy_async_commit();
      copy_async_wait<0>();
      for (int stage = 0; stage < C.stages; ++stage) judge(blockIdx.x + stage * step, {0, 0, stage});
      __syncthreads();
    }
  }
  // Reads the entries of one tile and waits for them.
  __device__ __forceinline__ void read_entries(long long tile) const {
    entries().ask(first(tile), problems(tile), 0, C.threads);
    copy_async_commit();
    copy_async_wait<0>();
    entries().judge(first(tile), problems(tile), 0);
    __syncthreads();
  }
  // Checks the tile's entries: a thread checks what it requested, or what came with a tile it waited for.
  __device__ __forceinline__ void judge(long long tile, Place place) const {
    if constexpr (keeps_entries) entries().judge(first(tile), known_problems(tile), place.entries);
  }
  // Requests the entries of the tile that will be loaded after this one.
  __device__ __forceinline__ void ask_entries(long long tile, long long step, Place place,
                                              int threads) const {
    const long long later = tile + step * C.stages;
    const int slot = (place.entries + C.stages) % gemm_small_entry_slots(S, C);
    if constexpr (keeps_entries) entries().ask(first(later), known_problems(later), slot, threads);
  }

  // Loads one operand of a tile by bulk copies. Returns the bytes that this thread's copies will report.
  template <Which X>
  __device__ __forceinline__ unsigned bulk_in(long long tile, Place place) const {
    constexpr GemmSmallOperand o = op<X>;
    unsigned bytes = 0;
    if constexpr (o.elements == 0 || is_broadcast<X>) {
    } else if constexpr (o.step == GemmSmallStep::packed) {
      const bool last = first(tile + 1) >= args.count;
      if (threadIdx.x == 0)
        bytes = run_bulk(stage<X>(place) + shift<X>(tile), base<X>() + first(tile) * o.elements,
                         run_length<X>(tile), tile > 0, !last, barrier(place.stage));
    } else {
      for (int q = threadIdx.x; q < problems(tile); q += issuers) {
        const T* from = matrix<X>(entry(place, q));
        if (from == nullptr) continue;
        bytes +=
            matrix_bulk(stage<X>(place) + q * o.elements, from, o.rows * o.columns, barrier(place.stage));
      }
    }
    return bytes;
  }
  // Called by the first `issuers` threads.
  __device__ __forceinline__ void fill_bulk(long long tile, long long step, Place place) const {
    unsigned bytes = bulk_in<a>(tile, place) + bulk_in<b>(tile, place);
    if constexpr (loads_c) bytes += bulk_in<c>(tile, place);
    if constexpr (has_entries) {
      ask_entries(tile, step, place, issuers);
      copy_async_arrive(barrier(place.stage));
      bytes = warp_sum(bytes);
    }
    if (threadIdx.x == 0) barrier_arrive_expect(barrier(place.stage), bytes);
  }

  // Loads one operand of a tile by asynchronous copies of all threads.
  template <Which X>
  __device__ __forceinline__ void async_in(long long tile, Place place) const {
    constexpr GemmSmallOperand o = op<X>;
    T* to = stage<X>(place) + shift<X>(tile);
    const int here = problems(tile);
    if constexpr (o.elements == 0 || is_broadcast<X>) {
    } else if constexpr (S.sizes_vary) {
      for (int q = threadIdx.x / 32; q < here; q += C.threads / 32)
        own_size_in<X>(to + q * o.elements, place, q);
    } else if constexpr (o.step == GemmSmallStep::packed) {
      run_async(to, base<X>() + first(tile) * o.elements, run_length<X>(tile), threadIdx.x, C.threads);
    } else if constexpr (o.step == GemmSmallStep::interleaved) {
      const GemmSmallView from = in_global<X>(first(tile), {}, {});
      const auto column = [&](int at) -> const T* { return from.at(at % op<X>.rows, at / op<X>.rows); };
      columns_async<C.matrices_per_block>(to, here, o.elements, o.elements, 0, column, threadIdx.x,
                                          C.threads);
    } else if constexpr (o.contiguous) {
      const auto whole = [&](int q) -> const T* { return matrix<X>(entry(place, q)); };
      columns_async<o.elements>(to, o.rows * o.columns, here, 1, o.elements, whole, threadIdx.x, C.threads);
    } else {
      const auto column = [&](int at) -> const T* {
        const int q = at / o.columns;
        const T* from = nullptr;
        if constexpr (op<X>.step == GemmSmallStep::pointer)
          from = matrix<X>(entry(place, q));
        else
          from = base<X>() + (first(tile) + q) * stride<X>();
        return from == nullptr ? from : from + at % o.columns * run_time_ld<X>();
      };
      columns_async<o.rows>(to, o.rows, here * o.columns, o.columns, o.elements, column, threadIdx.x,
                            C.threads);
    }
  }
  // Copies an operand with a size of its own, as stored.
  template <Which X>
  static __device__ __forceinline__ int own_rows(const GemmSmallSizes& s) {
    return int(X == a ? (S.trans_a ? s.k : s.m) : X == b ? (S.trans_b ? s.n : s.k) : s.m);
  }
  template <Which X>
  static __device__ __forceinline__ int own_columns(const GemmSmallSizes& s) {
    return int(X == a ? (S.trans_a ? s.m : s.k) : X == b ? (S.trans_b ? s.k : s.n) : s.n);
  }
  template <Which X>
  static __device__ __forceinline__ long long own_ld(const GemmSmallSizes& s) {
    return X == a ? s.lda : X == b ? s.ldb : s.ldc;
  }
  // Loads a matrix with a size of its own, by one warp.
  template <Which X>
  __device__ __forceinline__ void own_size_in(T* to, Place place, int q) const {
    const T* from = matrix<X>(entry(place, q));
    if (from == nullptr) return;
    const GemmSmallSizes s = entries().own_sizes(place.entries, q);
    const int rows = own_rows<X>(s), columns = own_columns<X>(s);
    const long long ld = own_ld<X>(s);
    if (ld == rows)
      matrix_async(to, from, rows * columns, threadIdx.x % 32, 32);
    else
      elements_async(to, from, rows, columns, ld, threadIdx.x % 32, 32);
  }

  // Starts to load the operands of a tile, nothing beyond the last. Called by all threads.
  __device__ __forceinline__ void fill(long long tile, long long step, Place place) const {
    const bool exists = first(tile) < args.count;
    if constexpr (by_bulk) {
      if (threadIdx.x < issuers && exists) fill_bulk(tile, step, place);
    } else if constexpr (C.load == GemmSmallLoad::async) {
      if (exists) {
        ask_entries(tile, step, place, C.threads);
        async_in<a>(tile, place);
        async_in<b>(tile, place);
        if constexpr (loads_c) async_in<c>(tile, place);
      }
      copy_async_commit();
    }
  }
  __device__ __forceinline__ void wait(int stage, unsigned parity) const {
    if constexpr (by_bulk) {
      barrier_wait(barrier(stage), parity);
    } else if constexpr (C.load == GemmSmallLoad::async) {
      copy_async_wait<C.stages - 1 - Place::refill_lag>();
      __syncthreads();
    }
  }

  // Returns the matrices of a problem in global memory, and in the stages of its tile.
  template <Which X>
  __device__ __forceinline__ auto in_global(long long problem, const Entry& e,
                                            const GemmSmallSizes& own) const {
    using View = GemmSmallView<typename GemmSmallPointed<decltype(base<X>())>::type, long long>;
    constexpr GemmSmallOperand o = op<X>;
    if constexpr (o.step == GemmSmallStep::packed)
      return View{base<X>() + problem / lanes * lanes * o.elements + problem % lanes, o.ld, lanes};
    else if constexpr (o.step == GemmSmallStep::interleaved)
      return View{base<X>() + problem / stride<X>() * stride<X>() * run_time_ld<X>() * o.columns +
                      problem % stride<X>(),
                  run_time_ld<X>(), stride<X>()};
    else if constexpr (o.step == GemmSmallStep::broadcast)
      return View{base<X>(), run_time_ld<X>(), 1};
    else if constexpr (o.step == GemmSmallStep::strided)
      return View{base<X>() + problem * stride<X>(), run_time_ld<X>(), 1};
    else if constexpr (S.sizes_vary)
      return View{matrix<X>(e), own_ld<X>(own), 1};
    else
      return View{matrix<X>(e), o.contiguous ? o.rows : run_time_ld<X>(), 1};
  }
  // Returns an operand of a problem at byte `at` of shared memory: A, B and C follow one another.
  template <Which X>
  __device__ __forceinline__ T* in_ring(int at, const GemmSmallSizes& own) const {
    const int m = int(own.m), n = int(own.n), k = int(own.k);
    if constexpr (X != a) at += gemm_small_ring_part(m, k, sizeof(T));
    if constexpr (X == c) at += gemm_small_ring_part(k, n, sizeof(T));
    return reinterpret_cast<T*>(shared + at);
  }
  template <Which X>
  __device__ __forceinline__ auto in_shared(Place place, int shift_elements, int q,
                                            const GemmSmallSizes& own) const {
    constexpr GemmSmallOperand o = op<X>;
    if constexpr (rings) {
      return GemmSmallView<T, int>{in_ring<X>(place.stage, own), own_rows<X>(own), 1};
    } else {
      T* at = stage<X>(place) + shift_elements;
      if constexpr (is_broadcast<X>) return GemmSmallView<T, int>{at, o.ld, 1};
      return GemmSmallView<T, int>{at + gemm_small_position(q, 0, lanes, o.elements),
                                   S.sizes_vary ? own_rows<X>(own) : o.ld, lanes};
    }
  }

  // Computes one thread tile of problem q, of the height and width of P.
  template <GemmSmallConfig P, class Sizes>
  __device__ __forceinline__ void compute(long long tile, Place place, int q, GemmSmallPlaceInC thread_tile,
                                          const Sizes& z, const Entry& e, const GemmSmallSizes& own,
                                          int shift_a, int shift_b, int shift_c) const {
    const long long problem = first(tile) + q;
    const T alpha = gemm_small_alpha(args, S.scalars_vary, problem);
    const T beta = gemm_small_beta(args, S.scalars_vary, problem);
    const auto out = in_global<c>(problem, e, own);
    GemmSmallProduct<T, S, P, Sizes> product(z, thread_tile);
    if constexpr (product.reads_early) product.read_old(out, beta);
    if constexpr (S.k > 0) {
      if (!has_entries || e.a != nullptr) {
        if constexpr (direct)
          product.form(in_global<a>(problem, e, own), in_global<b>(problem, e, own));
        else
          product.form(in_shared<a>(place, shift_a, q, own), in_shared<b>(place, shift_b, q, own));
      }
    }
    const auto staged = in_shared<c>(place, shift_c, q, own);
    constexpr bool to_global = C.store == GemmSmallStore::direct;
    if constexpr (loads_c && to_global)
      product.finish(staged, out, alpha, beta);
    else if constexpr (loads_c)
      product.finish(staged, staged, alpha, beta);
    else if constexpr (to_global)
      product.finish(out, out, alpha, beta);
    else
      product.finish(out, staged, alpha, beta);
  }
  __device__ __forceinline__ Entry read_entry(long long tile, Place place, int q, GemmSmallSizes& own) const {
    if constexpr (!has_entries) return {};
    if constexpr (direct) return Entries::read(args, first(tile) + q, own);
    own = entries().own_sizes(place.entries, q);
    return entry(place, q);
  }
  // A problem of a size of its own, computed by one warp.
  struct Own {
    long long tile;
    Place place;
    int q;
    const Entry& entry;
    const GemmSmallSizes& sizes;
    GemmSmallOwnSizes z;
  };
  template <int ThreadM, int ThreadN>
  __device__ __forceinline__ void multiply_part(const Own& o, int first_row, int first_column) const {
    const int lane = threadIdx.x % 32;
    const GemmSmallPlaceInC at{first_row + lane % gemm_small_own_m, first_column + lane / gemm_small_own_m};
    compute<gemm_small_own(C, ThreadM, ThreadN)>(o.tile, o.place, o.q, at, o.z, o.entry, o.sizes, 0, 0, 0);
  }
  // Uses the smallest thread tile that covers the rest of the problem.
  template <int ThreadM, int ThreadN>
  __device__ __forceinline__ void multiply_columns(const Own& o, int first_row, int first_column) const {
    constexpr int less = ThreadN - C.size_step / gemm_small_own_n;
    if constexpr (less > 0) {
      if (o.z.n - first_column <= less * gemm_small_own_n)
        return multiply_columns<ThreadM, less>(o, first_row, first_column);
    }
    multiply_part<ThreadM, ThreadN>(o, first_row, first_column);
  }
  template <int ThreadM>
  __device__ __forceinline__ void multiply_rows(const Own& o, int first_row, int first_column) const {
    constexpr int less = ThreadM - C.size_step / gemm_small_own_m;
    if constexpr (less > 0) {
      if (o.z.m - first_row <= less * gemm_small_own_m)
        return multiply_rows<less>(o, first_row, first_column);
    }
    multiply_columns<ThreadM, C.thread_n>(o, first_row, first_column);
  }
  __device__ __forceinline__ void multiply_own(const Own& o) const {
    for (int column = 0; column < o.z.n; column += C.thread_n * gemm_small_own_n)
      for (int row = 0; row < o.z.m; row += C.thread_m * gemm_small_own_m)
        multiply_rows<C.thread_m>(o, row, column);
  }
  __device__ __forceinline__ void multiply(long long tile, Place place) const {
    const int here = problems(tile);
    const int shift_a = shift<a>(tile), shift_b = shift<b>(tile), shift_c = shift<c>(tile);
    GemmSmallSizes own{S.m, S.n, S.k, 0, 0, 0};
    if constexpr (S.sizes_vary) {  // a problem per warp
      for (int q = threadIdx.x / 32; q < here; q += C.threads / 32) {
        const Entry e = read_entry(tile, place, q, own);
        if (e.c == nullptr) continue;
        multiply_own({tile, place, q, e, own, GemmSmallOwnSizes(own)});
      }
    } else {
      constexpr GemmSmallFixedSizes<S, C> z{};
      constexpr int tiles = z.tiles_m * z.tiles_n;
      const int units = (interleaved ? C.matrices_per_block : here) * tiles;
      for (int unit = threadIdx.x; unit < units; unit += C.threads) {
        const GemmSmallUnit u = gemm_small_unit(unit, lanes, tiles);
        if (interleaved && u.q >= here) continue;
        const Entry e = read_entry(tile, place, u.q, own);
        if (has_entries && e.c == nullptr) continue;
        compute<C>(tile, place, u.q, gemm_small_place_in_c(C, u.tile, z.tiles_m), z, e, own, shift_a, shift_b,
                   shift_c);
      }
    }
  }

  // Stores from shared to global memory by all threads, in memory order.
  __device__ __forceinline__ void store_shared(long long tile, Place place) const {
    constexpr GemmSmallOperand o = op<c>;
    const T* from = stage<c>(place) + shift<c>(tile);
    const int here = problems(tile);
    if constexpr (o.step == GemmSmallStep::packed && o.ld == o.rows) {
      T* to = args.c + first(tile) * o.elements;
      for (int e = threadIdx.x; e < here * o.elements; e += C.threads) to[e] = from[e];
    } else {
      const int count = (interleaved ? C.matrices_per_block : here) * o.rows * o.columns;
      for (int e = threadIdx.x; e < count; e += C.threads) {
        const GemmSmallUnit u = gemm_small_unit(e, lanes, o.rows * o.columns);
        if (u.q >= here) continue;
        const int i = u.tile % o.rows, j = u.tile / o.rows;
        Entry e_of_q{};
        if constexpr (has_entries) e_of_q = entry(place, u.q);
        if (has_entries && e_of_q.c == nullptr) continue;
        *in_global<c>(first(tile) + u.q, e_of_q, {}).at(i, j) =
            from[gemm_small_position(u.q, j * o.ld + i, lanes, o.elements)];
      }
    }
  }
  // Called by the first `issuers` threads.
  __device__ __forceinline__ void store_bulk(long long tile, Place place) const {
    constexpr GemmSmallOperand o = op<c>;
    const T* from = stage<c>(place) + shift<c>(tile);
    if constexpr (o.step == GemmSmallStep::packed) {
      if (threadIdx.x == 0) run_bulk_store(args.c + first(tile) * o.elements, from, run_length<c>(tile));
    } else {
      for (int q = threadIdx.x; q < problems(tile); q += issuers) {
        T* to = entry(place, q).c;
        if (to == nullptr) continue;
        if (at_piece(to))
          run_bulk_store(to, from + q * o.elements, o.rows * o.columns);
        else
          for (int e = 0; e < o.rows * o.columns; ++e) to[e] = from[q * o.elements + e];
      }
    }
    bulk_store_commit();
  }

  // After the multiplication: stores C and loads the next tile into the free stage.
  __device__ __forceinline__ void turn(long long tile, long long step, Place place, bool may_refill) const {
    if constexpr (by_bulk || C.store == GemmSmallStore::bulk) copy_engine_fence();
    if constexpr (!direct) __syncthreads();
    if constexpr (C.store == GemmSmallStore::shared) {
      store_shared(tile, place);
      if constexpr (by_bulk) copy_engine_fence();
      __syncthreads();
    }
    if constexpr (C.store == GemmSmallStore::bulk) {
      if (threadIdx.x < issuers) {
        store_bulk(tile, place);
        bulk_store_wait_read<Place::stores_pending>();
      }
      if constexpr (issuers > 1) __syncwarp();
      if constexpr (!by_bulk) __syncthreads();  // all threads write into the free stage
    }
    if (may_refill)
      fill(tile + step * (C.stages - Place::refill_lag), step, place.refilled());
    else if constexpr (C.load == GemmSmallLoad::async)
      copy_async_commit();  // keeps one group per tile
  }
};

}  // namespace tilewright
