// The cases of bench_small: one implementation of multiplying n x n matrices of one type with one beta, as a
// function that walks a packed batch. The lists are made by the small_*.cpp files, each built with the flags
// of its rivals.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::bench {

struct SmallCase {
  std::string impl;     // tilewright_small, loop_ijk, ...
  std::string variant;  // distinguishes entries of one impl: flags, order of the inner loops, config
  int element_bytes = 0;
  int n = 0;
  int beta = 0;
  // Multiplies problems 0 .. problem_count - 1, `passes` times over.
  void (*run)(const void* a, const void* b, void* c, std::int64_t problem_count,
              std::int64_t passes) = nullptr;
};
using SmallCases = std::vector<SmallCase>;

// Calls Body::multiply(a, b, c) on every problem of a packed batch. The barrier keeps passes and problems
// apart; within a problem the compiler is free.
template <class T, int N, class Body>
__attribute__((noinline)) void walk(const void* a_data, const void* b_data, void* c_data,
                                    std::int64_t problem_count, std::int64_t passes) {
  const auto* a = static_cast<const T*>(a_data);
  const auto* b = static_cast<const T*>(b_data);
  auto* c = static_cast<T*>(c_data);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::int64_t p = 0; p < problem_count; ++p) {
      Body::multiply(a + p * N * N, b + p * N * N, c + p * N * N);
      __asm__ volatile("" ::: "memory");
    }
  }
}

// Returns what add.operator()<n, beta>(cases) appends for each size, 2 .. 32, and beta, 0 and 1.
template <class Add>
SmallCases of_all_sizes(Add add) {
  SmallCases cases;
  [&]<int... Offset>(std::integer_sequence<int, Offset...>) {
    ((add.template operator()<2 + Offset, 0>(cases), add.template operator()<2 + Offset, 1>(cases)), ...);
  }
  (std::make_integer_sequence<int, 31>{});
  return cases;
}

SmallCases small_header_f64();
SmallCases small_header_f32();
SmallCases small_loops_f64();
SmallCases small_loops_f32();
SmallCases small_loops_f64_512();
SmallCases small_loops_f32_512();
SmallCases small_eigen_f64();
SmallCases small_eigen_f32();
// Returns the available ones of LIBXSMM and OpenBLAS for both types; only_avx2: limited to AVX2 vectors.
SmallCases small_peers(bool only_avx2);

}  // namespace tilewright::bench
