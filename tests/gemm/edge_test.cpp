// The public functions on a covering design of calls: every layout, op pair and type meets every edge length,
// every way of giving alpha and beta, padding, broadcast and count, on every instruction set this machine
// has. Messages of bad arguments: tests/golden.
#include <gtest/gtest.h>
#include <omp.h>

#include "core/dispatch.hpp"
#include "support/call.hpp"
#include "support/covering.hpp"
#include "support/failures.hpp"
#include "support/isas.hpp"

namespace tilewright::testing {
namespace {

Context make_context(Isa isa) { return Context({.cpu = to_string(isa), .use_wisdom = false}); }

// Factors of the design, in the order of its columns. Small lengths may come in large counts; long ones in
// few.
std::vector<Call> design(DType dtype, const std::vector<std::int64_t>& lengths, std::int64_t work_limit) {
  constexpr std::array paddings{0, 1, 7};
  constexpr std::array broadcasts{0, 0, 1, 2, 3, 4};  // bit 0: A, bit 1: B, bit 2: row bands instead
  const auto n = [](const auto& levels) { return static_cast<int>(levels.size()); };
  const std::vector<int> level_counts{n(cases::layouts) * 9,
                                      n(lengths),
                                      n(lengths),
                                      n(lengths),
                                      n(scalar_choices),
                                      n(scalar_choices),
                                      n(paddings),
                                      n(paddings),
                                      n(broadcasts),
                                      n(cases::block_sizes),
                                      n(cases::batch_counts),
                                      2,
                                      2,
                                      3};
  std::vector<Call> calls;
  for (const auto& row : covering_rows(level_counts)) {
    const auto level = [&](std::size_t factor) { return static_cast<std::size_t>(row[factor]); };
    Choices x;
    x.dtype = dtype;
    x.layout = cases::layouts[level(0) / 9];
    x.op_a = cases::ops[level(0) % 9 / 3];
    x.op_b = cases::ops[level(0) % 3];
    x.size = {lengths[level(1)], lengths[level(2)], lengths[level(3)]};
    x.alpha = scalar_choices[level(4)];
    x.beta = scalar_choices[level(5)];
    x.ld_padding = paddings[level(6)];
    x.stride_padding = paddings[level(7)];
    x.broadcast_a = (broadcasts[level(8)] & 1) != 0;
    x.broadcast_b = (broadcasts[level(8)] & 2) != 0;
    x.row_bands = (broadcasts[level(8)] & 4) != 0;
    x.block = cases::block_sizes[level(9)];
    x.batch_count = cases::batch_counts[level(10)];
    if (x.size.m * x.size.n * x.size.k * x.batch_count > work_limit) x.batch_count = 1 + x.batch_count % 2;
    x.data = level(11) == 0 ? Data::exact : Data::random;
    x.edge = level(12) == 0 ? Edge::end : Edge::begin;
    x.seed = calls.size() + 1;
    Call call = make_call(x);
    call.options.threads = static_cast<int>(level(13));
    call.through_plan = level(13) == 2 && x.layout != Layout::grouped && x.layout != Layout::variable;
    call.prepared = level(13) == 1;
    if (call.prepared) call.options.residency = Residency::l2;
    calls.push_back(std::move(call));
  }
  return calls;
}

void check_design(Context& context, const std::vector<Call>& calls) {
  Failures failures;
  for (const Call& call : calls) {
    if (failures.too_many()) break;
    failures.note(to_string(call), run_and_check(context, call));
  }
  ::testing::Test::RecordProperty("cases", static_cast<int>(failures.case_count()));
}

using IsaAndType = std::tuple<Isa, DType>;
std::string isa_and_type_name(const ::testing::TestParamInfo<IsaAndType>& info) {
  return to_string(std::get<0>(info.param)) + "_" + to_string(std::get<1>(info.param));
}

class EdgeDesign : public ::testing::TestWithParam<IsaAndType> {};

TEST_P(EdgeDesign, SmallLengths) {
  const auto [isa, dtype] = GetParam();
  Context context = make_context(isa);
  check_design(context, design(dtype, {cases::edge_lengths.begin(), cases::edge_lengths.end()}, 200000));
}
INSTANTIATE_TEST_SUITE_P(Isas, EdgeDesign,
                         ::testing::Combine(::testing::ValuesIn(runnable_isas()),
                                            ::testing::ValuesIn(cases::dtypes)),
                         isa_and_type_name);

class LargeDesign : public ::testing::TestWithParam<DType> {};

// Beyond the small kernels: large lengths, alone and beside small ones.
TEST_P(LargeDesign, LargeLengths) {
  Context context;
  std::vector<std::int64_t> lengths{0, 1, 8, 64};
  lengths.insert(lengths.end(), cases::large_lengths.begin(), cases::large_lengths.end());
  check_design(context, design(GetParam(), lengths, 0));
}
INSTANTIATE_TEST_SUITE_P(Types, LargeDesign, ::testing::ValuesIn(cases::dtypes),
                         [](const auto& info) { return to_string(info.param); });

class Threads : public ::testing::TestWithParam<Isa> {};

constexpr std::array threaded_layouts{Layout::strided, Layout::pointer, Layout::interleaved,
                                      Layout::block_interleaved};

// A strided, pointer or interleaved call with random data, whose result is compared bit by bit.
Choices threaded(Layout layout, cases::Size size, std::int64_t batch_count) {
  return {.layout = layout,
          .size = size,
          .block = 8,
          .batch_count = batch_count,
          .alpha = ScalarChoice::per_problem,
          .beta = ScalarChoice::general,
          .data = Data::random};
}

template <class T>
void run_plan(Context& context, const Batch<T>& x, int threads) {
  const GemmPlan made = plan(context, x.problem(), {.threads = threads});
  const BatchScalar<T> alpha(x.alphas()), beta(x.beta(0));
  if (x.problem().layout == Layout::pointer)
    made.run<T>(alpha, x.a().pointers(), x.b().pointers(), beta, x.c().pointers());
  else
    made.run<T>(alpha, x.a().base(), x.b().base(), beta, x.c().base());
}

TEST_P(Threads, SameBitsForAnyNumber) {
  Context context = make_context(GetParam());
  for (Layout layout : threaded_layouts)
    for (const cases::Size& size : {cases::square(3), cases::square(8), cases::Size{5, 13, 23}})
      for (std::int64_t count : {2, 7, 65, 1001}) {
        Batch<double> batch(make_case(threaded(layout, size, count)));
        run_plan(context, batch, 1);
        const auto once = batch.snapshot();
        EXPECT_EQ(batch.check(), "");
        for (int threads : {2, 3, 0}) {
          run_plan(context, batch, threads);
          EXPECT_EQ(batch.snapshot(), once) << to_string(layout) << " m " << size.m << " batch " << count
                                            << " on " << threads << " threads";
          EXPECT_EQ(batch.check(), "");
        }
      }
}

// Each thread of the caller's region has its own batch; the Context and its kernels are shared from the first
// call on.
TEST_P(Threads, InsideTheCallersRegion) {
  Context context = make_context(GetParam());
  std::vector<Batch<double>> batches;
  for (Layout layout : threaded_layouts)
    for (std::int64_t n = 2; n < 12; ++n)
      batches.emplace_back(make_case(threaded(layout, cases::square(n), 33)));
  std::vector<std::string> wrong(batches.size());
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel for num_threads(4) schedule(dynamic, 1)
    for (std::size_t i = 0; i < batches.size(); ++i) {
      run_plan(context, batches[i], 2);
      wrong[i] = batches[i].check();
    }
    for (std::size_t i = 0; i < batches.size(); ++i)
      EXPECT_EQ(wrong[i], "") << to_string(batches[i].problem());
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Threads, ::testing::ValuesIn(runnable_isas()),
                         isa_name<::testing::TestParamInfo<Isa>>);

}  // namespace
}  // namespace tilewright::testing
