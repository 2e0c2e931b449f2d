// Strided batches of the C interface, of one level and of several, and chains of planned ones.
#include <array>
#include <complex>
#include <vector>

#include "c_call.hpp"
#include "core/problem.hpp"
#include "row_major.hpp"
#include "tilewright/chain.hpp"

namespace tilewright {
namespace {

// One operand: its strides from the innermost level on.
struct CStrides {
  std::array<std::int64_t, most_batch_levels> at{};
};
// Parts of each level, and the strides of A, B and C.
struct CLevels {
  std::array<std::int64_t, most_batch_levels> counts{1, 1, 1};
  CStrides a, b, c;
};

CLevels to_levels(int level_count, const std::int64_t* counts, const std::int64_t* strides_a,
                  const std::int64_t* strides_b, const std::int64_t* strides_c) {
  if (level_count < 1 || level_count > int(most_batch_levels))
    refuse("level_count", fmt::format("level_count = {} is none of 1 to {}", level_count, most_batch_levels));
  for (const auto& [name, array] : {std::pair("counts", counts), std::pair("strides_a", strides_a),
                                    std::pair("strides_b", strides_b), std::pair("strides_c", strides_c)})
    if (array == nullptr) refuse(name, fmt::format("the array {} is null", name));
  CLevels levels;
  for (std::size_t i = 0; i < std::size_t(level_count); ++i) {
    levels.counts[i] = counts[i];
    levels.a.at[i] = strides_a[i], levels.b.at[i] = strides_b[i], levels.c.at[i] = strides_c[i];
  }
  return levels;
}

template <class T, Location L>
StridedBatch<T, L> view_of(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                           const CLevels& levels, const CStrides& strides) {
  return {data,
          rows,
          cols,
          ld,
          strides.at[0],
          levels.counts[0],
          levels.counts[1],
          strides.at[1],
          levels.counts[2],
          strides.at[2]};
}

struct StridedCall {
  int op_a, op_b;
  std::int64_t m, n, k;
  const void *alpha, *a;
  std::int64_t lda;
  const void* b;
  std::int64_t ldb;
  const void* beta;
  void* c;
  std::int64_t ldc;
};

void run_strided(Context& context, int dtype, StridedCall x, CLevels levels,
                 const tilewright_options* options, int info_mode, int* info) {
  if (begin_by_rows(options, info_mode, info, x.op_a, x.op_b, x.m, x.n, x.k, x.lda, x.ldb, x.ldc))
    swap_sides(x.op_a, x.op_b, x.m, x.n, x.a, x.b, x.lda, x.ldb, levels.a, levels.b);
  dispatch_at(dtype, options, [&]<class T, Location L>() {
    const CallShape s = to_shape(x.op_a, x.op_b, x.m, x.n, x.k);
    const auto a =
        view_of<const T, L>(static_cast<const T*>(x.a), s.a_rows(), s.a_cols(), x.lda, levels, levels.a);
    const auto b =
        view_of<const T, L>(static_cast<const T*>(x.b), s.b_rows(), s.b_cols(), x.ldb, levels, levels.b);
    const auto c = view_of<T, L>(static_cast<T*>(x.c), x.m, x.n, x.ldc, levels, levels.c);
    const Scalars scalars = scalars_of(x.alpha, x.beta, options);
    run_by_rows(options, [&] {
      gemm_batched<T>(context, s.op_a, s.op_b, scalars.alpha_of<T, L>(), a, b, scalars.beta_of<T, L>(), c,
                      CallOptions(options), to_info(info_mode, info));
    });
  });
  end_by_rows(options, info_mode, info, levels.counts[0] * levels.counts[1] * levels.counts[2], 1);
}

// f() of a batch whose levels came in arrays: errors name their entries, and not the fields of a view.
template <class F>
void name_levels(F&& f) {
  constexpr std::pair<const char*, const char*> names[] = {{"outermost_count", "counts[2]"},
                                                           {"outer_count", "counts[1]"},
                                                           {"outermost_stride", "a stride of level 2"},
                                                           {"outer_stride", "a stride of level 1"},
                                                           {"outermost_a", "strides_a[2]"},
                                                           {"outermost_b", "strides_b[2]"},
                                                           {"outermost_c", "strides_c[2]"},
                                                           {"outer_a", "strides_a[1]"},
                                                           {"outer_b", "strides_b[1]"},
                                                           {"outer_c", "strides_c[1]"},
                                                           {"stride_a", "strides_a[0]"},
                                                           {"stride_b", "strides_b[0]"},
                                                           {"stride_c", "strides_c[0]"}};
  try {
    f();
  } catch (const Error& error) {
    std::string message = error.what(), argument = error.argument();
    for (const auto& [field, entry] : names) {
      if (argument == field) argument = entry;
      for (std::size_t at = 0; (at = message.find(field, at)) != std::string::npos; at += 1) {
        const bool whole = at == 0 || message[at - 1] == ' ';
        if (whole) message.replace(at, std::string_view(field).size(), entry);
      }
    }
    throw Error(error.code(), argument, message, error.problem_index());
  }
}

template <class T>
std::vector<ChainPass<T>> to_passes(const tilewright_chain_pass* passes, std::int64_t count) {
  std::vector<ChainPass<T>> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const tilewright_chain_pass& x = passes[i];
    const auto operand = [&]<class U>(U* data, int scratch) {
      return scratch == 0 ? ChainOperand<U>(data) : ChainOperand<U>(ChainScratch{scratch});
    };
    name_entry("pass", i, [&] {
      if (x.plan == nullptr) refuse("plan", "plan is null");
      const Scalars scalars{x.alpha, x.beta, x.plan->alpha_varies, x.plan->beta_varies};
      all.push_back({&x.plan->plan, scalars.alpha_of<T, Location::host>(),
                     operand(static_cast<const T*>(x.a), x.scratch_a),
                     operand(static_cast<const T*>(x.b), x.scratch_b), scalars.beta_of<T, Location::host>(),
                     operand(static_cast<T*>(x.c), x.scratch_c)});
    });
  }
  return all;
}

}  // namespace
}  // namespace tilewright

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

extern "C" {

tilewright_status tilewright_gemm_strided_batched(
    tilewright_context* context, tilewright_dtype dtype, tilewright_op op_a, tilewright_op op_b, int64_t m,
    int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda, int64_t stride_a, const void* b,
    int64_t ldb, int64_t stride_b, const void* beta, void* c, int64_t ldc, int64_t stride_c,
    int64_t batch_count, const tilewright_options* options, tilewright_info_mode info_mode, int* info) {
  return with_context(context, [&](Context& ctx) {
    refuse_negative("batch_count", batch_count);
    run_strided(ctx, dtype, {op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
                to_levels(1, &batch_count, &stride_a, &stride_b, &stride_c), options, info_mode, info);
  });
}

tilewright_status tilewright_gemm_levels_batched(tilewright_context* context, tilewright_dtype dtype,
                                                 tilewright_op op_a, tilewright_op op_b, int64_t m, int64_t n,
                                                 int64_t k, const void* alpha, const void* a, int64_t lda,
                                                 const int64_t* strides_a, const void* b, int64_t ldb,
                                                 const int64_t* strides_b, const void* beta, void* c,
                                                 int64_t ldc, const int64_t* strides_c, int level_count,
                                                 const int64_t* counts, const tilewright_options* options,
                                                 tilewright_info_mode info_mode, int* info) {
  return with_context(context, [&](Context& ctx) {
    const CLevels levels = to_levels(level_count, counts, strides_a, strides_b, strides_c);
    for (int i = 0; i < level_count; ++i)
      if (counts[i] < 0) refuse("counts", fmt::format("counts[{}] = {} is negative", i, counts[i]));
    name_levels([&] {
      run_strided(ctx, dtype, {op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, levels, options,
                  info_mode, info);
    });
  });
}

tilewright_status tilewright_run_chain(tilewright_context* context, int64_t count,
                                       const tilewright_chain_pass* passes, int64_t pass_count,
                                       const tilewright_chain_options* options) {
  return with_context(context, [&](Context&) {
    refuse_negative("pass_count", pass_count);
    if (pass_count == 0) return;
    if (passes == nullptr) refuse("passes", "the array passes is null");
    name_entry("pass", 0, [&] {
      if (passes[0].plan == nullptr) refuse("plan", "plan is null");
    });
    ChainOptions own;
    if (options != nullptr) own = {options->threads, options->piece, options->stream};
    dispatch(passes[0].plan->plan.problem().dtype, [&]<class T>() {
      const auto all = to_passes<T>(passes, pass_count);
      run_chain(count, std::span<const ChainPass<T>>(all), own);
    });
  });
}

}  // extern "C"
