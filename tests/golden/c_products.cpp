// The C interface: single products and batches of one shape, by columns and by rows.
#include "golden/c_calls.hpp"

namespace tilewright::golden {
namespace {

struct CSingle : CCall {
  const void *at_a = a.data(), *at_b = b.data();
  void* at_c = c.data();
  tilewright_status call() {
    return tilewright_gemm(context, dtype, op_a, op_b, rows, cols, depth, alpha, at_a, lda, at_b, ldb, beta,
                           at_c, ldc, &options);
  }
};

struct CStrided : CSingle {
  std::int64_t stride_a = m * k, stride_b = k * n, stride_c = m * n, count = batch;
  tilewright_status call() {
    return tilewright_gemm_strided_batched(context, dtype, op_a, op_b, rows, cols, depth, alpha, at_a, lda,
                                           stride_a, at_b, ldb, stride_b, beta, at_c, ldc, stride_c, count,
                                           &options, info_mode, info);
  }
};

// Two parts of two parts of two problems.
struct CLevels : CSingle {
  std::int64_t all_strides_a[3] = {m * k, 2 * m* k, 4 * m* k};
  std::int64_t all_strides_b[3] = {k * n, 2 * k* n, 4 * k* n};
  std::int64_t all_strides_c[3] = {m * n, 2 * m*n, 4 * m*n}, all_counts[3] = {2, 2, 2};
  const std::int64_t *strides_a = all_strides_a, *strides_b = all_strides_b, *strides_c = all_strides_c;
  const std::int64_t* counts = all_counts;
  int level_count = 3;
  tilewright_status call() {
    return tilewright_gemm_levels_batched(context, dtype, op_a, op_b, rows, cols, depth, alpha, at_a, lda,
                                          strides_a, at_b, ldb, strides_b, beta, at_c, ldc, strides_c,
                                          level_count, counts, &options, info_mode, info);
  }
};

struct CPointers : CCall {
  const void *a_list[batch] = {a_pointers[0], a_pointers[1], a_pointers[2]},
             *b_list[batch] = {b_pointers[0], b_pointers[1], b_pointers[2]};
  void* c_list[batch] = {c_pointers[0], c_pointers[1], c_pointers[2]};
  const void *const *at_a = a_list, *const *at_b = b_list;
  void* const* at_c = c_list;
  std::int64_t count = batch;
  tilewright_status call() {
    return tilewright_gemm_pointer_batched(context, dtype, op_a, op_b, rows, cols, depth, alpha, at_a, lda,
                                           at_b, ldb, beta, at_c, ldc, count, &options, info_mode, info);
  }
};

struct CInterleaved : CSingle {
  std::int64_t block = 2, count = batch;
  tilewright_status call() {
    return tilewright_gemm_interleaved_batched(context, dtype, op_a, op_b, rows, cols, depth, alpha, at_a,
                                               lda, at_b, ldb, beta, at_c, ldc, block, count, &options,
                                               info_mode, info);
  }
};

template <class X>
Battery<X> tell_single(const char* call) {
  const Battery<X> t(call);
  spoil_c_shape(t);
  t.run("a=c", [](X& x) { x.at_a = x.at_c; });
  t.run("b=c", [](X& x) { x.at_b = x.at_c; });
  return t;
}

template <class X>
Battery<X> tell_strided(const char* call) {
  const Battery<X> t = tell_single<X>(call);
  t.numbers("stride_a", 0, AT(x.stride_a));
  t.numbers("stride_b", 0, AT(x.stride_b));
  t.numbers("stride_c", m * n, AT(x.stride_c));
  t.numbers("batch_count", 0, AT(x.count));
  spoil_c_info(t);
  tell_c_codes(t, "m=-1", [](X& x) { x.rows = -1; });
  tell_c_codes(t, "lda=1", [](X& x) { x.lda = 1; });
  tell_c_codes(t, "stride_c=0", [](X& x) { x.stride_c = 0; });
  return t;
}

template <class X>
Battery<X> tell_levels(const char* call) {
  const Battery<X> t = tell_single<X>(call);
  for (const int count : {-1, 0, 4})
    t.run("level_count=" + std::to_string(count), [count](X& x) { x.level_count = count; });
  t.null("counts", AT(x.counts));
  t.null("strides_a", AT(x.strides_a));
  t.null("strides_b", AT(x.strides_b));
  t.null("strides_c", AT(x.strides_c));
  for (const std::size_t level : {0u, 1u, 2u}) {
    const std::string index = "[" + std::to_string(level) + "]";
    t.numbers("counts" + index, 0, AT(x.all_counts[level]));
    t.numbers("strides_a" + index, 0, AT(x.all_strides_a[level]));
    t.numbers("strides_b" + index, 0, AT(x.all_strides_b[level]));
    t.numbers("strides_c" + index, (m * n) << level, AT(x.all_strides_c[level]));
  }
  return t;
}

template <class X>
Battery<X> tell_pointers(const char* call) {
  const Battery<X> t(call);
  spoil_c_shape(t);
  t.numbers("batch_count", 0, AT(x.count));
  t.run("a[1]=null", [](X& x) { x.a_list[1] = nullptr; });
  t.run("b[2]=null", [](X& x) { x.b_list[2] = nullptr; });
  t.run("c[0]=null", [](X& x) { x.c_list[0] = nullptr; });
  t.run("a[1]=c[1]", [](X& x) { x.a_list[1] = x.c_list[1]; });
  t.run("b[2]=c[2]", [](X& x) { x.b_list[2] = x.c_list[2]; });
  t.run("checked,c[2]=c[0]", [](X& x) { x.options.checked = 1, x.c_list[2] = x.c_list[0]; });
  spoil_c_info(t);
  tell_c_codes(t, "n=-1", [](X& x) { x.cols = -1; });
  tell_c_codes(t, "ldb=1", [](X& x) { x.ldb = 1; });
  tell_c_codes(t, "a[1]=null", [](X& x) { x.a_list[1] = nullptr; });
  tell_c_codes(t, "b[1]=null", [](X& x) { x.b_list[1] = nullptr; });
  return t;
}

template <class X>
Battery<X> tell_interleaved(const char* call) {
  const Battery<X> t = tell_single<X>(call);
  t.numbers("block", 1, AT(x.block));
  t.numbers("batch_count", 0, AT(x.count));
  spoil_c_info(t);
  tell_c_codes(t, "k=-1", [](X& x) { x.depth = -1; });
  return t;
}

}  // namespace

void tell_c_products() {
  spoil_options(tell_single<CSingle>("tilewright_gemm"), spoiled_c_options());
  spoil_options(tell_strided<CStrided>("tilewright_gemm_strided_batched"), spoiled_c_options());
  tell_levels<CLevels>("tilewright_gemm_levels_batched");
  spoil_options(tell_pointers<CPointers>("tilewright_gemm_pointer_batched"), spoiled_c_options());
  tell_interleaved<CInterleaved>("tilewright_gemm_interleaved_batched");
  spoil_options(tell_single<ByRows<CSingle>>("tilewright_gemm(row_major)"), spoiled_c_options());
  tell_strided<ByRows<CStrided>>("tilewright_gemm_strided_batched(row_major)");
  tell_levels<ByRows<CLevels>>("tilewright_gemm_levels_batched(row_major)");
  tell_pointers<ByRows<CPointers>>("tilewright_gemm_pointer_batched(row_major)");
  tell_interleaved<ByRows<CInterleaved>>("tilewright_gemm_interleaved_batched(row_major)");
}

}  // namespace tilewright::golden
