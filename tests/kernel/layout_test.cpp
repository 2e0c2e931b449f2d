// Compares conversions between layouts with the addressing formula: every type, many shapes, blocks and
// counts, guard pages around both sides, NaN in gaps and padding, threads, bad views; and the rule for when
// converting pays.
#include "kernel/layout/layout.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <fstream>
#include <limits>
#include <vector>

#include "support/pages.hpp"
#include "support/temp_folder.hpp"

namespace tilewright {
namespace {

using testing::Edge;
using testing::GuardedPages;

struct Shape {
  std::int64_t rows, cols, plain_pad, slots_pad, block, count;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (std::int64_t block : {1, 2, 3, 7, 8, 16, 17, 64, 72, 168})
    for (std::int64_t count : {std::int64_t{1}, block, 2 * block + 1, std::int64_t{77}})
      for (const auto& [rows, cols] : {std::pair{1, 1}, {2, 2}, {3, 5}, {8, 8}, {7, 1}, {1, 9}})
        for (const auto& [plain_pad, slots_pad] : {std::pair{0, 0}, {2, 0}, {0, 3}})
          all.push_back({rows, cols, plain_pad, slots_pad, block, count});
  return all;
}

template <class T>
T value_of(std::int64_t p, std::int64_t i, std::int64_t j) {
  const double value = 1 + p + 1000.0 * i + 10000.0 * j;
  if constexpr (std::is_floating_point_v<T>)
    return T(value);
  else
    return T(typename T::value_type(value), typename T::value_type(-value));
}

// Both sides of one conversion between guard pages, initially NaN.
template <class T>
struct Sides {
  explicit Sides(const Shape& s, Edge edge)
      : shape(s),
        ld(s.rows + s.plain_pad),
        stride(ld * s.cols),
        slots_ld(s.rows + s.slots_pad),
        plain_pages((ld * (s.cols - 1) + s.rows + stride * (s.count - 1)) * sizeof(T), edge),
        slot_pages(interleaved_elements(s.rows, s.cols, slots_ld, s.block, s.count) * sizeof(T), edge) {
    for (std::int64_t p = 0; p < s.count; ++p) pointers.push_back(plain() + p * stride);
    // Pointer batches may list their matrices in any order.
    std::reverse(pointers.begin(), pointers.end());
  }

  T* plain() const { return reinterpret_cast<T*>(plain_pages.data()); }
  T* slots() const { return reinterpret_cast<T*>(slot_pages.data()); }
  T& slot(std::int64_t p, std::int64_t i, std::int64_t j) const {
    return slots()[p / shape.block * shape.block * slots_ld * shape.cols + (j * slots_ld + i) * shape.block +
                   p % shape.block];
  }
  StridedBatch<T> strided() const { return {{plain(), shape.rows, shape.cols, ld}, stride, shape.count}; }
  PointerBatch<T> pointer() const { return {pointers.data(), shape.rows, shape.cols, ld, shape.count}; }
  InterleavedBatch<T> interleaved() const {
    return {slots(), shape.rows, shape.cols, slots_ld, shape.block, shape.count};
  }
  std::int64_t slot_count() const { return (shape.count + shape.block - 1) / shape.block * shape.block; }

  template <class F>
  void each(std::int64_t problems, F&& f) const {
    for (std::int64_t p = 0; p < problems; ++p)
      for (std::int64_t j = 0; j < shape.cols; ++j)
        for (std::int64_t i = 0; i < shape.rows; ++i) f(p, i, j);
  }

  Shape shape;
  std::int64_t ld, stride, slots_ld;
  GuardedPages plain_pages, slot_pages;
  std::vector<T*> pointers;
};

std::vector<std::byte> snapshot(const GuardedPages& pages) {
  return {pages.pages(0), pages.pages(0) + pages.pages_bytes()};
}

std::string name_of(const Shape& s) {
  return ::testing::PrintToString(std::array{s.rows, s.cols, s.plain_pad, s.slots_pad, s.block, s.count});
}

// Interleaving must write exactly the live slots and the zeros of the padding, and no other byte.
template <class T>
void check_interleave(const Shape& shape, Edge edge, bool by_pointer) {
  const Sides<T> sides(shape, edge);
  sides.each(shape.count, [&](auto p, auto i, auto j) {
    sides.plain()[p * sides.stride + j * sides.ld + i] = value_of<T>(p, i, j);
  });
  const auto untouched = snapshot(sides.slot_pages);
  sides.each(sides.slot_count(), [&](auto p, auto i, auto j) {
    const auto source = by_pointer ? shape.count - 1 - p : p;
    sides.slot(p, i, j) = p < shape.count ? value_of<T>(source, i, j) : T{};
  });
  const auto expected = snapshot(sides.slot_pages);
  std::memcpy(sides.slot_pages.pages(0), untouched.data(), untouched.size());
  by_pointer ? interleave<T>(sides.pointer(), sides.interleaved())
             : interleave<T>(sides.strided(), sides.interleaved());
  ASSERT_EQ(snapshot(sides.slot_pages), expected) << name_of(shape);
}

template <class T>
void check_deinterleave(const Shape& shape, Edge edge, bool by_pointer) {
  const Sides<T> sides(shape, edge);
  sides.each(shape.count, [&](auto p, auto i, auto j) { sides.slot(p, i, j) = value_of<T>(p, i, j); });
  const auto untouched = snapshot(sides.plain_pages);
  sides.each(shape.count, [&](auto p, auto i, auto j) {
    const auto target = by_pointer ? shape.count - 1 - p : p;
    sides.plain()[target * sides.stride + j * sides.ld + i] = value_of<T>(p, i, j);
  });
  const auto expected = snapshot(sides.plain_pages);
  std::memcpy(sides.plain_pages.pages(0), untouched.data(), untouched.size());
  by_pointer ? deinterleave<T>(sides.interleaved(), sides.pointer())
             : deinterleave<T>(sides.interleaved(), sides.strided());
  ASSERT_EQ(snapshot(sides.plain_pages), expected) << name_of(shape);
}

template <class T>
class Layouts : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Layouts, Types);

TYPED_TEST(Layouts, InterleaveWritesSlotsAndZeroPadding) {
  for (const Shape& shape : shapes())
    for (const bool by_pointer : {false, true}) {
      check_interleave<TypeParam>(shape, by_pointer ? Edge::begin : Edge::end, by_pointer);
      if (this->HasFatalFailure()) return;
    }
}

TYPED_TEST(Layouts, DeinterleaveWritesMatricesOnly) {
  for (const Shape& shape : shapes())
    for (const bool by_pointer : {false, true}) {
      check_deinterleave<TypeParam>(shape, by_pointer ? Edge::begin : Edge::end, by_pointer);
      if (this->HasFatalFailure()) return;
    }
}

// Tests the narrower instruction sets that Highway compiled for, which the best one hides otherwise.
TYPED_TEST(Layouts, EveryInstructionSet) {
  const auto all = shapes();
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    for (std::size_t at = 0; at < all.size() && !this->HasFatalFailure(); at += 7) {
      check_interleave<TypeParam>(all[at], Edge::end, false);
      check_deinterleave<TypeParam>(all[at], Edge::end, false);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

TYPED_TEST(Layouts, ManyProblemsOnSeveralThreadsMakeTheRoundTrip) {
  using T = TypeParam;
  constexpr std::int64_t n = 5, count = 5003;
  std::vector<T> plain(n * n * count);
  for (std::size_t at = 0; at < plain.size(); ++at) plain[at] = T(static_cast<float>(at % 8191));
  for (std::int64_t block : {std::int64_t{8}, std::int64_t{72}, count}) {
    std::vector<T> slots(interleaved_elements(n, n, n, block, count), T(-1)), back(plain.size());
    interleave<T>({{plain.data(), n, n, n}, n * n, count}, {slots.data(), n, n, n, block, count}, 3);
    deinterleave<T>({slots.data(), n, n, n, block, count}, {{back.data(), n, n, n}, n * n, count}, 2);
    EXPECT_EQ(back, plain) << block;
  }
}

TEST(Layout, BroadcastMatrixIsRepeated) {
  const std::vector<double> one{1, 2, 3, 4};
  std::vector<double> slots(4 * 8 * 2);
  interleave<double>({{one.data(), 2, 2, 2}, 0, 11}, {slots.data(), 2, 2, 2, 8, 11});
  for (std::int64_t p = 0; p < 16; ++p)
    for (std::int64_t e = 0; e < 4; ++e) EXPECT_EQ(slots[p / 8 * 32 + e * 8 + p % 8], p < 11 ? one[e] : 0.0);
}

TEST(Layout, BandsOfRowsAreNoOverlap) {
  std::vector<double> slots(4 * 8, 1.0), rows(8 * 2, 0.0);  // 4 matrices of 2 x 2, each two rows of one 8 x 2
  deinterleave<double>({slots.data(), 2, 2, 2, 8, 4}, StridedBatch<double>{{rows.data(), 2, 2, 8}, 2, 4});
  EXPECT_EQ(rows, std::vector<double>(16, 1.0));
}

TEST(Layout, EveryThreadOfACallersTeamConvertsItsOwnBatch) {
  constexpr std::int64_t count = 20000;  // enough for a team of threads, if the caller were not in one
  const std::vector<double> plain(4 * count, 2.0);
  std::vector<std::vector<double>> slots(3, std::vector<double>(4 * count));
#pragma omp parallel for num_threads(3)
  for (std::size_t t = 0; t < slots.size(); ++t)
    interleave<double>({{plain.data(), 2, 2, 2}, 4, count}, {slots[t].data(), 2, 2, 2, 8, count});
  for (const auto& mine : slots) EXPECT_EQ(mine, plain);
}

TEST(Layout, EmptyBatchesNeedNoData) {
  interleave<double>(StridedBatch<const double>{{nullptr, 2, 2, 2}, 4, 0}, {nullptr, 2, 2, 2, 8, 0});
  interleave<double>(StridedBatch<const double>{{nullptr, 0, 2, 1}, 4, 3}, {nullptr, 0, 2, 1, 8, 3});
  EXPECT_EQ(interleaved_elements(3, 2, 4, 8, 9), 2 * 8 * 4 * 2);
}

TEST(LayoutCost, ThresholdIsTheFirstNumberOfUsesThatPays) {
  LayoutCosts costs{.convert_in_s = 6e-9, .convert_out_s = 2e-9, .direct_s = 10e-9, .interleaved_s = 7e-9};
  EXPECT_EQ(conversion_reuse_threshold(costs), 3);  // 8 ns at 3 ns per use
  costs.convert_out_s = 3e-9;
  EXPECT_EQ(conversion_reuse_threshold(costs), 3);
  costs.convert_in_s = costs.convert_out_s = 0;
  EXPECT_EQ(conversion_reuse_threshold(costs), 1);
  costs.interleaved_s = costs.direct_s;
  EXPECT_EQ(conversion_reuse_threshold(costs), std::nullopt);
  costs.interleaved_s = 2 * costs.direct_s;
  EXPECT_EQ(conversion_reuse_threshold(costs), std::nullopt);
  costs.interleaved_s = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(conversion_reuse_threshold(costs), std::nullopt);
}

TEST(LayoutCost, NearestRecordAndItsExplanation) {
  GemmProblem problem;
  problem.m = problem.n = problem.k = 5;
  problem.layout = Layout::strided;
  std::vector<LayoutCosts> table(3);
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i].m = table[i].n = table[i].k = std::int64_t{2} << i;
    table[i].block = 8;
    table[i].convert_in_s = 4e-9, table[i].convert_out_s = 2e-9, table[i].direct_s = 5e-9,
    table[i].interleaved_s = 3e-9;
  }
  EXPECT_EQ(nearest_costs(table, problem), &table[1]);
  table.push_back(table[1]);  // another block size with the same time
  table[3].block = 16, table[3].convert_in_s = 3e-9;
  EXPECT_EQ(nearest_costs(table, problem), &table[3]) << "it costs less";
  table.pop_back();
  problem.residency = Residency::l2;
  EXPECT_EQ(nearest_costs(table, problem), nullptr);
  problem.residency = Residency::cold;
  const std::string text = explain_conversion(problem, nearest_costs(table, problem));
  EXPECT_NE(text.find("blocks of 8"), std::string::npos) << text;
  EXPECT_NE(text.find("at least 3 times"), std::string::npos) << text;
  EXPECT_NE(text.find("m=4,n=4,k=4"), std::string::npos) << text;
  problem.dtype = DType::c64;
  EXPECT_EQ(nearest_costs(table, problem), nullptr);
  EXPECT_NE(explain_conversion(problem, nullptr).find("bench layout"), std::string::npos);
  EXPECT_EQ(explain_conversion(problem, nullptr).find("--location device"), std::string::npos);
  problem.location = Location::device;
  EXPECT_NE(explain_conversion(problem, nullptr).find("--location device"), std::string::npos);
  problem.layout = Layout::block_interleaved;
  EXPECT_NE(explain_conversion(problem, nullptr).find("already"), std::string::npos);
}

TEST(LayoutCost, RecordsSurviveJson) {
  const LayoutCosts costs{.dtype = DType::f32,
                          .m = 3,
                          .n = 4,
                          .k = 5,
                          .from = Layout::pointer,
                          .block = 16,
                          .residency = Residency::l2,
                          .convert_in_s = 1.5e-9,
                          .convert_out_s = 2e-9,
                          .direct_s = 3e-9,
                          .interleaved_s = 4e-9};
  EXPECT_EQ(from_json<LayoutCosts>(to_json(costs)), costs);
  EXPECT_EQ(layout_default(DType::f32).block, 16);
  EXPECT_EQ(recommended_block(DType::c128), 4);
}

}  // namespace
}  // namespace tilewright
