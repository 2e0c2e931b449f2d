// Tests of the test support: a kernel with one known error must be caught by the guarded operands, the oracle
// or the register check, and a right one must pass. No kernel of the library takes part.
#include <gtest/gtest.h>

#include "support/call.hpp"
#include "support/covering.hpp"
#include "support/make_case.hpp"
#include "support/trap.hpp"

namespace tilewright::testing {
namespace {

// Computes the right product of a strided or pointer f64 batch without transposes, by plain loops.
void multiply(Batch<double>& x) {
  const GemmProblem& q = x.problem();
  for (std::int64_t p = 0; p < q.batch_count; ++p)
    for (std::int64_t j = 0; j < q.n; ++j)
      for (std::int64_t i = 0; i < q.m; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < q.k; ++l) sum += x.a().at(p, i, l) * x.b().at(p, l, j);
        double& c = x.c().at(p, i, j);
        c = x.alpha(p) * sum + (x.beta(p) == 0 ? 0 : x.beta(p) * c);
      }
}

Choices choices(Layout layout, Edge edge = Edge::end) {
  return {.layout = layout,
          .size = {5, 3, 4},
          .ld_padding = 2,
          .stride_padding = 3,
          .batch_count = 3,
          .alpha = ScalarChoice::general,
          .beta = ScalarChoice::mixed_zero,
          .edge = edge};
}

TEST(Support, RightProductPasses) {
  for (Layout layout : {Layout::strided, Layout::pointer})
    for (Data data : {Data::exact, Data::random}) {
      Choices x = choices(layout);
      x.data = data;
      Batch<double> batch(make_case(x));
      multiply(batch);
      EXPECT_EQ(batch.check(), "");
      multiply(batch);
      EXPECT_EQ(batch.check(), "") << "C was not reset";
    }
}

TEST(Support, WrongElementIsNamed) {
  for (Data data : {Data::exact, Data::random}) {
    Choices x = choices(Layout::strided);
    x.data = data;
    Batch<double> batch(make_case(x));
    multiply(batch);
    batch.c().at(1, 4, 2) += 1e-10;
    EXPECT_NE(batch.check().find("worst element (4, 2) of problem 1"), std::string::npos);
  }
}

TEST(Support, UntouchedCIsNoResult) {
  Choices x = choices(Layout::strided);
  x.beta = ScalarChoice::zero;
  Batch<double> batch(make_case(x));
  EXPECT_NE(batch.check().find("45 of 45 elements wrong"), std::string::npos);
}

TEST(Support, StrayWritesAreSeen) {
  const std::string stray = "a byte that is no element of C was written";
  for (Layout layout : {Layout::strided, Layout::pointer, Layout::interleaved}) {
    Choices x = choices(layout);
    x.beta = ScalarChoice::one;
    Batch<double> batch(make_case(x));
    batch.c().column(0, 0)[5 * batch.c().row_step()] = 0;  // the first padding row
    EXPECT_NE(batch.check().find(stray), std::string::npos) << to_string(layout);
  }
  Batch<double> at_end(make_case(choices(Layout::strided, Edge::end)));
  at_end.c().base()[-1] = 0;
  EXPECT_NE(at_end.check().find(stray), std::string::npos);
  Batch<double> at_begin(make_case(choices(Layout::strided, Edge::begin)));
  at_begin.c().column(2, 2)[5] = 0;
  EXPECT_NE(at_begin.check().find(stray), std::string::npos);
}

TEST(Support, UnusedSlotsOfABlockMayBeRewritten) {
  Choices x = choices(Layout::block_interleaved);
  x.block = 4;
  x.beta = ScalarChoice::one;
  x.alpha = ScalarChoice::zero;
  Batch<double> batch(make_case(x));
  batch.c().at(3, 0, 0) = 0;
  EXPECT_EQ(batch.check(), "");
}

TEST(Support, OneElementTooFarFaults) {
  volatile double sink = 0;
  for (Layout layout : {Layout::strided, Layout::pointer}) {
    Batch<double> end(make_case(choices(layout, Edge::end)));
    for (const auto* x : {&end.a(), &end.b(), &end.c()}) {
      const double* last = &x->at(2, x->rows() - 1, x->cols() - 1);
      EXPECT_FALSE(run_trapped("", [&] { sink = *last; }));
      const auto trap = run_trapped("", [&] { sink = last[1]; });
      ASSERT_TRUE(trap);
      EXPECT_FALSE(end.locate(trap->address).empty());
    }
    Batch<double> begin(make_case(choices(layout, Edge::begin)));
    for (const auto* x : {&begin.a(), &begin.b(), &begin.c()})
      EXPECT_TRUE(run_trapped("", [&] { sink = (&x->at(0, 0, 0))[-1]; }));
  }
}

TEST(Support, WritesToInputsAndReadsOfUnreadInputsFault) {
  Batch<double> batch(make_case(choices(Layout::strided)));
  EXPECT_TRUE(run_trapped("", [&] { batch.a().at(0, 0, 0) = 1; }));
  Choices x = choices(Layout::strided);
  x.alpha = ScalarChoice::zero;
  Batch<double> unread(make_case(x));
  volatile double sink = 0;
  EXPECT_TRUE(run_trapped("", [&] { sink = unread.b().at(0, 0, 0); }));
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
void well_behaved(const GemmSmallCpuArguments*) {}
void spoils_registers(const GemmSmallCpuArguments*) {
  // The clobbers are not declared to the compiler, on purpose: that is the error.
  asm volatile("xor %r13d, %r13d\n\tstd");
}

TEST(Support, SpoiledRegistersAreNamed) {
  EXPECT_EQ(call_checked(well_behaved, {}), "");
  EXPECT_EQ(call_checked(spoils_registers, {}), "r13, direction flag");
}
#endif

TEST(Support, DesignMeetsEveryPair) {
  const std::vector<int> levels{15, 7, 4, 2, 1, 3};
  const auto rows = covering_rows(levels);
  EXPECT_LT(rows.size(), 15u * 7u * 2u);
  for (std::size_t f = 0; f < levels.size(); ++f)
    for (std::size_t g = 0; g < f; ++g)
      for (int x = 0; x < levels[f]; ++x)
        for (int y = 0; y < levels[g]; ++y)
          EXPECT_TRUE(std::any_of(rows.begin(), rows.end(),
                                  [&](const auto& row) { return row[f] == x && row[g] == y; }));
}

}  // namespace
}  // namespace tilewright::testing
