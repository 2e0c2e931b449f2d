// The products of one stack as a call or a plan lists them, types erased: triples of offsets, triples of
// addresses, or three arrays of addresses.
#pragma once

#include <complex>
#include <vector>

#include "core/dispatch.hpp"
#include "core/problem.hpp"
#include "core/product/names.hpp"
#include "gemm/operand.hpp"

namespace tilewright {

struct SumList {
  GemmProblem problem;  // a stack of batch_count products
  const void* alpha = nullptr;
  // Of offsets: their bases. Else, without pointers: arrays of addresses.
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const StackOffsets* offsets = nullptr;
  const StackPointers<void>* pointers = nullptr;
  bool by_arrays = false;
  const ArgumentNames* names = &argument_names;

  std::int64_t count() const { return problem.batch_count; }
  // Whether there is something to multiply; else C is scaled and A and B are not read.
  bool reads_ab() const { return tilewright::reads_ab(problem); }
  bool writes() const { return problem.m > 0 && problem.n > 0 && problem.batch_count > 0; }
};

// One product of them, with another class of beta.
inline GemmProblem single_of(GemmProblem p, Scalar beta) {
  p.layout = Layout::single;
  p.sums = Sums::none;
  p.batch_count = p.run = 1;
  p.stride_a = p.stride_b = p.stride_c = 0;
  p.beta = beta;
  return p;
}

// Addresses of one product.
struct SumProduct {
  const void* a;
  const void* b;
  void* c;
};

// f(at): at(i) gives the addresses of product i, without asking each time which kind of list it is.
template <class F>
decltype(auto) with_products(const SumList& list, F&& f) {
  const auto by_offsets = [&](auto size) -> decltype(auto) {
    return f([a = static_cast<const char*>(list.a), b = static_cast<const char*>(list.b),
              c = static_cast<char*>(list.c), x = list.offsets](std::int64_t i) {
      constexpr std::int64_t bytes = decltype(size)::value;
      return SumProduct{a + x[i].a * bytes, b + x[i].b * bytes, c + x[i].c * bytes};
    });
  };
  if (list.offsets != nullptr)
    return dispatch(list.problem.dtype, [&]<class T>() -> decltype(auto) {
      return by_offsets(std::integral_constant<std::int64_t, sizeof(T)>());
    });
  if (list.pointers != nullptr)
    return f([x = list.pointers](std::int64_t i) { return SumProduct{x[i].a, x[i].b, x[i].c}; });
  return f([a = static_cast<const void* const*>(list.a), b = static_cast<const void* const*>(list.b),
            c = static_cast<void* const*>(list.c)](std::int64_t i) {
    return SumProduct{a == nullptr ? nullptr : a[i], b == nullptr ? nullptr : b[i], c[i]};
  });
}

}  // namespace tilewright
