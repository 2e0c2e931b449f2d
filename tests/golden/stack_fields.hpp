// The fields of a stack, for tests to spoil one by one: a GemmStack is made of them when it is needed.
#pragma once

#include <span>
#include <vector>

#include "tilewright/gemm.hpp"

namespace tilewright::testing {

template <class T, Location L = Location::host>
struct StackFields {
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::int64_t m = 0, n = 0, k = 0;
  T alpha = T(1);
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  T* c = nullptr;
  std::int64_t ldc = 0;
  const StackOffsets* offsets = nullptr;
  const StackPointers<T>* pointers = nullptr;  // null: offsets
  std::int64_t count = 0;

  operator GemmStack<T, L>() const {
    const bool a_as_is = op_a == Op::none, b_as_is = op_b == Op::none;
    const MatrixView<const T, L> view_a{a, a_as_is ? m : k, a_as_is ? k : m, lda};
    const MatrixView<const T, L> view_b{b, b_as_is ? k : n, b_as_is ? n : k, ldb};
    const MatrixView<T, L> view_c{c, m, n, ldc};
    if (pointers == nullptr)
      return {op_a, op_b, alpha, view_a, view_b, view_c, std::span(offsets, static_cast<std::size_t>(count))};
    return {op_a, op_b, alpha, view_a, view_b, view_c, std::span(pointers, static_cast<std::size_t>(count))};
  }
};

template <class T, Location L>
std::vector<GemmStack<T, L>> made(std::span<const StackFields<T, L>> stacks) {
  return {stacks.begin(), stacks.end()};
}

}  // namespace tilewright::testing
