// The info array of the Batched BLAS and checked mode: bad problems are skipped and reported, the others
// computed; without info one bad argument fails the call before anything is written.
#include <gtest/gtest.h>

#include <algorithm>

#include "gemm/pointers.hpp"
#include "support/operands.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {
namespace {

using Codes = std::vector<int>;

// A pointer batch of 2 x 2 identities times 1, 2, 3, ...: problem p's C must become p + 1 times the identity.
struct IdentityBatch {
  explicit IdentityBatch(int count)
      : a(4 * std::size_t(count)),
        b(a.size()),
        c(a.size(), -1),
        a_pointers(std::size_t(count)),
        b_pointers(a_pointers.size()),
        c_pointers(a_pointers.size()) {
    for (std::size_t p = 0; p < a_pointers.size(); ++p) {
      a[4 * p] = a[4 * p + 3] = 1;
      b[4 * p] = b[4 * p + 3] = double(p + 1);
      a_pointers[p] = &a[4 * p];
      b_pointers[p] = &b[4 * p];
      c_pointers[p] = &c[4 * p];
    }
  }

  std::int64_t count() const { return std::int64_t(a_pointers.size()); }
  bool computed(int p) const { return c[4 * std::size_t(p)] == p + 1 && c[4 * std::size_t(p) + 1] == 0; }
  bool untouched(int p) const { return c[4 * std::size_t(p)] == -1 && c[4 * std::size_t(p) + 3] == -1; }
  bool untouched() const { return std::count(c.begin(), c.end(), -1.0) == std::ptrdiff_t(c.size()); }

  void run(Context& context, BatchInfo info = {}, const GemmOptions& options = {}) {
    gemm_batched<double>(context, Op::none, Op::none, 1.0, {a_pointers.data(), 2, 2, 2, count()},
                         {b_pointers.data(), 2, 2, 2, count()}, 0.0, {c_pointers.data(), 2, 2, 2, count()},
                         options, info);
  }

  std::vector<double> a, b, c;
  std::vector<const double*> a_pointers, b_pointers;
  std::vector<double*> c_pointers;
};

TEST(PointerInfo, AllModesReportAndComputeTheRest) {
  Context context;
  for (InfoMode mode : {InfoMode::all, InfoMode::group, InfoMode::any}) {
    IdentityBatch x(6);
    x.a_pointers[1] = nullptr;
    x.b_pointers[3] = nullptr;
    x.c_pointers[4] = nullptr;
    Codes codes(mode == InfoMode::all ? 6 : 1, 99);
    x.run(context, {mode, codes.data()});
    EXPECT_EQ(codes, mode == InfoMode::all ? (Codes{0, -7, 0, -9, -12, 0}) : Codes{-7});
    for (int p : {0, 2, 5}) EXPECT_TRUE(x.computed(p)) << p;
    for (int p : {1, 3, 4}) EXPECT_TRUE(x.untouched(p)) << p;
  }
}

TEST(PointerInfo, CodesAreZeroWhenAllIsWell) {
  Context context;
  IdentityBatch x(3);
  Codes codes(3, 99);
  x.run(context, {InfoMode::all, codes.data()});
  EXPECT_EQ(codes, Codes(3, 0));
  EXPECT_TRUE(x.computed(2));
}

TEST(PointerInfo, WithoutInfoNothingIsWritten) {
  Context context;
  IdentityBatch x(6);
  x.b_pointers[3] = nullptr;
  try {
    x.run(context);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.argument(), "b");
    EXPECT_EQ(error.problem_index(), 3);
    EXPECT_STREQ(error.what(), "problem 3: b is null");
  }
  EXPECT_TRUE(x.untouched());
}

TEST(PointerInfo, PerProblemScalarsFollowTheirProblems) {
  Context context;
  IdentityBatch x(4);
  x.a_pointers[1] = nullptr;
  const std::vector<double> alpha{10, 20, 30, 40};
  Codes codes(4);
  gemm_batched<double>(context, Op::none, Op::none, BatchScalar<double>(alpha.data()),
                       {x.a_pointers.data(), 2, 2, 2, 4}, {x.b_pointers.data(), 2, 2, 2, 4}, 0.0,
                       PointerBatch<double>{x.c_pointers.data(), 2, 2, 2, 4}, {},
                       {InfoMode::all, codes.data()});
  EXPECT_EQ(codes, (Codes{0, -7, 0, 0}));
  EXPECT_EQ(x.c[0], 10);
  EXPECT_EQ(x.c[4], -1);
  EXPECT_EQ(x.c[8], 90);
  EXPECT_EQ(x.c[12], 160);
}

TEST(PointerInfo, NullIsFineWhereNothingIsRead) {
  Context context;
  IdentityBatch x(3);
  x.a_pointers[1] = x.b_pointers[1] = nullptr;
  const std::vector<double> alpha{1, 0, 1};
  gemm_batched<double>(context, Op::none, Op::none, BatchScalar<double>(alpha.data()),
                       {x.a_pointers.data(), 2, 2, 2, 3}, {x.b_pointers.data(), 2, 2, 2, 3}, 0.0,
                       PointerBatch<double>{x.c_pointers.data(), 2, 2, 2, 3});
  EXPECT_TRUE(x.computed(0) && x.computed(2));
  EXPECT_EQ(x.c[4], 0);
}

TEST(FixedInfo, AFaultOfTheWholeBatchIsReportedForAll) {
  Context context;
  std::vector<double> data(64, -1);
  Codes codes(3, 99);
  const StridedBatch<const double> a{{data.data(), 4, 4, 3}, 16, 3};
  const StridedBatch<double> c{{data.data(), 4, 4, 4}, 16, 3};
  gemm_batched<double>(context, Op::none, Op::none, 1.0, a, c, 0.0, c, {}, {InfoMode::all, codes.data()});
  EXPECT_EQ(codes, Codes(3, -8));
  EXPECT_EQ(data, std::vector<double>(64, -1));
}

TEST(FixedInfo, AModeNeedsCodes) {
  Context context;
  IdentityBatch x(2);
  EXPECT_THROW(x.run(context, {InfoMode::all, nullptr}), Error);
  EXPECT_TRUE(x.untouched());
}

GemmGroup<double> group_of(IdentityBatch& x, std::size_t first, std::int64_t count) {
  GemmGroup<double> group;
  group.m = group.n = group.k = group.lda = group.ldb = group.ldc = 2;
  group.a = &x.a_pointers[first];
  group.b = &x.b_pointers[first];
  group.c = &x.c_pointers[first];
  group.count = count;
  return group;
}

TEST(GroupedInfo, GroupsAndProblems) {
  Context context;
  for (InfoMode mode : {InfoMode::all, InfoMode::group, InfoMode::any}) {
    IdentityBatch x(7);
    std::vector<GemmGroup<double>> groups{group_of(x, 0, 2), group_of(x, 2, 3), group_of(x, 5, 2)};
    groups[0].ldc = 1;
    x.a_pointers[3] = nullptr;
    Codes codes(mode == InfoMode::all ? 7 : mode == InfoMode::group ? 3 : 1, 99);
    gemm_grouped<double>(context, groups, {}, {mode, codes.data()});
    EXPECT_EQ(codes, mode == InfoMode::all     ? (Codes{-13, -13, 0, -7, 0, 0, 0})
                     : mode == InfoMode::group ? (Codes{-13, -7, 0})
                                               : Codes{-13});
    for (int p : {2, 4, 5, 6}) EXPECT_TRUE(x.computed(p)) << p;
    for (int p : {0, 1, 3}) EXPECT_TRUE(x.untouched(p)) << p;
  }
}

TEST(GroupedInfo, WithoutInfoNothingIsWritten) {
  Context context;
  IdentityBatch x(4);
  std::vector<GemmGroup<double>> groups{group_of(x, 0, 2), group_of(x, 2, 2)};
  groups[1].k = -1;
  try {
    gemm_grouped<double>(context, groups);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "k");
    EXPECT_EQ(error.problem_index(), 2);
    EXPECT_STREQ(error.what(), "group 1 (from problem 2): k = -1 is negative");
  }
  EXPECT_TRUE(x.untouched());
}

TEST(VariableInfo, EachProblemIsItsOwn) {
  Context context;
  IdentityBatch x(5);
  std::vector<GemmItem<double>> items;
  for (std::size_t p = 0; p < 5; ++p) {
    GemmItem<double> item;
    item.m = item.n = item.k = item.lda = item.ldb = item.ldc = 2;
    item.a = x.a_pointers[p], item.b = x.b_pointers[p], item.c = x.c_pointers[p];
    items.push_back(item);
  }
  items[0].m = -5;
  items[2].lda = 1;
  items[3].op_b = static_cast<Op>(9);
  Codes codes(5, 99);
  gemm_variable<double>(context, items, {}, {InfoMode::all, codes.data()});
  EXPECT_EQ(codes, (Codes{-3, 0, -8, -2, 0}));
  EXPECT_TRUE(x.computed(1) && x.computed(4));
  EXPECT_TRUE(x.untouched(0) && x.untouched(2) && x.untouched(3));
}

TEST(VariableInfo, EveryArgumentHasItsNumber) {
  Context context;
  const auto code_of = [&](void (*spoil)(GemmItem<double>&)) {
    IdentityBatch x(1);
    GemmItem<double> item{Op::none, Op::none,        2, 2, 2, 1.0, x.a.data(), 2, x.b.data(), 2,
                          0.0,      x.c_pointers[0], 2};
    spoil(item);
    int code = 99;
    gemm_variable<double>(context, std::span(&item, 1), {}, {InfoMode::all, &code});
    EXPECT_TRUE(x.untouched());
    return code;
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

TEST(Overlap, AddressesOfAAndBMeanNothingIfTheyAreNotRead) {
  Context context;
  IdentityBatch x(1);
  const MatrixView<double> c{x.c.data(), 2, 2, 2};
  EXPECT_THROW(gemm<double>(context, Op::none, Op::none, 1.0, c, c, 1.0, c), Error);
  gemm<double>(context, Op::none, Op::none, 0.0, c, c, 1.0, c);
  EXPECT_TRUE(x.untouched());
}

TEST(Checked, OverlappingCIsFound) {
  Context context;
  GemmOptions checked;
  checked.checked = true;
  IdentityBatch x(5);
  x.c_pointers[1] = x.c_pointers[3] + 2;  // half of problem 3's C and half of problem 4's
  EXPECT_NO_THROW(IdentityBatch(5).run(context, {}, checked));
  try {
    x.run(context, {}, checked);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "c");
    EXPECT_EQ(error.problem_index(), 3);
    EXPECT_STREQ(error.what(), "problem 3: c overlaps that of problem 1");
  }
  EXPECT_TRUE(x.untouched());
  Codes codes(5);
  x.run(context, {InfoMode::all, codes.data()}, checked);
  EXPECT_EQ(codes, (Codes{0, 0, 0, -12, -12}));
  EXPECT_TRUE(x.computed(0) && x.computed(2));
  EXPECT_EQ(*x.c_pointers[1], 2);
}

TEST(Checked, GroupsAndItemsAreSearchedAcross) {
  Context context;
  GemmOptions checked;
  checked.checked = true;
  IdentityBatch x(4);
  x.c_pointers[3] = x.c_pointers[0];
  std::vector<GemmGroup<double>> groups{group_of(x, 0, 2), group_of(x, 2, 2)};
  EXPECT_THROW(gemm_grouped<double>(context, groups, checked), Error);
  EXPECT_TRUE(x.untouched());
  EXPECT_NO_THROW(gemm_grouped<double>(context, groups));
}

TEST(Overlap, TilesOfOneMatrixDoNotOverlap) {
  // A 6 x 6 matrix of bytes in 2 x 3 tiles: extents interleave, elements do not meet.
  std::vector<char> matrix(36);
  std::vector<Extent> tiles;
  for (int j = 0; j < 6; j += 3)
    for (int i = 0; i < 6; i += 2)
      tiles.push_back({&matrix[std::size_t(j * 6 + i)], 2, 6, 3, std::int64_t(tiles.size())});
  EXPECT_TRUE(find_overlaps(tiles).empty());
  tiles.push_back({&matrix[1], 1, 6, 1, 6});  // within tile 0
  tiles.push_back({&matrix[5], 2, 6, 1, 7});  // from tile 2 around the column's end into tile 0
  const auto overlaps = find_overlaps(tiles);
  ASSERT_EQ(overlaps.size(), 2u);
  EXPECT_EQ(overlaps[0].problem_index, 6);
  EXPECT_EQ(overlaps[0].other_index, 0);
  EXPECT_EQ(overlaps[1].problem_index, 7);
}

TEST(Overlap, AgreesWithCountingBytes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto up_to = [&](int last) { return std::uniform_int_distribution<int>(0, last)(random); };
  for (int round = 0; round < 500; ++round) {
    std::vector<char> memory(200);
    std::vector<Extent> extents;
    std::vector<std::vector<int>> owners(200);
    const int count = 1 + up_to(7);
    for (int p = 0; p < count; ++p) {
      const int rows = up_to(4), cols = up_to(3), ld = rows + up_to(6), begin = up_to(150);
      extents.push_back({&memory[std::size_t(begin)], rows, ld, cols, p});
      for (int j = 0; j < cols; ++j)
        for (int i = 0; i < rows; ++i) owners[std::size_t(begin + j * ld + i)].push_back(p);
    }
    std::vector<bool> marked(std::size_t(count), false);
    for (const Overlap& overlap : find_overlaps(extents)) marked[std::size_t(overlap.problem_index)] = true;
    bool any = false;
    for (const auto& who : owners) {
      int kept = 0;
      for (int p : who) kept += marked[std::size_t(p)] ? 0 : 1;
      EXPECT_LE(kept, 1) << "two problems that share bytes were kept";
      any = any || who.size() > 1;
    }
    EXPECT_EQ(any, std::count(marked.begin(), marked.end(), true) > 0);
  }
}

}  // namespace
}  // namespace tilewright
