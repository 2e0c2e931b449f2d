// A warp tile's product by FP64 tensor cores. Real matrices use blocks of 16 rows (columns of B: two of 8),
// complex ones of 8: the real and imaginary parts of a row are the two halves of an mma's 16 rows, and C += A
// re(B) + (i A) im(B) forms the four real products.
#pragma once

#include "kernel/gemm_large/device.cuh"

namespace tilewright {

template <class T, GemmLargeShape S, GemmLargeConfig C>
struct GemmLargeMma {
  static constexpr GemmLargeOperand operand_a = gemm_large_operand_a(S, C, sizeof(T));
  static constexpr GemmLargeOperand operand_b = gemm_large_operand_b(S, C, sizeof(T));
  static constexpr bool complex = sizeof(T) == 16;
  static constexpr int block = complex ? 8 : 16;  // rows or columns of a block of operands
  static constexpr int blocks_a = C.warp_m / block;
  static constexpr int blocks_b = C.warp_n / block;
  static constexpr int columns = C.warp_n / 8;  // mma columns of the warp tile
  static constexpr int groups = gemm_large_step(C, sizeof(T)) / gemm_large_k_group;
  static constexpr bool pairs = !complex && operand_a.read == GemmLargeRead::row_pair;
  static constexpr int store_pack = pairs ? 2 : 1;
  static constexpr int value_count = blocks_a * columns * 4;
  using Value = double;
  using Real = double;
  static constexpr int real_count = value_count;

  // [block][group of 8 k][k = 2 t + s][half: row h, or real and imaginary part]
  struct Fragment {
    double a[blocks_a][groups][2][2];
    double b[blocks_b][groups][2][2];
  };

  // A lane's place in an mma, and its warp's place in the tile.
  struct Place {
    int g, t, row, column, k;
    explicit __device__ __forceinline__ Place(int thread)
        : g(thread % gemm_large_lanes / 4),
          t(thread % 4),
          row(gemm_large_warp_place(C, thread).row),
          column(gemm_large_warp_place(C, thread).column),
          k(gemm_large_warp_place(C, thread).k) {}
  };

  int base_a[operand_a.variants()];  // byte offsets of the lane's reads, without constants
  int base_b[operand_b.variants()];
  double sum[blocks_a][columns][4];

  explicit __device__ __forceinline__ GemmLargeMma(const GemmLargeArgs<T>& args) {
    const Place place(threadIdx.x);
    find_bases<operand_a>(base_a, place, place.row, args.a, args.lda);
    find_bases<operand_b>(base_b, place, place.column, args.b, args.ldb);
  }
  template <GemmLargeOperand Operand>
  static __device__ __forceinline__ void find_bases(int (&base)[Operand.variants()], const Place& place,
                                                    int first, const T* operand, long long ld) {
#pragma unroll
    for (int v = 0; v < Operand.variants(); ++v) {
      base[v] = Operand.base(v, first, place.g, place.t) + Operand.tile.offset(0, place.k);
      if constexpr (Operand.by_turns())
        base[v] += int(sizeof(T)) * gemm_large_lead(reinterpret_cast<unsigned long long>(operand), ld,
                                                    Operand.turn(v, place.g, place.t), sizeof(T));
    }
  }
  __device__ __forceinline__ Value& value(int i) { return sum[i / 4 / columns][i / 4 % columns][i % 4]; }
  __device__ __forceinline__ Real& real(int i) { return value(i); }

  template <GemmLargeOperand Operand, bool Conjugate, int Blocks>
  static __device__ __forceinline__ void read(double (&to)[Blocks][groups][2][2], const unsigned char* stage,
                                              const int (&base)[Operand.variants()], int first_group) {
    constexpr GemmLargeRead way = Operand.read;
#pragma unroll
    for (int i = 0; i < Blocks; ++i)
#pragma unroll
      for (int q = 0; q < groups; ++q)
#pragma unroll
        for (int s = 0; s < (way == GemmLargeRead::k_pair ? 1 : 2); ++s)
#pragma unroll
          for (int h = 0; h < (way == GemmLargeRead::k_pair || way == GemmLargeRead::single ? 2 : 1); ++h) {
            const int group = first_group + q;
            const unsigned char* from =
                stage + base[Operand.variant(group, s, h)] + Operand.constant(i, group, h);
            if constexpr (way == GemmLargeRead::single) {
              to[i][q][s][h] = *reinterpret_cast<const double*>(from);
            } else {
              const auto two = *reinterpret_cast<const Pack<double, 2>*>(from);
              to[i][q][s][h] = two.item[0];
              if constexpr (way == GemmLargeRead::k_pair)
                to[i][q][1][h] = two.item[1];
              else
                to[i][q][s][1] = complex && Conjugate ? flip_sign(two.item[1]) : two.item[1];
            }
          }
  }
  __device__ __forceinline__ void load(Fragment& fragment, const unsigned char* a, const unsigned char* b,
                                       int step) const {
    read<operand_a, S.conj_a>(fragment.a, a, base_a, step * groups);
    read<operand_b, S.conj_b>(fragment.b, b, base_b, step * groups);
  }

  // Combines bits of every read (see read()), so that the compiler chooses the last one.
  template <GemmLargeOperand Operand, int Blocks>
  static __device__ __forceinline__ unsigned witness_of(const double (&values)[Blocks][groups][2][2]) {
    constexpr GemmLargeRead way = Operand.read;
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < Blocks; ++i)
#pragma unroll
      for (int q = 0; q < groups; ++q)
#pragma unroll
        for (int s = 0; s < (way == GemmLargeRead::k_pair ? 1 : 2); ++s)
#pragma unroll
          for (int h = 0; h < (way == GemmLargeRead::k_pair || way == GemmLargeRead::single ? 2 : 1); ++h)
            bits |= low_bits(values[i][q][s][h]);
    return bits;
  }
  // Returns bits that are known when the fragment has been read.
  static __device__ __forceinline__ unsigned witness(const Fragment& fragment) {
    return witness_of<operand_a>(fragment.a) | witness_of<operand_b>(fragment.b);
  }

  // Adds a b over the fragment's k to sum, for a block of rows and eight columns; `part` selects the half of
  // B's block (real: eight columns; complex: real or imaginary part).
  static __device__ __forceinline__ void multiply_block(double (&c)[4], const double (&a)[groups][2][2],
                                                        const double (&b)[groups][2][2], int part) {
    if constexpr (C.product == GemmLargeProduct::mma_16x8x16) {
      const double column[4] = {b[0][0][part], b[0][1][part], b[1][0][part], b[1][1][part]};
      mma_16x8x16(c, &a[0][0][0], column);
      return;
    }
#pragma unroll
    for (int q = 0; q < groups; ++q) {
      if constexpr (C.product == GemmLargeProduct::mma_16x8x8) {
        const double column[2] = {b[q][0][part], b[q][1][part]};
        mma_16x8x8(c, &a[q][0][0], column);
      } else {
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          if constexpr (C.product == GemmLargeProduct::mma_16x8x4) {
            mma_16x8x4(c, a[q][s], b[q][s][part]);
          } else {
            mma_8x8x4(c[0], c[1], a[q][s][0], b[q][s][part]);
            mma_8x8x4(c[2], c[3], a[q][s][1], b[q][s][part]);
          }
        }
      }
    }
  }
  __device__ __forceinline__ void multiply(const Fragment& fragment) {
    if constexpr (!complex) {
#pragma unroll
      for (int j = 0; j < columns; ++j)
#pragma unroll
        for (int i = 0; i < blocks_a; ++i) {
          const int at = j % 2 == 0 ? i : blocks_a - 1 - i;
          multiply_block(sum[at][j], fragment.a[at], fragment.b[j / 2], j % 2);
        }
    } else {
      // i A = (-im A, re A)
      double turned[blocks_a][groups][2][2];
#pragma unroll
      for (int i = 0; i < blocks_a; ++i)
#pragma unroll
        for (int q = 0; q < groups; ++q)
#pragma unroll
          for (int s = 0; s < 2; ++s) {
            turned[i][q][s][0] = flip_sign(fragment.a[i][q][s][1]);
            turned[i][q][s][1] = fragment.a[i][q][s][0];
          }
#pragma unroll
      for (int j = 0; j < columns; ++j)
#pragma unroll
        for (int i = 0; i < blocks_a; ++i) multiply_block(sum[i][j], fragment.a[i], fragment.b[j], 0);
#pragma unroll
      for (int j = 0; j < columns; ++j)
#pragma unroll
        for (int i = 0; i < blocks_a; ++i) multiply_block(sum[i][j], turned[i], fragment.b[j], 1);
    }
  }

  // Reads the thread's number again, so that no register holds the place through the main loop.
  __device__ __forceinline__ static Place place_again() { return Place(read_thread_again()); }

  // Calls f for packs First to Last - 1 of sums, with their number from First on and place in the tile.
  template <int First, int Last, class F>
  __device__ __forceinline__ void for_each(const Place& place, F&& use_any) const {
    const int g = place.g;
    int number = 0;
    const auto use = [&](int row, int column, const auto& pack) {
      if (number >= First && number < Last) use_any(number - First, row, column, pack);
      ++number;
    };
#pragma unroll
    for (int j = 0; j < columns; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = place.column + (complex ? 8 * j + 2 * place.t + e
                                                   : 16 * (j / 2) + operand_b.row_of(2 * place.t + e, j % 2));
#pragma unroll
        for (int i = 0; i < blocks_a; ++i) {
          const int row = place.row + block * i;
          const double(&c)[4] = sum[i][j];
          if constexpr (complex) {
            use(row + g, column, Pack<T, 1>{{{c[e], c[2 + e]}}});
          } else if constexpr (pairs) {
            use(row + operand_a.row_of(g, 0), column, Pack<T, 2>{{c[e], c[2 + e]}});
          } else {
            use(row + operand_a.row_of(g, 0), column, Pack<T, 1>{{c[e]}});
            use(row + operand_a.row_of(g, 1), column, Pack<T, 1>{{c[2 + e]}});
          }
        }
      }
  }
};

}  // namespace tilewright
