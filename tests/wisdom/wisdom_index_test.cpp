// The index that lookups search: what it hands out, held to the plain definition, and what it costs, counted:
// the records that a search looks at, and the rows that a store reads for it.
#include <algorithm>
#include <random>

#include "wisdom/index.hpp"
#include "wisdom/wisdom_database.hpp"

namespace tilewright {
namespace {

class WisdomIndexTest : public WisdomStoreTest {
 protected:
  struct Known {
    std::string device;
    GemmProblem problem;
    double score = 0;
    std::int64_t number = 0;
  };

  static WisdomQuery query(const GemmProblem& problem) {
    return {"gemm_small_cpu", "avx512", problem, "time", "Abacus 1"};
  }

  static std::vector<std::int64_t> numbers(const WisdomQuery& query, WisdomStage stage,
                                           const std::shared_ptr<ShapeIndex>& index) {
    ShapeSearch search(query, stage);
    search.add(index, 0);
    std::vector<std::int64_t> all;
    while (const auto found = search.next()) all.push_back(found->shape->number);
    return all;
  }

  // Every record that answers the question, by score.
  static std::vector<std::int64_t> defined(const WisdomQuery& query, WisdomStage stage,
                                           std::vector<Known> all) {
    const bool near = stage == WisdomStage::near_shape || stage == WisdomStage::near_elsewhere;
    const bool elsewhere = stage == WisdomStage::exact_elsewhere || stage == WisdomStage::near_elsewhere;
    const GemmProblem& asked = query.problem;
    std::erase_if(all, [&](const Known& one) {
      return is_same_device(query.device, one.device) == elsewhere || is_exact(asked, one.problem) == near ||
             (near && (shape_distance(asked, one.problem) > shape_radius ||
                       !fills_alike(asked, one.problem, query.architecture)));
    });
    for (Known& one : all)
      one.score = shape_distance(asked, one.problem) + trait_penalty(asked, one.problem, query.architecture) +
                  device_penalty(query.device, one.device);
    std::sort(all.begin(), all.end(), [](const Known& x, const Known& y) {
      return x.score != y.score ? x.score < y.score : x.number > y.number;
    });
    std::vector<std::int64_t> order;
    for (const Known& one : all) order.push_back(one.number);
    return order;
  }
};

TEST_F(WisdomIndexTest, HandsOutWhatTheDefinitionSays) {
  std::mt19937 random(3);
  const auto below = [&](int end) { return std::int64_t(random() % unsigned(end)); };
  const auto drawn = [&](int most) {
    GemmProblem p = problem(1 + below(most), 1 + below(most), 1 + below(most));
    p.layout = std::array{Layout::strided, Layout::pointer, Layout::single}[std::size_t(below(3))];
    p.alpha = below(2) == 0 ? Scalar::one : Scalar::general;
    if (below(4) == 0) p.lda += 3;
    p.location = Location::device;
    p.batch_count = 1 + below(100000);
    return p;
  };
  for (const int most : {3, 12, 60, 400}) {
    auto index = std::make_shared<ShapeIndex>("avx512");
    std::vector<Known> all;
    for (int i = 0; i < 1500; ++i) {
      const std::string device = std::array{"Abacus 1", "Abacus 2", "Babbage"}[std::size_t(below(3))];
      all.push_back({device, drawn(most), 0, i});
      index->add(device, all.back().problem, i);
    }
    index->build();
    for (int i = 0; i < 40; ++i) {
      const WisdomQuery asked = query(i % 2 == 0 ? all[std::size_t(below(1500))].problem : drawn(most));
      for (const WisdomStage stage : {WisdomStage::exact, WisdomStage::near_shape,
                                      WisdomStage::exact_elsewhere, WisdomStage::near_elsewhere})
        ASSERT_EQ(numbers(asked, stage, index), defined(asked, stage, all)) << to_string(asked.problem);
    }
  }
}

TEST_F(WisdomIndexTest, OfEqualRecordsTheFirstSourceAndTheLastWrittenComeFirst) {
  const WisdomQuery asked = query(problem(8, 8, 8));
  ShapeSearch search(asked, WisdomStage::exact);
  for (const std::size_t source : {1, 0}) {
    auto index = std::make_shared<ShapeIndex>("avx512");
    for (const int number : {1, 3, 2}) index->add("Abacus 1", problem(8, 8, 8), number);
    index->build();
    search.add(index, source);
  }
  std::vector<std::pair<std::size_t, std::int64_t>> order;
  while (const auto found = search.next()) order.emplace_back(found->source, found->shape->number);
  EXPECT_EQ(order, (std::vector<std::pair<std::size_t, std::int64_t>>{
                       {0, 3}, {0, 2}, {0, 1}, {1, 3}, {1, 2}, {1, 1}}));
}

TEST_F(WisdomIndexTest, LooksAtTheNeighbourhoodOfManyRecords) {
  auto index = std::make_shared<ShapeIndex>("avx512");
  constexpr int side = 36;
  for (int i = 0; i < side * side * side; ++i)
    index->add("Abacus 1", problem(2 + i / (side * side), 2 + i / side % side, 2 + i % side), i);
  index->build();
  auto pointers = problem(20, 20, 20);
  pointers.layout = Layout::pointer;
  struct Case {
    GemmProblem asked;
    WisdomStage stage;
    bool is_found;
  };
  for (const Case& one :
       {Case{problem(20, 20, 20), WisdomStage::exact, true}, Case{pointers, WisdomStage::near_shape, true},
        Case{problem(20, 60, 20), WisdomStage::near_shape, true},
        Case{problem(2000, 3000, 20), WisdomStage::near_shape, false},
        Case{problem(20, 20, 20), WisdomStage::exact_elsewhere, false}}) {
    const WisdomQuery asked = query(one.asked);
    ShapeSearch search(asked, one.stage);
    search.add(index, 0);
    EXPECT_EQ(search.next().has_value(), one.is_found) << to_string(one.asked);
    EXPECT_LT(search.seen_count(), 300u) << to_string(one.asked);
  }
}

TEST_F(WisdomIndexTest, AStoreReadsTheRowsOfAKindOnce) {
  WisdomStore writer(file(), Mode::write);
  writer.at_once([&] {
    for (int m = 1; m <= 50; ++m) writer.put(record(problem(m, 8, 8), 1 + m % 30));
    for (int m = 1; m <= 20; ++m) {
      auto updating = problem(m, 8, 8);
      updating.beta = Scalar::one;
      writer.put(record(updating, 1));
    }
  });
  WisdomStore store(file(), Mode::read);
  const WisdomQuery asked = query(problem(8, 8, 8));
  const auto index = store.shapes(asked);
  EXPECT_EQ(store.rows_read(), 50);
  EXPECT_EQ(store.shapes(query(problem(30, 30, 30))), index) << "of the same kind";
  EXPECT_EQ(store.rows_read(), 50);
  WisdomQuery energy = asked;
  energy.objective = "energy";
  EXPECT_TRUE(numbers(energy, WisdomStage::near_shape, store.shapes(energy)).empty());
  EXPECT_EQ(store.rows_read(), 50);
  auto updating = asked;
  updating.problem.beta = Scalar::one;
  (void)store.shapes(updating);
  EXPECT_EQ(store.rows_read(), 70);
  writer.put(record(problem(60, 8, 8), 1));
  EXPECT_NE(store.shapes(asked), index) << "another connection has written";
  EXPECT_EQ(store.rows_read(), 70 + 51);
}

// A file's times are too coarse to tell two writes of one moment apart.
TEST_F(WisdomIndexTest, WhatIsWrittenIsSeenThoughTheFileLooksTheSame) {
  WisdomStore writer(file(), Mode::write);
  for (int m = 1; m <= 9; ++m) writer.put(record(problem(m, 8, 8), m));
  const auto written = std::filesystem::last_write_time(file());
  const Wisdom wisdom({file()}, "Abacus 1");
  for (int nr = 10; nr < 15; ++nr) {
    writer.put(record(problem(8, 8, 8), nr));
    std::filesystem::last_write_time(file(), written);
    EXPECT_EQ(found(wisdom, problem(8, 8, 8)).at(0), nr);
  }
}

}  // namespace
}  // namespace tilewright
