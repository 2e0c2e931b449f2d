// Matrices by rows, for the C interface: C = op(A) op(B) by rows is C^T = op(B)^T op(A)^T by columns, so the
// operands change places, and faults are told of those that the caller named.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "c_handles.hpp"

namespace tilewright {

inline bool is_by_rows(const tilewright_options* options) {
  return options != nullptr && options->row_major != 0;
}

// The first and second of what A and B have, m and n likewise, change places.
inline void swap_sides() {}
template <class X, class... More>
void swap_sides(X& first, X& second, More&... more) {
  std::swap(first, second);
  swap_sides(more...);
}

// Of one shape, as the caller states it; what is wrong otherwise is seen after the sides were swapped.
inline void check_by_rows(int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                          std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
  for (const auto& [name, op] : {std::pair("op_a", op_a), std::pair("op_b", op_b)})
    if (op < 0 || op > TILEWRIGHT_CONJ_TRANS)
      refuse(name, fmt::format("{} = {} is none of n (0), t (1), c (2)", name, op));
  for (const auto& [name, size] : {std::pair("m", m), std::pair("n", n), std::pair("k", k)})
    refuse_negative(name, size);
  struct Leading {
    const char *name, *matrix;
    std::int64_t ld, cols;
  };
  for (const Leading& x :
       {Leading{"lda", "A", lda, op_a == TILEWRIGHT_NONE ? k : m},
        Leading{"ldb", "B", ldb, op_b == TILEWRIGHT_NONE ? n : k}, Leading{"ldc", "C", ldc, n}})
    if (x.ld < x.cols)
      refuse(x.name, fmt::format("{} = {} is smaller than the {} columns of {}, which lies by rows", x.name,
                                 x.ld, x.cols, x.matrix));
}

// Info codes of the swapped call, as those of the caller's arguments.
inline void name_codes_by_rows(int* codes, std::int64_t count) {
  // Of the BLAS routine: op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc.
  constexpr std::array<int, 14> own{0, 2, 1, 4, 3, 5, 6, 9, 10, 7, 8, 11, 12, 13};
  std::for_each(codes, codes + count, [&](int& code) {
    if (code < 0 && code > -int(own.size())) code = -own[std::size_t(-code)];
  });
}

// f() for a call whose sides were swapped where it is by rows; errors of what changed places say so.
template <class F>
void run_by_rows(const tilewright_options* options, F&& f) {
  if (!is_by_rows(options)) return f();
  try {
    f();
  } catch (const Error& error) {
    throw Error(
        error.code(), error.argument(),
        std::string(error.what()) + " (row_major: A and B, and m and n, are named as in C^T = B^T A^T)",
        error.problem_index());
  }
}

inline bool wants_codes(int info_mode, const int* info) {
  return info != nullptr && info_mode != TILEWRIGHT_INFO_NONE;
}

// Whether the sides of a batch of one shape have to be swapped. Where codes are wanted, faults become those.
inline bool begin_by_rows(const tilewright_options* options, int info_mode, const int* info, int op_a,
                          int op_b, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t lda,
                          std::int64_t ldb, std::int64_t ldc) {
  if (!is_by_rows(options)) return false;
  if (!wants_codes(info_mode, info))
    check_by_rows(op_a, op_b, m, n, k, lda, ldb, ldc);
  else if (options->location == TILEWRIGHT_DEVICE)
    throw Error(ErrorCode::unsupported, "row_major",
                "options.row_major with info codes in device memory: they would name the wrong arguments");
  return true;
}
inline void end_by_rows(const tilewright_options* options, int info_mode, int* info, std::int64_t batch_count,
                        std::int64_t group_count) {
  if (is_by_rows(options) && wants_codes(info_mode, info))
    name_codes_by_rows(info, info_mode == TILEWRIGHT_INFO_ALL     ? batch_count
                             : info_mode == TILEWRIGHT_INFO_GROUP ? group_count
                                                                  : 1);
}
inline void refuse_by_rows(const tilewright_options* options, const char* what) {
  if (is_by_rows(options)) refuse("row_major", fmt::format("options.row_major = 1: {} by columns", what));
}

}  // namespace tilewright
