// Factorizations of a matrix by a block of threads, panel by panel: in shared memory where the matrix fits,
// else where it lies, with the panel in shared memory. Behind a panel, strips of columns have their rows
// exchanged, their part of U solved, and are updated by products whose tiles threads hold in registers.
#pragma once

#include "kernel/factor_gpu_large/panel.cuh"
#include "kernel/factor_gpu_large/update.cuh"

namespace tilewright {

template <class T, FactorGpuShape S, FactorLargeConfig C>
struct FactorLargeBlock {
  static constexpr int threads = C.threads, warps = threads / 32, lanes = factor_large_lanes;
  static constexpr bool is_cholesky = S.method == FactorGpuMethod::cholesky,
                        pivots = S.method == FactorGpuMethod::lu;
  // The matrix that is worked on where it lies has rows as lines.
  static constexpr bool by_rows = !C.shared && S.writes_a && S.a_by_rows;
  static constexpr int strip = factor_large_strip(C, by_rows),
                       strip_pitch = factor_large_pitch(strip, int(sizeof(T)));
  using Shared = FactorLargeView<T, false, int>;
  using Panel = FactorLargePanel<T, threads>;

  const FactorLargeArgs<T>& args;
  unsigned char* shared;
  FactorLargeMemory memory;
  bool is_odd = false;

  __device__ __forceinline__ T* own() const { return reinterpret_cast<T*>(shared); }
  __device__ __forceinline__ T* upper() const { return reinterpret_cast<T*>(shared + memory.upper); }
  __device__ __forceinline__ T* displaced() const { return reinterpret_cast<T*>(shared + memory.displaced); }
  __device__ __forceinline__ int* numbers() const { return reinterpret_cast<int*>(shared + memory.numbers); }
  __device__ __forceinline__ int* swaps() const { return numbers() + 2 * warps; }
  // The rows that come to the panel's first rows, and to the rows that those are exchanged with.
  __device__ __forceinline__ int* comes_to_top() const { return swaps() + C.panel; }
  __device__ __forceinline__ int* comes_to_swap() const { return swaps() + 2 * C.panel; }

  __device__ __forceinline__ static bool wants(int i, int j) { return !is_cholesky || i >= j; }

  template <class View>
  __device__ __forceinline__ static void update(const View& work, int row, int col, int rows, int cols,
                                                const FactorLargeFactors<T>& x) {
    factor_large_subtract<typename FactorLargeTileOf<T, C, View::by_rows, is_cholesky>::Type, is_cholesky>(
        work, row, col, rows, cols, x);
  }

  // u := L^-1 u for `cols` columns, where L is the unit lower triangle of the panel's first `width` rows: a
  // warp takes columns, its lanes the rows.
  __device__ __forceinline__ static void solve_upper(const T* l, int pitch, int width, T* u, int u_row,
                                                     int u_col, int cols) {
    constexpr int together = 4;
    const int lane = threadIdx.x % 32;
    for (int first = threadIdx.x / 32; first < cols; first += warps * together) {
      T x[together];
#pragma unroll
      for (int t = 0; t < together; ++t) {
        const int c = first + warps * t;
        x[t] = lane < width && c < cols ? u[lane * u_row + c * u_col] : zero<T>();
      }
      for (int k = 0; k + 1 < width; ++k) {
        const T factor = lane > k && lane < width ? negative(l[k * pitch + lane]) : zero<T>();
#pragma unroll
        for (int t = 0; t < together; ++t) multiply_add(x[t], factor, value_of_lane(x[t], k));
      }
#pragma unroll
      for (int t = 0; t < together; ++t) {
        const int c = first + warps * t;
        if (lane < width && c < cols) u[lane * u_row + c * u_col] = x[t];
      }
    }
  }

  // Factors the panel and writes its pivots.
  __device__ __forceinline__ int factor_panel(const Panel& panel, int first, long long problem) {
    int info = 0;
    if constexpr (is_cholesky) {
      using R = typename FactorGpuReal<T>::Type;
      R* const inverses = reinterpret_cast<R*>(shared + memory.bits);
      if (threadIdx.x < 32) {
        info = panel.cholesky(inverses);
        if (threadIdx.x == 0) *numbers() = info;
      }
      __syncthreads();
      info = *numbers();
      panel.solve_below(inverses);
    } else {
      FactorLargePivots<T, warps> search;
      search.bits = reinterpret_cast<typename FactorLargePivots<T, warps>::Bits*>(shared + memory.bits);
      search.numbers = numbers();
      info = panel.template lu<pivots>(
          [&](const T* column, int k) { return search.template find<threads>(column, k, panel.rows); },
          swaps(), is_odd);
    }
    __syncthreads();
    if constexpr (pivots && S.exchanges) {
      const int steps = args.m < args.n ? args.m : args.n;
      for (int k = threadIdx.x; k < panel.width; k += threads)
        args.pivots[problem * steps + first + k] = first + swaps()[k] + 1;
    }
    return info == 0 ? 0 : first + info;
  }

  __device__ __forceinline__ int factor_in_shared(long long problem) {
    const Shared work{own(), memory.pitch, 1};
    const int steps = args.m < args.n ? args.m : args.n;
    int info = 0;
    for (int first = 0; first < steps; first += C.panel) {
      const int width = first + C.panel < steps ? C.panel : steps - first, next = first + width;
      const Panel panel{own() + first * memory.pitch + first, memory.pitch, args.m - first, width};
      const int found = factor_panel(panel, first, problem);
      if (info == 0) info = found;
      if constexpr (pivots) {
        for (int c = threadIdx.x; c < args.n; c += threads) {
          if (c >= first && c < next) continue;
          T* const column = own() + c * memory.pitch + first;
          for (int k = 0; k < width; ++k) {
            const int other = swaps()[k];
            const T kept = column[k];
            column[k] = column[other];
            column[other] = kept;
          }
        }
        __syncthreads();
      }
      if (next >= args.n) continue;
      T* const u = own() + next * memory.pitch + first;
      if constexpr (is_cholesky) {
        update(work, next, next, args.m - next, args.n - next,
               {panel.p + width, 1, memory.pitch, panel.p + width, memory.pitch, 1, width});
      } else {
        solve_upper(panel.p, memory.pitch, width, u, 1, memory.pitch, args.n - next);
        __syncthreads();
        update(work, next, next, args.m - next, args.n - next,
               {panel.p + width, 1, memory.pitch, u, 1, memory.pitch, width});
      }
      __syncthreads();
    }
    return info;
  }

  // Finds the rows that the panel's exchanges bring to its first rows and to the others that take part.
  __device__ __forceinline__ void find_origins(int width) const {
    const int thread = threadIdx.x;
    if (thread < 2 * width) {
      const int k = thread % width;
      int at = thread < width ? k : swaps()[k];
      for (int step = width; step-- > 0;) {
        const int other = swaps()[step];
        at = at == step ? other : at == other ? step : at;
      }
      (thread < width ? comes_to_top() : comes_to_swap())[k] = at;
    }
    __syncthreads();
  }

  // Brings the panel's rows of a strip of columns to upper(), and writes the rows that they are exchanged
  // with.
  template <class View>
  __device__ __forceinline__ void gather(const View& work, int first, int width, int col, int cols) const {
    factor_large_each<by_rows, threads>(width, cols, [&](int k, int c) {
      upper()[k * strip_pitch + c] = work.at(first + (pivots ? comes_to_top()[k] : k), col + c);
      if constexpr (pivots)
        if (swaps()[k] >= width)
          displaced()[k * strip_pitch + c] = work.at(first + comes_to_swap()[k], col + c);
    });
    __syncthreads();
    if constexpr (pivots)
      factor_large_each<by_rows, threads>(width, cols, [&](int k, int c) {
        if (swaps()[k] >= width) work.at(first + swaps()[k], col + c) = displaced()[k * strip_pitch + c];
      });
  }
  template <class View>
  __device__ __forceinline__ void scatter(const View& work, int first, int width, int col, int cols) const {
    factor_large_each<by_rows, threads>(
        width, cols, [&](int k, int c) { work.at(first + k, col + c) = upper()[k * strip_pitch + c]; });
  }

  template <class View>
  __device__ __forceinline__ void strips(const View& work, const Panel& panel, int first) const {
    const int width = panel.width, next = first + width;
    if constexpr (pivots) {
      find_origins(width);
      for (int col = 0; col < first; col += strip) {
        const int cols = col + strip < first ? strip : first - col;
        gather(work, first, width, col, cols);
        scatter(work, first, width, col, cols);
        __syncthreads();
      }
    }
    for (int col = next; col < args.n; col += strip) {
      const int cols = col + strip < args.n ? strip : args.n - col;
      gather(work, first, width, col, cols);
      solve_upper(panel.p, panel.pitch, width, upper(), strip_pitch, 1, cols);
      __syncthreads();
      scatter(work, first, width, col, cols);
      update(work, next, col, args.m - next, cols,
             {panel.p + width, 1, panel.pitch, upper(), strip_pitch, 1, width});
      __syncthreads();
    }
  }

  template <class View>
  __device__ __forceinline__ int factor_in_place(const View& work, long long problem) {
    const int steps = args.m < args.n ? args.m : args.n;
    int info = 0;
    for (int first = 0; first < steps; first += C.panel) {
      const int width = first + C.panel < steps ? C.panel : steps - first, next = first + width;
      const Panel panel{own(), memory.pitch, args.m - first, width};
      factor_large_each<by_rows, threads>(panel.rows, width, [&](int i, int c) {
        if (wants(i, c)) panel.p[c * panel.pitch + i] = work.at(first + i, first + c);
      });
      __syncthreads();
      const int found = factor_panel(panel, first, problem);
      if (info == 0) info = found;
      factor_large_each<by_rows, threads>(panel.rows, width, [&](int i, int c) {
        if (wants(i, c)) work.at(first + i, first + c) = panel.p[c * panel.pitch + i];
      });
      if constexpr (is_cholesky) {
        if (next < args.n)
          update(work, next, next, args.m - next, args.n - next,
                 {panel.p + width, 1, panel.pitch, panel.p + width, panel.pitch, 1, width});
        __syncthreads();
      } else {
        strips(work, panel, first);
      }
    }
    return info;
  }

  template <class View>
  __device__ __forceinline__ int first_zero(const View& work) const {
    int* const left = numbers();  // columns from the first zero on
    if (threadIdx.x == 0) *left = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < args.n; i += threads)
      if (is_zero(work.at(i, i))) atomicMax(left, args.n - i);
    __syncthreads();
    return *left > 0 ? args.n - *left + 1 : 0;
  }

  // The diagonal passes through shared memory, which one thread reads sooner.
  template <class View>
  __device__ __forceinline__ void store_determinant(const View& work, long long problem) const {
    T* const diagonal = own();
    if constexpr (!C.shared) {
      __syncthreads();
      for (int i = threadIdx.x; i < args.n; i += threads) diagonal[i] = work.at(i, i);
      __syncthreads();
    }
    if (threadIdx.x != 0) return;
    FactorGpuProduct<T> product(from_real<T>(is_odd ? -1 : 1));
    for (int i = 0; i < args.n; ++i) product.multiply(C.shared ? work.at(i, i) : diagonal[i]);
    args.det[problem] = product.value();
  }

  template <class Source, class Work>
  __device__ __forceinline__ static void copy(const Source& from, const Work& to, int rows, int cols) {
    factor_large_each<Source::by_rows, threads>(rows, cols, [&](int i, int j) {
      constexpr bool half = is_cholesky || (S.method == FactorGpuMethod::none && S.half);
      if (!half || i >= j) to.at(i, j) = from.at(i, j);
    });
  }

  template <class Work>
  __device__ __forceinline__ int work_on(const Work& work, long long problem) {
    const auto source = factor_large_view<T, S.a_place, S.a_by_rows>(args.a, problem);
    if constexpr (S.method == FactorGpuMethod::none) {
      copy(source, work, args.m, args.n);
      return S.checks_diagonal ? first_zero(source) : 0;
    } else if constexpr (C.shared) {
      const Shared here{own(), memory.pitch, 1};
      copy(source, here, args.m, args.n);
      __syncthreads();
      const int info = factor_in_shared(problem);
      if constexpr (S.writes_det)
        store_determinant(here, problem);
      else
        store(here, work);
      return info;
    } else {
      if constexpr (!S.writes_a) copy(source, work, args.m, args.n);
      __syncthreads();
      const int info = factor_in_place(work, problem);
      if constexpr (S.writes_det) store_determinant(work, problem);
      return info;
    }
  }
  template <class Work>
  __device__ __forceinline__ void store(const Shared& here, const Work& work) const {
    factor_large_each<Work::by_rows, threads>(args.m, args.n, [&](int i, int j) {
      if (wants(i, j)) work.at(i, j) = here.at(i, j);
    });
  }

  __device__ __forceinline__ void run(long long problem) {
    int info = 0;
    if constexpr (S.writes_a)
      info = work_on(factor_large_view<T, S.a_place, S.a_by_rows>(args.a, problem), problem);
    else
      info = work_on(factor_large_view<T, FactorGpuPlace::strided, false>(args.factors, problem), problem);
    if (threadIdx.x != 0) return;
    if (args.codes != nullptr) args.codes[problem] = info;
    if (args.info == nullptr) return;
    if (args.info_step != 0)
      args.info[problem] = info;
    else if (info != 0)
      *args.info = info;
  }
};

}  // namespace tilewright
