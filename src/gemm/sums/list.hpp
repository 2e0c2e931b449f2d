// The products of one stack as a call or a plan lists them, types erased, and their checks. A list holds
// triples of offsets, triples of addresses, or three arrays of addresses.
#pragma once

#include <array>

#include "core/dispatch.hpp"
#include "core/problem.hpp"
#include "core/product/faults.hpp"
#include "gemm/operand.hpp"
#include "tilewright/batch_reduce.hpp"

namespace tilewright {

struct SumList {
  GemmProblem problem;  // a stack of batch_count products
  const void* alpha = nullptr;
  // The bases of offsets, or without offsets and pointers arrays of addresses.
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const StackOffsets* offsets = nullptr;
  const StackPointers<void>* pointers = nullptr;
  bool by_arrays = false;
  const ArgumentNames* names = &argument_names;

  std::int64_t count() const { return problem.batch_count; }
  // False if C is only scaled.
  bool reads_ab() const { return tilewright::reads_ab(problem); }
  bool writes() const { return problem.m > 0 && problem.n > 0 && problem.batch_count > 0; }
};

// Returns one product of the stack, with another class of beta.
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
  const void *a, *b;
  void* c;
};

// Calls f(at), where at(i) returns the addresses of product i of this kind of list.
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

// The fault of a list's description, of its arrays or of one of its products (`index`, else -1).
struct SumFault {
  Fault fault;
  std::int64_t index = -1;
};
// Facts about a list that the checks find out too.
struct SumExtent {
  bool ascends = false;           // each C begins at or behind the one before
  std::array<double, 3> bytes{};  // from the first begin of an A, B, C to the last
};
std::optional<SumFault> find_sum_fault(const SumList& list, SumExtent& extent);
// The same for the description alone; no offset or address is read.
std::optional<Fault> find_list_fault(const GemmProblem& problem, const ArgumentNames& names);

// Throws Error(invalid_argument) with a list's fault, naming the product and, of several stacks, the stack.
[[noreturn]] void refuse_list(std::size_t list_count, std::size_t list, const SumFault& fault);

}  // namespace tilewright
