// Bad arguments of the public functions: each gives one Error that names the argument, its value and the
// problem, and leaves C as it was; with an info array the bad problems are reported and skipped and the
// others computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "golden/stack_fields.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {
namespace {

using testing::made;
using testing::StackFields;

constexpr int count = 3;
constexpr std::int64_t m = 3, n = 2, k = 4;

// Three packed problems whose product is k everywhere, and views that the tests spoil.
struct Sample {
  std::vector<double> a = std::vector<double>(m * k * count, 1.0);
  std::vector<double> b = std::vector<double>(k * n * count, 1.0);
  std::vector<double> c = std::vector<double>(m * n * count, -7.0);

  const double* a_pointers[count] = {&a[0], &a[m * k], &a[2 * m * k]};
  const double* b_pointers[count] = {&b[0], &b[k * n], &b[2 * k * n]};
  double* c_pointers[count] = {&c[0], &c[m * n], &c[2 * m * n]};

  bool c_untouched() const {
    return std::all_of(c.begin(), c.end(), [](double x) { return x == -7.0; });
  }
  // True if problem p was computed, false if it was left alone.
  bool computed(int p) const { return all(p, double(k)); }
  bool skipped(int p) const { return all(p, -7.0); }

 private:
  bool all(int p, double value) const {
    return std::all_of(c.begin() + p * m * n, c.begin() + (p + 1) * m * n,
                       [=](double x) { return x == value; });
  }
};

struct Expectation {
  const char* argument;
  const char* value;  // must occur in the message
  std::int64_t problem_index = -1;
};

void expect_refused(const Sample& x, const Expectation& expected, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "bad " << expected.argument << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    EXPECT_EQ(error.argument(), expected.argument) << error.what();
    EXPECT_NE(std::string(error.what()).find(expected.value), std::string::npos) << error.what();
    EXPECT_EQ(error.problem_index(), expected.problem_index) << error.what();
  }
  EXPECT_TRUE(x.c_untouched()) << "C was written although " << expected.argument << " is bad";
}

class BadArgument : public ::testing::Test {
 protected:
  // Each spoils the three views of a good call.
  using Strided =
      std::function<void(StridedBatch<const double>&, StridedBatch<const double>&, StridedBatch<double>&)>;
  void refuse_strided(const Expectation& expected, const Strided& spoil) {
    Sample x;
    StridedBatch<const double> a{{x.a.data(), m, k, m}, m * k, count}, b{{x.b.data(), k, n, k}, k * n, count};
    StridedBatch<double> c{{x.c.data(), m, n, m}, m * n, count};
    spoil(a, b, c);
    expect_refused(x, expected,
                   [&] { gemm_batched<double>(context_, Op::none, Op::none, 1.0, a, b, 0.0, c); });
  }

  using Pointer = std::function<void(Sample&, PointerBatch<const double>&, PointerBatch<double>&)>;
  void refuse_pointer(const Expectation& expected, const GemmOptions& options, const Pointer& spoil) {
    Sample x;
    PointerBatch<const double> a{x.a_pointers, m, k, m, count};
    PointerBatch<double> c{x.c_pointers, m, n, m, count};
    spoil(x, a, c);
    expect_refused(x, expected, [&] {
      gemm_batched<double>(context_, Op::none, Op::none, 1.0, a,
                           PointerBatch<const double>{x.b_pointers, k, n, k, count}, 0.0, c, options);
    });
  }

  Context context_;
};

TEST_F(BadArgument, NegativeSizes) {
  refuse_strided({"m", "-3"}, [](auto& a, auto&, auto& c) { a.rows = c.rows = -3; });
  refuse_strided({"n", "-1"}, [](auto&, auto& b, auto& c) { b.cols = c.cols = -1; });
  refuse_strided({"k", "-4"}, [](auto& a, auto& b, auto&) { a.cols = b.rows = -4; });
  refuse_strided({"count", "-2"}, [](auto& a, auto& b, auto& c) { a.count = b.count = c.count = -2; });
  refuse_strided({"outer_count", "-2"},
                 [](auto& a, auto& b, auto& c) { a.outer_count = b.outer_count = c.outer_count = -2; });
  refuse_strided({"outermost_count", "-3"}, [](auto& a, auto& b, auto& c) {
    a.outermost_count = b.outermost_count = c.outermost_count = -3;
  });
}

TEST_F(BadArgument, LeadingDimensions) {
  refuse_strided({"lda", "2"}, [](auto& a, auto&, auto&) { a.ld = 2; });
  refuse_strided({"ldb", "-9"}, [](auto&, auto& b, auto&) { b.ld = -9; });
  refuse_strided({"ldc", "0"}, [](auto&, auto&, auto& c) { c.ld = 0; });
}

// The argument that makes an operand too long for an address space is named, and nothing is read to find it.
TEST_F(BadArgument, SpansBeyondTheAddressSpace) {
  constexpr std::int64_t far = std::int64_t(1) << 60, most = std::numeric_limits<std::int64_t>::max();
  refuse_strided({"lda", "1152921504606846976 makes A span"}, [](auto& a, auto&, auto&) { a.ld = far; });
  refuse_strided({"stride_b", "1152921504606846976 makes B span"},
                 [](auto&, auto& b, auto&) { b.stride = far; });
  Sample x;
  const auto pointers = [&] {
    gemm_batched<double>(context_, Op::none, Op::none, 1.0,
                         PointerBatch<const double>{x.a_pointers, m, k, m, most},
                         PointerBatch<const double>{x.b_pointers, k, n, k, most}, 0.0,
                         PointerBatch<double>{x.c_pointers, m, n, m, most});
  };
  expect_refused(x, {"count", "9223372036854775807 pointers"}, pointers);
}

TEST_F(BadArgument, CountsOfStacksAndSums) {
  Sample x;
  const StackOffsets offsets[] = {{0, 0, 0}, {0, 0, 0}};
  StackFields<double> stack{.m = m,
                            .n = n,
                            .k = k,
                            .alpha = 1.0,
                            .a = x.a.data(),
                            .lda = m,
                            .b = x.b.data(),
                            .ldb = k,
                            .c = x.c.data(),
                            .ldc = m,
                            .offsets = offsets,
                            .count = -3};
  const auto run = [&](std::span<const StackFields<double>> all) {
    gemm_stack<double>(context_, made(all), 1.0);
  };
  const auto call = [&] { run(std::span(&stack, 1)); };
  expect_refused(x, {"count", "count = -3 is negative"}, call);
  stack.count = std::numeric_limits<std::int64_t>::max();
  expect_refused(x, {"count", "9223372036854775807 products"}, call);
  expect_refused(x, {"count", "count = -1 is negative"}, [&] {
    gemm_batch_reduce<double>(context_, Op::none, Op::none, 1.0,
                              StridedBatch<const double>{{x.a.data(), m, k, m}, m * k, -1},
                              StridedBatch<const double>{{x.b.data(), k, n, k}, k * n, -1}, 1.0,
                              MatrixView<double>{x.c.data(), m, n, m});
  });
  // The first product of the list at fault.
  stack.count = 2;
  std::array stacks{stack, stack};
  const StackOffsets others[] = {{0, 0, m * n}, {0, 0, 0}};
  stacks[1].offsets = others;
  stacks[1].n = n - 1;
  expect_refused(x, {"c", "stack 1: product 1 has a C of 3 x 1", 1}, [&] { run(stacks); });
}

TEST_F(BadArgument, OptionsAndInfoOfNoValue) {
  Sample x;
  const auto with = [&](const GemmOptions& options, BatchInfo info) {
    return [&x, this, options, info] {
      gemm_batched<double>(context_, Op::none, Op::none, 1.0,
                           StridedBatch<const double>{{x.a.data(), m, k, m}, m * k, count},
                           StridedBatch<const double>{{x.b.data(), k, n, k}, k * n, count}, 0.0,
                           StridedBatch<double>{{x.c.data(), m, n, m}, m * n, count}, options, info);
    };
  };
  int code = 0;
  expect_refused(x, {"align_bytes", "align_bytes = 3 is not a power of two"}, with({.align_bytes = 3}, {}));
  expect_refused(x, {"device", "device = -1"}, with({.queue = {.device = -1}}, {}));
  expect_refused(x, {"residency", "residency = 8"}, with({.residency = static_cast<Residency>(8)}, {}));
  expect_refused(x, {"align_bytes", "-16"}, with({.align_bytes = -16}, {}));
  expect_refused(x, {"info", "info = 9 is not one of none (0), all (1), group (2), any (3)"},
                 with({}, {static_cast<InfoMode>(9), &code}));
  expect_refused(x, {"config", "'nonsense' is not a field"}, with({.config = R"({"nonsense": 1})"}, {}));
  expect_refused(x, {"config", "nr = \"two\""}, with({.config = R"({"nr": "two"})"}, {}));
}

TEST_F(BadArgument, ShapesThatDoNotFit) {
  refuse_strided({"a", "5"}, [](auto& a, auto&, auto&) { a.rows = 5, a.ld = 5; });
  refuse_strided({"b", "1"}, [](auto&, auto& b, auto&) { b.cols = 1; });
  refuse_strided({"count", "2"}, [](auto& a, auto&, auto&) { a.count = 2; });
}

TEST_F(BadArgument, StridesAndOverlappingC) {
  refuse_strided({"stride_c", "5"}, [](auto&, auto&, auto& c) { c.stride = 5; });
  refuse_strided({"stride_c", "0"}, [](auto&, auto&, auto& c) { c.stride = 0; });
  refuse_strided({"stride_a", "-1"}, [](auto& a, auto&, auto&) { a.stride = -1; });
  refuse_strided({"stride_b", "-8"}, [](auto&, auto& b, auto&) { b.stride = -8; });
}

TEST_F(BadArgument, NullPointers) {
  refuse_strided({"a", "null"}, [](auto& a, auto&, auto&) { a.data = nullptr; });
  refuse_strided({"b", "null"}, [](auto&, auto& b, auto&) { b.data = nullptr; });
  refuse_strided({"c", "null"}, [](auto&, auto&, auto& c) { c.data = nullptr; });
  refuse_pointer({"a", "null", 1}, {}, [](auto& x, auto&, auto&) { x.a_pointers[1] = nullptr; });
  refuse_pointer({"b", "null", 2}, {}, [](auto& x, auto&, auto&) { x.b_pointers[2] = nullptr; });
  refuse_pointer({"c", "null", 0}, {}, [](auto& x, auto&, auto&) { x.c_pointers[0] = nullptr; });
}

TEST_F(BadArgument, ProductsInPlace) {
  refuse_strided({"c", "c has the address of a:"}, [](auto& a, auto&, auto& c) { a.data = c.data; });
  refuse_strided({"c", "c has the address of b:"}, [](auto&, auto& b, auto& c) { b.data = c.data; });
  refuse_pointer({"c", "share", 1}, {}, [](auto& x, auto&, auto&) { x.a_pointers[1] = x.c_pointers[1]; });
  refuse_pointer({"c", "share", 2}, {}, [](auto& x, auto&, auto&) { x.b_pointers[2] = x.c_pointers[2]; });
  Sample x;
  GemmItem<double> item{Op::none, Op::none, m, n, k, 1.0, x.a.data(), m, x.c.data(), k, 0.0, x.c.data(), m};
  expect_refused(x, {"c", "share", 0}, [&] { gemm_variable<double>(context_, std::span(&item, 1)); });
  // If A and B are not read, their addresses mean nothing.
  const MatrixView<double> c{x.c.data(), m, m, m};
  gemm<double>(context_, Op::none, Op::none, 0.0, c, c, 1.0, c);
  EXPECT_TRUE(x.c_untouched());
}

TEST_F(BadArgument, OverlappingPointersInCheckedMode) {
  refuse_pointer({"c", "overlap", 2}, {.checked = true},
                 [](auto& x, auto&, auto&) { x.c_pointers[2] = x.c_pointers[0]; });
  refuse_pointer({"c", "overlap", 1}, {.checked = true},
                 [](auto& x, auto&, auto&) { x.c_pointers[1] = &x.c[m * n - 1]; });
}

TEST_F(BadArgument, Blocks) {
  Sample x;
  const auto call = [&](std::int64_t a_block, std::int64_t c_block) {
    gemm_batched<double>(context_, Op::none, Op::none, 1.0,
                         InterleavedBatch<const double>{x.a.data(), m, k, m, a_block, count},
                         InterleavedBatch<const double>{x.b.data(), k, n, k, c_block, count}, 0.0,
                         InterleavedBatch<double>{x.c.data(), m, n, m, c_block, count});
  };
  expect_refused(x, {"block", "0"}, [&] { call(0, 0); });
  expect_refused(x, {"block", "-4"}, [&] { call(-4, -4); });
  expect_refused(x, {"block", "1"}, [&] { call(1, 3); });
}

TEST_F(BadArgument, GroupsAndItems) {
  Sample x;
  GemmGroup<double> good{.m = m,
                         .n = n,
                         .k = k,
                         .a = x.a_pointers,
                         .lda = m,
                         .b = x.b_pointers,
                         .ldb = k,
                         .c = x.c_pointers,
                         .ldc = m,
                         .count = 2};
  GemmGroup<double> bad = good;
  bad.c = x.c_pointers + 2;
  bad.count = 1;
  bad.ldb = 3;
  const std::array groups{good, bad};
  expect_refused(x, {"ldb", "3", 2}, [&] { gemm_grouped<double>(context_, groups); });
  std::array<GemmItem<double>, 2> items{};
  for (std::size_t p = 0; p < items.size(); ++p)
    items[p] = {Op::none, Op::none,        m, n, k, 1.0, x.a_pointers[p], m, x.b_pointers[p], k,
                0.0,      x.c_pointers[p], m};
  items[1].k = -5;
  expect_refused(x, {"k", "problem 1: k = -5", 1}, [&] { gemm_variable<double>(context_, items); });
}

TEST_F(BadArgument, PlansOfBadProblems) {
  GemmProblem q;
  q.m = q.n = q.k = 4;
  q.lda = q.ldb = 4;
  q.ldc = 3;
  EXPECT_THROW(plan(context_, q), Error);
  q.ldc = 4;
  const GemmPlan good = plan(context_, q);
  const double* none = nullptr;
  double out[16];
  EXPECT_THROW(good.run<double>(1.0, none, out, 0.0, out), Error);
  EXPECT_THROW(plan(context_, q, {.candidate = "no_such_candidate"}), Error);
  EXPECT_THROW(plan(context_, q, {.config = R"({"no_such_field": 1})"}), Error);
  EXPECT_THROW(plan(context_, q, {.config = "{"}), Error);
  EXPECT_THROW(plan(context_, q, {.target = Target::gpu}), Error);
  EXPECT_THROW(Context({.cpu = "z80"}), Error);
}

class Info : public BadArgument {
 protected:
  // Problem 1 has a bad A, problem 2 is good, problem 0 a bad leading dimension of C.
  std::array<GemmItem<double>, 3> items(const Sample& x) const {
    std::array<GemmItem<double>, 3> all{};
    for (std::size_t p = 0; p < all.size(); ++p)
      all[p] = {Op::none, Op::none,        m, n, k, 1.0, x.a_pointers[p], m, x.b_pointers[p], k,
                0.0,      x.c_pointers[p], m};
    all[0].ldc = 2;
    all[1].a = nullptr;
    return all;
  }
};

TEST_F(Info, AllTellsEachProblem) {
  Sample x;
  std::array<int, 3> codes{99, 99, 99};
  gemm_variable<double>(context_, items(x), {}, {InfoMode::all, codes.data()});
  EXPECT_EQ(codes, (std::array{-13, -7, 0}));
  EXPECT_TRUE(x.skipped(0) && x.skipped(1) && x.computed(2));
}

TEST_F(Info, AnyTellsThatSomethingIsBad) {
  Sample x;
  std::array<int, 2> codes{99, 99};
  gemm_variable<double>(context_, items(x), {}, {InfoMode::any, codes.data()});
  EXPECT_LT(codes[0], 0);
  EXPECT_EQ(codes[1], 99);
  EXPECT_TRUE(x.skipped(0) && x.skipped(1) && x.computed(2));
  auto good = items(x);
  good[0].ldc = m;
  good[1].a = x.a_pointers[1];
  gemm_variable<double>(context_, good, {}, {InfoMode::any, codes.data()});
  EXPECT_EQ(codes[0], 0);
  EXPECT_TRUE(x.computed(0) && x.computed(1) && x.computed(2));
}

TEST_F(Info, GroupTellsEachGroup) {
  Sample x;
  const GemmGroup<double> first{.m = m,
                                .n = n,
                                .k = k,
                                .a = x.a_pointers,
                                .lda = m,
                                .b = x.b_pointers,
                                .ldb = k,
                                .c = x.c_pointers,
                                .ldc = m,
                                .count = 1};
  GemmGroup<double> second = first;
  second.a += 1, second.b += 1, second.c += 1, second.count = 2;
  second.n = -1;
  const std::array groups{first, second};
  std::array<int, 3> codes{99, 99, 99};
  gemm_grouped<double>(context_, groups, {}, {InfoMode::group, codes.data()});
  EXPECT_EQ(codes, (std::array{0, -4, 99}));
  EXPECT_TRUE(x.computed(0) && x.skipped(1) && x.skipped(2));
  gemm_grouped<double>(context_, groups, {}, {InfoMode::all, codes.data()});
  EXPECT_EQ(codes, (std::array{0, -4, -4}));
}

TEST_F(Info, PointerBatchSkipsItsBadProblem) {
  Sample x;
  x.b_pointers[1] = nullptr;
  std::array<int, 3> codes{99, 99, 99};
  gemm_batched<double>(context_, Op::none, Op::none, 1.0,
                       PointerBatch<const double>{x.a_pointers, m, k, m, count},
                       PointerBatch<const double>{x.b_pointers, k, n, k, count}, 0.0,
                       PointerBatch<double>{x.c_pointers, m, n, m, count}, {}, {InfoMode::all, codes.data()});
  EXPECT_EQ(codes, (std::array{0, -9, 0}));
  EXPECT_TRUE(x.computed(0) && x.skipped(1) && x.computed(2));
}

TEST_F(Info, EveryArgumentHasItsNumber) {
  const auto code_of = [&](const std::function<void(GemmItem<double>&)>& spoil) {
    Sample x;
    auto all = items(x);
    all[2].alpha = 1.0;
    spoil(all[2]);
    std::array<int, 3> codes{};
    gemm_variable<double>(context_, all, {}, {InfoMode::all, codes.data()});
    EXPECT_TRUE(x.c_untouched());
    return codes[2];
  };
  EXPECT_EQ(code_of([](auto& item) { item.m = -1; }), -3);
  EXPECT_EQ(code_of([](auto& item) { item.n = -1; }), -4);
  EXPECT_EQ(code_of([](auto& item) { item.k = -1; }), -5);
  EXPECT_EQ(code_of([](auto& item) { item.a = nullptr; }), -7);
  EXPECT_EQ(code_of([](auto& item) { item.lda = 1; }), -8);
  EXPECT_EQ(code_of([](auto& item) { item.b = nullptr; }), -9);
  EXPECT_EQ(code_of([](auto& item) { item.ldb = 1; }), -10);
  EXPECT_EQ(code_of([](auto& item) { item.c = nullptr; }), -12);
  EXPECT_EQ(code_of([](auto& item) { item.ldc = 1; }), -13);
}

}  // namespace
}  // namespace tilewright
