// Fitted models in wisdom: kept in databases and in JSON lines, found for their device or for another of its
// architecture, and believed one by one. The models are fictional.
#include "wisdom/wisdom_database.hpp"

namespace tilewright {
namespace {

class WisdomModelTest : public WisdomStoreTest {
 protected:
  static FittedModel model(double flops, const std::string& device = "Abacus 1") {
    FittedModel m;
    m.model = "cpu_gemm";
    m.device = device;
    m.architecture = "avx512";
    m.coefficients = {{"flops", flops}};
    m.samples = 40;
    m.time = "2016-11-21T10:00:00Z";
    m.extra = nlohmann::json::object();
    return m;
  }
  static ModelQuery query(const std::string& device = "Abacus 1") {
    ModelQuery q;
    q.model = "cpu_gemm", q.device = device, q.architecture = "avx512", q.dtype = "f64";
    return q;
  }
  std::string lines(const std::string& name, const std::vector<FittedModel>& models) {
    std::string text;
    for (const FittedModel& m : models) text += to_json(m).dump() + "\n";
    return folder_.write(name, text);
  }
  static double flops(const Wisdom& wisdom, const ModelQuery& q) {
    const auto found = wisdom.model(q);
    return found == nullptr ? 0 : found->model.coefficients.at("flops").get<double>();
  }
};

TEST_F(WisdomModelTest, KeepsEveryField) {
  FittedModel m = model(1);
  m.driver = "580.1", m.library = "cublas", m.library_version = "13.1.0", m.dtype = "f64";
  m.residual = 0.05, m.r_squared = 0.99, m.spread = 0.01;
  m.source_hash = gemm_small_cpu_source_hash, m.command = "tilewright calibrate";
  m.extra = {{"note", "quiet"}};
  WisdomStore(file(), Mode::write).merge(m);
  for (const std::string& path : {file(), lines("m.jsonl", {m})}) {
    const auto models = Wisdom({path}, "").models();
    ASSERT_EQ(models.size(), 1u) << path;
    EXPECT_EQ(to_json(models[0]), to_json(m)) << path;
    EXPECT_TRUE(Wisdom({path}, "").records().empty());
  }
}

TEST_F(WisdomModelTest, TheOwnDeviceComesBeforeASibling) {
  const Wisdom wisdom({lines("m.jsonl", {model(1, "Abacus 2"), model(2), model(3, "Abacus 3")})}, "");
  EXPECT_EQ(flops(wisdom, query()), 2);
  EXPECT_EQ(wisdom.model(query())->match, WisdomMatch::exact);
  const auto sibling = wisdom.model(query("Abacus 4"));
  ASSERT_NE(sibling, nullptr);
  EXPECT_EQ(sibling->match, WisdomMatch::near_device);
  ModelQuery q = query("Abacus 4");
  q.architecture = "avx2";
  EXPECT_EQ(wisdom.model(q), nullptr);
  q = query();
  q.operation = "lu";
  EXPECT_EQ(wisdom.model(q), nullptr);
  q = query();
  q.model = "transfer";
  EXPECT_EQ(wisdom.model(q), nullptr);
}

TEST_F(WisdomModelTest, TypesDriversAndLibrariesDecideAmongModelsOfADevice) {
  FittedModel all = model(1), f64 = model(2), f32 = model(3), newer = model(4), library = model(5);
  f64.dtype = "f64", f32.dtype = "f32";
  newer.dtype = "f64", newer.driver = "590", newer.time = "2016-11-22T10:00:00Z";
  library.dtype = "f64", library.library_version = "13.2";
  const Wisdom wisdom({lines("m.jsonl", {all, f64, f32, newer, library})}, "");
  EXPECT_EQ(flops(wisdom, query()), 4) << "the newest, where no driver is asked for";
  ModelQuery q = query();
  q.library_version = "13.2";
  EXPECT_EQ(flops(wisdom, q), 5);
  q = query();
  q.driver = "590";
  EXPECT_EQ(flops(wisdom, q), 4);
  q.dtype = "c64";
  EXPECT_EQ(flops(wisdom, q), 1);
}

TEST_F(WisdomModelTest, TheUsersOwnComeFirstAndShippedFilesAreNotReadForThem) {
  WisdomStore(file(), Mode::write).add_found(model(1));
  const std::string broken = folder_.write("broken.jsonl", "{\"model\": 1}\n");
  const Wisdom wisdom({file(), broken}, "");
  EXPECT_EQ(flops(wisdom, query()), 1);
  for (int i = 0; i < 2; ++i) EXPECT_THROW(wisdom.model(query("Abacus 9")), Error);
}

TEST_F(WisdomModelTest, WhatWasFoundIsKept) {
  const std::string path = lines("m.jsonl", {model(1)});
  const Wisdom wisdom({path}, "");
  const auto found = wisdom.model(query());
  std::filesystem::remove(path);
  EXPECT_EQ(wisdom.model(query()), found);
}

TEST_F(WisdomModelTest, WhoIsOfferedARecordMayAskForOne) {
  WisdomStore store(file(), Mode::write);
  store.put(record(problem(8, 8, 8), 1));
  store.merge(model(1));
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_TRUE(wisdom.offer({"gemm_small_cpu", "avx512", problem(8, 8, 8)},
                           [&](const WisdomAnswer&) { return flops(wisdom, query()) == 1; }));
}

TEST_F(WisdomModelTest, ModelsOfChangedKernelsServeFromJsonLinesOnly) {
  FittedModel old = model(1);
  old.source_hash = "of older kernels";
  WisdomStore(file(), Mode::write).merge(old);
  EXPECT_EQ(Wisdom({file()}, "").model(query()), nullptr);
  EXPECT_EQ(flops(Wisdom({lines("m.jsonl", {old})}, ""), query()), 1);
}

TEST_F(WisdomModelTest, OneIsKeptPerIdentity) {
  WisdomStore store(file(), Mode::write);
  EXPECT_TRUE(store.merge(model(1)));
  EXPECT_FALSE(store.merge(model(2))) << "as good as what is there";
  FittedModel more = model(3);
  more.samples = 400, more.time = "2016-11-20T10:00:00Z";
  EXPECT_FALSE(store.add_found(more)) << "older";
  EXPECT_TRUE(store.merge(more)) << "of more samples";
  FittedModel f64 = model(4);
  f64.dtype = "f64";
  EXPECT_TRUE(store.merge(f64));
  EXPECT_EQ(Wisdom({file()}, "").models().size(), 2u);
}

}  // namespace
}  // namespace tilewright
