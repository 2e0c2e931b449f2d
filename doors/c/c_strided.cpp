// Strided batches of the C interface, of one level and of several, and chains of planned ones.
#include <array>
#include <complex>
#include <vector>

#include "c_call.hpp"
#include "core/input/checked.hpp"
#include "tilewright/chain.hpp"

namespace tilewright {
namespace {

// The arrays of tilewright_gemm_levels_batched give these names.
constexpr ArgumentNames level_names = [] {
  ArgumentNames names;
  names.a.strides = {"strides_a[0]", "strides_a[1]", "strides_a[2]"};
  names.b.strides = {"strides_b[0]", "strides_b[1]", "strides_b[2]"};
  names.c.strides = {"strides_c[0]", "strides_c[1]", "strides_c[2]"};
  names.counts = {"counts[0]", "counts[1]", "counts[2]"};
  return names;
}();
constexpr ArgumentNames level_names_by_rows = swapped(level_names);

GemmProblem to_levels(int level_count, const std::int64_t* counts, const std::int64_t* strides_a,
                      const std::int64_t* strides_b, const std::int64_t* strides_c) {
  if (level_count < 1 || level_count > int(most_batch_levels))
    refuse("level_count",
           fmt::format("level_count = {} is not between 1 and {}", level_count, most_batch_levels));
  for (const auto& [name, array] : {std::pair("counts", counts), std::pair("strides_a", strides_a),
                                    std::pair("strides_b", strides_b), std::pair("strides_c", strides_c)})
    if (array == nullptr) refuse(name, fmt::format("the array {} is null", name));
  std::array<BatchLevel, most_batch_levels> levels;
  for (std::size_t i = 0; i < std::size_t(level_count); ++i) {
    if (counts[i] < 0) refuse("counts", fmt::format("counts[{}] = {} is negative", i, counts[i]));
    levels[i] = {counts[i], strides_a[i], strides_b[i], strides_c[i]};
  }
  if (!checked_product(levels[0].count, levels[1].count, levels[2].count))
    refuse("counts",
           fmt::format("counts[0] = {} times counts[1] = {} times counts[2] = {} does not fit 64 bits",
                       levels[0].count, levels[1].count, levels[2].count));
  GemmProblem p;
  p.layout = Layout::strided;
  set_batch_levels(p, levels);
  return p;
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
      const Scalars scalars{x.alpha, x.beta, x.plan->vary};
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
    int64_t batch_count, const tilewright_options* given, tilewright_info_mode info_mode, int* info) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    refuse_negative("batch_count", batch_count);
    GemmProblem p;
    p.layout = Layout::strided;
    p.batch_count = batch_count;
    p.stride_a = stride_a, p.stride_b = stride_b, p.stride_c = stride_c;
    const CProduct x{op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
    run_c_call(ctx, to_call(dtype, x, p, options, names_of(options)), options, info_mode, info);
  });
}

tilewright_status tilewright_gemm_levels_batched(tilewright_context* context, tilewright_dtype dtype,
                                                 tilewright_op op_a, tilewright_op op_b, int64_t m, int64_t n,
                                                 int64_t k, const void* alpha, const void* a, int64_t lda,
                                                 const int64_t* strides_a, const void* b, int64_t ldb,
                                                 const int64_t* strides_b, const void* beta, void* c,
                                                 int64_t ldc, const int64_t* strides_c, int level_count,
                                                 const int64_t* counts, const tilewright_options* given,
                                                 tilewright_info_mode info_mode, int* info) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    const GemmProblem levels = to_levels(level_count, counts, strides_a, strides_b, strides_c);
    const CProduct x{op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
    const ArgumentNames& names = is_by_rows(options) ? level_names_by_rows : level_names;
    run_c_call(ctx, to_call(dtype, x, levels, options, names), options, info_mode, info);
  });
}

tilewright_status tilewright_run_chain(tilewright_context* context, int64_t count,
                                       const tilewright_chain_pass* passes, int64_t pass_count,
                                       const tilewright_chain_options* given) {
  return with_options(context, given, [&](Context&, const tilewright_chain_options* options) {
    refuse_negative("pass_count", pass_count);
    if (pass_count == 0) return;
    if (passes == nullptr) refuse("passes", "the array passes is null");
    name_entry("pass", 0, [&] {
      if (passes[0].plan == nullptr) refuse("plan", "plan is null");
    });
    ChainOptions own;
    if (options != nullptr)
      own = {options->threads, options->piece, static_cast<CUstream_st*>(options->stream)};
    dispatch(passes[0].plan->plan.problem().dtype, [&]<class T>() {
      const auto all = to_passes<T>(passes, pass_count);
      run_chain(count, std::span<const ChainPass<T>>(all), own);
    });
  });
}

}  // extern "C"
