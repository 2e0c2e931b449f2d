// Sums of products into one C in the C interface: tilewright_gemm_*_batch_reduce and tilewright_gemm_stack.
#include <vector>

#include "c_call.hpp"
#include "row_major.hpp"

namespace tilewright {
namespace {

// What the calls have in common that only products with a C of their own have more of.
void check_sum_options(const tilewright_options* options, const char* call) {
  refuse_values_per_problem(options, call);
  if (options != nullptr && options->location != TILEWRIGHT_HOST)
    throw Error(ErrorCode::unsupported, "location",
                fmt::format("location = device: {} takes operands in host memory", call));
}

// One call, whose A and B come as strided or pointer batches by make(data, rows, cols, ld, stride).
template <class Batch, class Make>
tilewright_status reduce(tilewright_context* context, const char* call, int dtype, int op_a, int op_b,
                         std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, Batch a, Batch b,
                         const void* beta, void* c, std::int64_t ldc, const tilewright_options* options,
                         Make&& make) {
  return with_context(context, [&](Context& ctx) {
    check_sum_options(options, call);
    if (is_by_rows(options)) {
      check_by_rows(op_a, op_b, m, n, k, a.ld, b.ld, ldc);
      swap_sides(op_a, op_b, m, n, a, b);
    }
    dispatch(to_dtype(dtype), [&]<class T>() {
      const CallShape s = to_shape(op_a, op_b, m, n, k);
      const auto batch_a = make.template operator()<T>(a, s.a_rows(), s.a_cols());
      const auto batch_b = make.template operator()<T>(b, s.b_rows(), s.b_cols());
      run_by_rows(options, [&] {
        gemm_batch_reduce<T>(ctx, s.op_a, s.op_b, value_of<T>("alpha", alpha), batch_a, batch_b,
                             value_of<T>("beta", beta), MatrixView<T>{static_cast<T*>(c), m, n, ldc},
                             CallOptions(options));
      });
    });
  });
}

template <class T>
GemmStack<T> to_stack(const tilewright_stack& x) {
  GemmStack<T> stack;
  stack.op_a = to_op(x.op_a), stack.op_b = to_op(x.op_b);
  stack.m = x.m, stack.n = x.n, stack.k = x.k;
  stack.alpha = value_of<T>("alpha", x.alpha);
  stack.a = static_cast<const T*>(x.a), stack.lda = x.lda;
  stack.b = static_cast<const T*>(x.b), stack.ldb = x.ldb;
  stack.c = static_cast<T*>(x.c), stack.ldc = x.ldc;
  static_assert(sizeof(StackOffsets) == sizeof(tilewright_stack_offsets) &&
                sizeof(StackPointers<T>) == sizeof(tilewright_stack_pointers));
  stack.offsets = reinterpret_cast<const StackOffsets*>(x.offsets);
  stack.pointers = reinterpret_cast<const StackPointers<T>*>(x.pointers);
  stack.count = x.count;
  return stack;
}

// A stack by rows, whose lists name A and B in turned places.
template <class T>
struct SwappedLists {
  std::vector<StackOffsets> offsets;
  std::vector<StackPointers<T>> pointers;

  void swap(GemmStack<T>& s) {
    check_by_rows(int(s.op_a), int(s.op_b), s.m, s.n, s.k, s.lda, s.ldb, s.ldc);
    swap_sides(s.op_a, s.op_b, s.m, s.n, s.a, s.b, s.lda, s.ldb);
    const auto swap_list = [&](auto& copy, auto& list) {
      if (list == nullptr || s.count <= 0) return;
      copy.assign(list, list + s.count);
      for (auto& product : copy) std::swap(product.a, product.b);
      list = copy.data();
    };
    swap_list(offsets, s.offsets);
    swap_list(pointers, s.pointers);
  }
};

}  // namespace
}  // namespace tilewright

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

extern "C" {

tilewright_status tilewright_gemm_strided_batch_reduce(tilewright_context* context, tilewright_dtype dtype,
                                                       tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                       int64_t n, int64_t k, const void* alpha, const void* a,
                                                       int64_t lda, int64_t stride_a, const void* b,
                                                       int64_t ldb, int64_t stride_b, const void* beta,
                                                       void* c, int64_t ldc, int64_t batch_count,
                                                       const tilewright_options* options) {
  struct Strided {
    const void* data;
    std::int64_t ld, stride;
  };
  return reduce(context, "tilewright_gemm_strided_batch_reduce", dtype, op_a, op_b, m, n, k, alpha,
                Strided{a, lda, stride_a}, Strided{b, ldb, stride_b}, beta, c, ldc, options,
                [&]<class T>(const Strided& x, std::int64_t rows, std::int64_t cols) {
                  return StridedBatch<const T>{
                      static_cast<const T*>(x.data), rows, cols, x.ld, x.stride, batch_count};
                });
}

tilewright_status tilewright_gemm_pointer_batch_reduce(tilewright_context* context, tilewright_dtype dtype,
                                                       tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                       int64_t n, int64_t k, const void* alpha,
                                                       const void* const* a, int64_t lda,
                                                       const void* const* b, int64_t ldb, const void* beta,
                                                       void* c, int64_t ldc, int64_t batch_count,
                                                       const tilewright_options* options) {
  struct Pointers {
    const void* const* data;
    std::int64_t ld;
  };
  return reduce(context, "tilewright_gemm_pointer_batch_reduce", dtype, op_a, op_b, m, n, k, alpha,
                Pointers{a, lda}, Pointers{b, ldb}, beta, c, ldc, options,
                [&]<class T>(const Pointers& x, std::int64_t rows, std::int64_t cols) {
                  return PointerBatch<const T>{reinterpret_cast<const T* const*>(x.data), rows, cols, x.ld,
                                               batch_count};
                });
}

tilewright_status tilewright_gemm_stack(tilewright_context* context, tilewright_dtype dtype,
                                        const tilewright_stack* stacks, int64_t stack_count, const void* beta,
                                        const tilewright_options* options) {
  return with_context(context, [&](Context& ctx) {
    check_sum_options(options, "tilewright_gemm_stack");
    if (stack_count < 0) refuse("stack_count", fmt::format("stack_count = {} is negative", stack_count));
    if (stacks == nullptr && stack_count > 0) refuse("stacks", "stacks is null");
    dispatch(to_dtype(dtype), [&]<class T>() {
      std::vector<GemmStack<T>> all;
      std::vector<SwappedLists<T>> swapped(is_by_rows(options) ? std::size_t(stack_count) : 0);
      for (std::int64_t s = 0; s < stack_count; ++s) {
        all.push_back(to_stack<T>(stacks[s]));
        if (!swapped.empty()) swapped[std::size_t(s)].swap(all.back());
      }
      const std::span<const GemmStack<T>> span = all;
      run_by_rows(options,
                  [&] { gemm_stack<T>(ctx, span, value_of<T>("beta", beta), CallOptions(options)); });
    });
  });
}

}  // extern "C"
