// Measurements of a machine, kept as models in the user's database: ceilings by device and thread
// count, costs of conversions by device and case. Each replaces its own and nothing else.
#include "wisdom/kept.hpp"

#include <thread>

#include "gemm/kept.hpp"
#include "wisdom/wisdom_database.hpp"

namespace tilewright {
namespace {

class KeptTest : public WisdomStoreTest {
 protected:
  std::string path_ = folder_ / "deep/wisdom.sqlite";

  std::size_t count() const { return Wisdom({path_}, "").models().size(); }
};

Ceilings sample(const std::string& device, std::int64_t threads, double update) {
  Ceilings ceilings;
  ceilings.device = device;
  ceilings.threads = threads;
  ceilings.memory_update = update;
  ceilings.time = "2016-11-21T10:00:00Z";
  return ceilings;
}

TEST_F(KeptTest, OneOfEachDeviceAndThreadCount) {
  EXPECT_FALSE(load_ceilings(path_, "x", 1));
  save_ceilings(path_, sample("x", 1, 10));
  save_ceilings(path_, sample("x", 2, 20));
  save_ceilings(path_, sample("y", 1, 30));
  save_ceilings(path_, sample("x", 1, 11));
  EXPECT_EQ(to_json(*load_ceilings(path_, "x", 1)), to_json(sample("x", 1, 11)));
  EXPECT_EQ(load_ceilings(path_, "x", 2)->memory_update, 20);
  EXPECT_EQ(load_ceilings(path_, "y", 1)->memory_update, 30);
  EXPECT_FALSE(load_ceilings(path_, "y", 2));
  EXPECT_EQ(count(), 3u);
}

// Others at work while they were measured hide what more threads can do.
TEST_F(KeptTest, MoreThreadsReachWhatFewerDid) {
  Ceilings one = sample("x", 1, 20), two = sample("x", 2, 5), four = sample("x", 4, 90);
  one.fma_f64_256 = 100, two.fma_f64_256 = 180;
  for (const Ceilings& each : {two, one, four}) save_ceilings(path_, each);
  EXPECT_EQ(load_ceilings(path_, "x", 2)->memory_update, 20);
  EXPECT_EQ(load_ceilings(path_, "x", 2)->fma_f64_256, 180);
  EXPECT_EQ(load_ceilings(path_, "x", 1)->memory_update, 20);
  EXPECT_EQ(load_ceilings(path_, "x", 4)->memory_update, 90);
  EXPECT_EQ(load_ceilings(path_, "x", 4)->fma_f64_256, 180);
}

TEST_F(KeptTest, RatesWellBelowThoseOfFewerThreadsAreADisturbance) {
  Ceilings one = sample("x", 1, 40), two = sample("x", 2, 37);
  one.fma_f64_256 = 100, two.fma_f64_256 = 200;
  EXPECT_EQ(disturbance(two, one), "");
  raise_to(two, one);
  EXPECT_EQ(two.memory_update, 40);
  EXPECT_EQ(two.fma_f64_256, 200);
  EXPECT_EQ(two.threads, 2);
  two.memory_update = 35;
  EXPECT_EQ(disturbance(two, one), "2 threads reached less than 1 did: memory_update 35.0 instead of 40.0");
  two.fma_f64_256 = 20;
  EXPECT_EQ(disturbance(two, one),
            "2 threads reached less than 1 did: fma_f64_256 20.0 instead of 100.0, memory_update 35.0 "
            "instead of 40.0");
}

TEST_F(KeptTest, CeilingsOfGpusAreKeptByName) {
  EXPECT_FALSE(load_gpu_ceilings(path_, "a card"));
  save_ceilings(path_, sample("a card", 1, 10));
  for (const double rate : {20.0, 30.0})
    save_gpu_ceilings(path_, {.device = "a card", .multiply_f32 = rate, .time = "2016-11-21"});
  save_gpu_ceilings(path_, {.device = "another", .memory_write = 5, .time = ""});
  EXPECT_EQ(load_gpu_ceilings(path_, "a card")->compute_gflops(DType::c64), 30);
  EXPECT_EQ(load_gpu_ceilings(path_, "a card")->time, "2016-11-21");
  EXPECT_EQ(load_gpu_ceilings(path_, "another")->memory_gbytes(false), 5);
  EXPECT_EQ(count(), 3u);
  EXPECT_EQ(load_ceilings(path_, "a card", 1)->memory_update, 10);
}

TEST_F(KeptTest, CostsOfConversionsAreKeptByDeviceAndCase) {
  LayoutCosts costs{.m = 3, .n = 3, .k = 3, .block = 8, .convert_in_s = 1e-9, .direct_s = 3e-9};
  EXPECT_TRUE(load_layout_costs(path_, "this").empty());
  save_layout_costs(path_, "this", costs);
  save_layout_costs(path_, "other", costs);
  costs.convert_in_s = 2e-9;
  save_layout_costs(path_, "this", costs);
  EXPECT_EQ(load_layout_costs(path_, "this"), std::vector{costs});
  EXPECT_EQ(load_layout_costs(path_, "other").size(), 1u);
  costs.dtype = DType::f32;
  save_layout_costs(path_, "this", costs);
  EXPECT_EQ(load_layout_costs(path_, "this").size(), 2u);
}

TEST_F(KeptTest, WhatTheyAreGoesThroughJsonLines) {
  save_ceilings(path_, sample("x", 2, 10));
  std::string lines;
  for (const FittedModel& model : Wisdom({path_}, "").models()) lines += to_json(model).dump() + "\n";
  WisdomStore other(file(), Mode::write);
  for (const FittedModel& model : Wisdom({folder_.write("lines.jsonl", lines)}, "").models())
    EXPECT_TRUE(other.merge(model));
  EXPECT_EQ(to_json(*load_ceilings(file(), "x", 2)), to_json(sample("x", 2, 10)));
}

TEST_F(KeptTest, ModelsOfOtherVersionsAndFilesThatAreNoneHoldNothing) {
  FittedModel other = model_of("ceilings", sample("x", 1, 10), "threads=1");
  other.coefficients["memory_update"] = "fast";
  keep(path_, other);
  EXPECT_FALSE(load_ceilings(path_, "x", 1));
  save_ceilings(path_, sample("x", 1, 12));
  EXPECT_EQ(load_ceilings(path_, "x", 1)->memory_update, 12);
  EXPECT_FALSE(load_ceilings(folder_.write("text", std::string(5000, 'x')), "x", 1));
  EXPECT_FALSE(load_ceilings("", "x", 1));
  save_ceilings("", sample("x", 1, 12));
}

TEST_F(KeptTest, WritersThatMeetLoseNothing) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 20; ++i) save_ceilings(path_, sample(std::to_string(writer), 1 + i, i));
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(count(), 80u);
}

TEST_F(KeptTest, AnImpossibleFolderIsAnError) {
  folder_.write("deep", "a file where the folder should be");
  EXPECT_THROW(save_ceilings(path_, sample("x", 1, 10)), Error);
}

TEST_F(KeptTest, TheUsersFileIsADatabase) {
  Environment environment;
  environment.wisdom = "/some/where.sqlite";
  EXPECT_EQ(kept_path(environment), "/some/where.sqlite");
  environment.wisdom = "/some/where.jsonl";
  EXPECT_EQ(kept_path(environment), user_wisdom_path({})) << "lines are only read";
}

}  // namespace
}  // namespace tilewright
