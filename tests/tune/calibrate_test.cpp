// Calibration of a simulated node: the coefficients that its times were made from are found again, in spite
// of noise and other programs; what is unsure is said; a run goes on from its log; and what is kept serves
// as the model of the node.
#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.hpp"
#include "tune/calibrate/calibration.hpp"
#include "tune/simulated_node.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {
namespace {

using testing::SimulatedNode;
using testing::Trouble;

struct Witness : CalibrationWatcher {
  bool stop(double share, const std::string&) override {
    EXPECT_GE(share, last_share);
    EXPECT_LE(share, 1);
    last_share = share;
    return most-- <= 0;
  }
  void left_out(const std::vector<Experiment>& all, const std::string& reason) override {
    for (const Experiment& e : all) left[to_string(e)] = reason;
  }
  void fitted(const CalibratedModel& model) override { models.push_back(model); }
  void unfitted(const CalibrationTask& task, const FittedTask& fitted) override {
    notes[task.model] = fitted.notes;
  }
  const CalibratedModel* find(const std::string& model, const std::string& dtype = "") const {
    for (const auto& one : models)
      if (one.record.model == model && one.record.dtype == dtype) return &one;
    return nullptr;
  }
  int most = 1 << 20;
  double last_share = 0;
  std::map<std::string, std::string> left;
  std::map<std::string, std::vector<std::string>> notes;
  std::vector<CalibratedModel> models;
};

class CalibrateTest : public ::testing::Test {
 protected:
  CalibrationOptions options(bool quick = true) const {
    CalibrationOptions o;
    o.scope.quick = quick;
    o.scope.dtypes = {DType::f64};
    o.budget_s = 1000;
    o.command = "tilewright calibrate";
    return o;
  }
  CalibrationReport run(const CalibrationOptions& o, SimulatedNode& node) {
    witness_ = {};
    return calibrate(o, node, witness_);
  }
  TempFolder folder_;
  Witness witness_;
};

void expect_near(double found, double truth, const char* what, double within = 0.01) {
  EXPECT_NEAR(found / truth, 1, within) << what << ": " << found << " for " << truth;
}
void expect_near(const TransferTime& found, const TransferTime& truth, const char* what) {
  expect_near(found.s_per_byte, truth.s_per_byte, what);
  expect_near(found.start_s, truth.start_s, what, 0.02);
}
// Times over the sizes that count, and the coefficient that decides large ones.
void expect_near(const GemmTime& found, const GemmTime& truth, const char* what) {
  expect_near(found.s_per_product, truth.s_per_product, what);
  for (const double n : {256., 1024., 4096.})
    for (const double k : {64., 256., 4096.}) expect_near(found.of(n, n, k), truth.of(n, n, k), what, 0.02);
}

TEST_F(CalibrateTest, FindsTheCoefficientsAndServesAsTheNodesModel) {
  SimulatedNode node(2);
  const GemmTime& product = node.node.gpus_gemm[std::size_t(DType::f64)];
  const double rate = product.of(4096, 4096, 4096) / std::pow(4096, 3);
  node.node.sustained[std::size_t(DType::f64)] = {rate, 1.25 * rate, 40 * std::pow(4096, 3)};
  WisdomStore store(folder_ / "wisdom.sqlite", sqlite::Mode::write);
  CalibrationOptions o = options(false);
  o.store = &store;
  o.scope.dtypes = {DType::f64, DType::c64};
  const CalibrationReport report = run(o, node);
  EXPECT_EQ(report.unfitted, 0);
  EXPECT_EQ(report.left_out, 0) << (witness_.left.empty() ? "" : witness_.left.begin()->first);
  EXPECT_GT(report.rejected, 100) << "one in twenty was disturbed";
  EXPECT_GT(report.validated, 50);
  EXPECT_LT(report.mean_deviation, 0.02) << report.worst_case;

  const Wisdom wisdom({store.path()}, "Abacus 1");
  const NodeModel found =
      node_model(&wisdom, "Abacus 1", "libabacus.so", 8, {"Slide Rule 9", "Slide Rule 9"});
  EXPECT_EQ(found.source.find("gemm_host f64"), std::string::npos) << found.source;
  ASSERT_EQ(found.gpus.size(), 2u);
  const GpuModel& gpu = found.gpus[1];
  expect_near(gpu.to_device, node.node.to_device, "to_device");
  expect_near(gpu.to_host, node.node.to_host, "to_host");
  expect_near(gpu.pageable_to_device, node.node.pageable_to_device, "pageable_to_device");
  expect_near(gpu.pageable_to_host, node.node.pageable_to_host, "pageable_to_host");
  expect_near(gpu.from_peer, node.node.from_peer, "from_peer");
  expect_near(gpu.duplex, node.node.duplex, "duplex");
  expect_near(gpu.row_s, node.node.row_s, "row_s", 0.1);
  expect_near(found.together.both_ways, node.node.together, "together");
  expect_near(found.together.one_way, node.node.one_way, "together, one way");
  EXPECT_EQ(found.together.gpus, 2);
  expect_near(gpu.memory_bytes_per_s, 2.5e12, "memory of the GPU");
  expect_near(found.host.gamma, node.node.gamma, "gamma", 0.02);
  expect_near(found.host.stream_start_s, 70e-6, "stream_start_s", 0.02);
  expect_near(found.host.register_s_per_byte, 60e-12, "register_s_per_byte");
  for (const DType dtype : o.scope.dtypes) {
    expect_near(found.host.gemm[std::size_t(dtype)], node.node.host.gemm[std::size_t(dtype)], "host");
    expect_near(gpu.gemm[std::size_t(dtype)], node.node.gpus_gemm[std::size_t(dtype)], "device");
  }
  const SustainedRate &sustained = gpu.sustained[std::size_t(DType::f64)],
                      &truth = node.node.sustained[std::size_t(DType::f64)];
  expect_near(sustained.s_per_product, truth.s_per_product, "sustained at first", 0.02);
  expect_near(sustained.late_s_per_product, truth.late_s_per_product, "sustained in the end", 0.02);
  expect_near(sustained.after_products, truth.after_products, "sustained after", 0.3);
  ASSERT_EQ(found.host.copies.size(), 4u) << "1, 2, 4 and 8 threads";
  expect_near(found.host.copies[3].time.s_per_byte, 1.8 / 96e9, "copies of eight threads");
}

// Whatever the general form says.
TEST_F(CalibrateTest, ProductsInARowTakeWhatTheyWereTimedToTake) {
  SimulatedNode node(1, {.noise = 0, .disturbed = 0});
  const double rate =
      1.1 * node.node.gpus_gemm[std::size_t(DType::f64)].of(4096, 4096, 4096) / std::pow(4096, 3);
  node.node.sustained[std::size_t(DType::f64)] = {rate, rate, 0};
  run(options(), node);
  const CalibratedModel* model = witness_.find("gemm_device", "f64");
  ASSERT_NE(model, nullptr);
  const auto& sustained = model->record.coefficients.at("sustained");
  EXPECT_NEAR(sustained.at("s_per_product").get<double>() / rate, 1, 1e-6);
  EXPECT_NEAR(sustained.at("late_s_per_product").get<double>() / rate, 1, 1e-6);
}

TEST_F(CalibrateTest, TheFormsOfThePaperStandBesideTheGeneralOne) {
  SimulatedNode node(1, {.noise = 0, .disturbed = 0});
  // A truth that equations 7 and 8 can say: nothing but m n k and m k, and a constant per row.
  node.node.host.gemm[std::size_t(DType::f64)] = {0, 2e-12, 0, 0, 0};
  run(options(), node);
  const CalibratedModel* model = witness_.find("gemm_host", "f64");
  ASSERT_NE(model, nullptr);
  const auto& c = model->record.coefficients;
  for (const char* form : {"square", "panel"}) {
    EXPECT_NEAR(c.at(form).at("k1").get<double>(), 2e-12, 1e-15) << form;
    EXPECT_LT(c.at(form).at("residual").get<double>(), 1e-6) << form;
    EXPECT_NEAR(c.at(form).at("r_squared").get<double>(), 1, 1e-9) << form;
    EXPECT_TRUE(model->record.extra.at("fits").contains(form));
  }
  EXPECT_EQ(model->record.library, "libabacus.so");
  EXPECT_EQ(model->record.command, "tilewright calibrate");
  EXPECT_GT(model->record.extra.at("validation").at("count").get<int>(), 4);
}

TEST_F(CalibrateTest, NoCoefficientIsNegative) {
  SimulatedNode node(1, {.noise = 0.05, .disturbed = 0.1, .unexplained = 0.1});
  run(options(), node);
  ASSERT_FALSE(witness_.models.empty());
  for (const CalibratedModel& model : witness_.models)
    for (const FittedPart& part : model.fitted.parts)
      for (const double c : part.fit.coefficients) EXPECT_GE(c, 0) << model.record.model << " " << part.name;
}

TEST_F(CalibrateTest, SaysThatItErrsByMoreThanItsDataScatter) {
  SimulatedNode quiet(1, {.noise = 0.002});
  run(options(), quiet);
  for (const CalibratedModel& model : witness_.models)
    for (const FittedPart& part : model.fitted.parts)
      if (part.is_main) EXPECT_FALSE(part.fit.is_worse_than_noise()) << model_text(model);
  SimulatedNode strange(1, {.noise = 0.002, .unexplained = 0.2});
  run(options(), strange);
  const CalibratedModel* model = witness_.find("gemm_device", "f64");
  ASSERT_NE(model, nullptr);
  EXPECT_NE(model_text(*model).find("its error exceeds the noise of the data"), std::string::npos);
  EXPECT_TRUE(model->record.extra.at("fits").at("general").at("worse_than_noise").get<bool>());
  EXPECT_GT(*model->record.residual, 0.1);
}

// The one that is known stays, and serves better than one that says anything.
TEST_F(CalibrateTest, AModelThatMissesItsOwnValidationIsNotKept) {
  WisdomStore store(folder_ / "wisdom.sqlite", sqlite::Mode::write);
  CalibrationOptions o = options();
  o.store = &store;
  SimulatedNode quiet(0, {.noise = 0.002, .disturbed = 0});
  EXPECT_EQ(run(o, quiet).missed, 0);
  const auto kept = [&] {
    for (const FittedModel& model : Wisdom({store.path()}, "Abacus 1").models())
      if (model.model == "gemm_host") return to_json(model).dump();
    return std::string();
  };
  const std::string before = kept();
  ASSERT_NE(before, "");
  SimulatedNode strange(0, {.noise = 0.002, .disturbed = 0, .unexplained = 0.5});
  EXPECT_GE(run(o, strange).missed, 1);
  const CalibratedModel* model = witness_.find("gemm_host", "f64");
  ASSERT_NE(model, nullptr);
  ASSERT_GT(model->mean_deviation, CalibratedModel::most_deviation);
  EXPECT_FALSE(model->is_kept);
  EXPECT_NE(model_text(*model).find("not kept: its mean error on other experiments"), std::string::npos);
  EXPECT_EQ(model_lines(*model).front().at("not_kept").at("model"), "gemm_host");
  EXPECT_FALSE(model_lines(*model).front().contains("model"));
  EXPECT_EQ(kept(), before);
}

TEST_F(CalibrateTest, TheNoiseOfItsDataIsTold) {
  SimulatedNode node(0, {.noise = 0.05, .disturbed = 0});
  run(options(), node);
  const CalibratedModel* model = witness_.find("gemm_host", "f64");
  ASSERT_NE(model, nullptr);
  EXPECT_NEAR(*model->record.spread, 0.05, 0.02);
  EXPECT_FALSE(model->record.extra.at("fits").at("general").at("worse_than_noise").get<bool>());
}

TEST_F(CalibrateTest, WhatDisagreesIsMeasuredAgainAndLeftOut) {
  const std::string restless = "host_gemm f64 512x512x512";
  SimulatedNode node(0, {.disturbed = 0, .restless = restless});
  const CalibrationReport report = run(options(), node);
  EXPECT_EQ(report.left_out, 1);
  ASSERT_EQ(witness_.left.count(restless), 1u);
  EXPECT_NE(witness_.left[restless].find("disagree"), std::string::npos);
  EXPECT_GT(node.calls[restless], 2 * node.calls["host_gemm f64 256x256x256"]) << "three rounds";
  EXPECT_LT(*witness_.find("gemm_host", "f64")->record.residual, 0.02);
}

TEST_F(CalibrateTest, WhatFailsIsLeftOutAndTheRestIsFitted) {
  SimulatedNode node(1, {.broken = "device_gemm gpu 0 f64 2048"});
  run(options(), node);
  EXPECT_NE(witness_.left.at("device_gemm gpu 0 f64 2048x2048x2048").find("no room"), std::string::npos);
  EXPECT_NE(witness_.find("gemm_device", "f64"), nullptr);
  SimulatedNode blind(1, {.broken = "to_host"});
  const CalibrationReport report = run(options(), blind);
  EXPECT_EQ(report.unfitted, 1);
  ASSERT_EQ(witness_.notes.count("transfer"), 1u);
  EXPECT_NE(witness_.notes["transfer"].front().find("to_host: 0 of"), std::string::npos);
}

// A line through the origin, which rises, of times that fall.
TEST_F(CalibrateTest, AFormulaThatExplainsLessThanNothingIsNotKept) {
  Timings timings;
  std::vector<Experiment> experiments;
  for (const std::int64_t bytes : {1, 2, 4, 8}) {
    Experiment e;
    e.work = TimedWork::host_copy, e.bytes = bytes;
    TimedPoint point;
    point.seconds = 1 / double(bytes);
    timings.add(e, point);
    experiments.push_back(e);
  }
  const auto terms = [](const Experiment& e) { return std::vector<double>{double(e.bytes)}; };
  FittedTask fitted;
  EXPECT_EQ(add_fit(fitted, {"line", {"slope"}, terms}, experiments, timings), nullptr);
  EXPECT_TRUE(fitted.parts.empty());
  ASSERT_EQ(fitted.notes.size(), 1u);
  EXPECT_NE(fitted.notes[0].find("line: the fit to 4 experiments is worse than their mean"),
            std::string::npos)
      << fitted.notes[0];
  const auto inverse = [](const Experiment& e) { return std::vector<double>{1 / double(e.bytes)}; };
  EXPECT_NE(add_fit(fitted, {"inverse", {"slope"}, inverse}, experiments, timings), nullptr);
  EXPECT_EQ(fitted.notes.size(), 1u);
}

TEST_F(CalibrateTest, ResumesWithoutMeasuringTwice) {
  CalibrationOptions o = options();
  o.log = folder_ / "calibrate.jsonl";
  SimulatedNode first(1);
  witness_ = {};
  witness_.most = 60;
  EXPECT_TRUE(calibrate(o, first, witness_).stopped);
  std::ofstream(o.log, std::ios::app) << R"({"experiment": {"work": "to_ho)";  // killed in its last line
  o.resume = true;
  SimulatedNode second(1);
  const CalibrationReport rest = run(o, second);
  EXPECT_FALSE(rest.stopped);
  EXPECT_GT(rest.kept_timings, 0);
  for (const auto& [text, calls] : first.calls) EXPECT_EQ(second.calls.count(text), 0u) << text;
  SimulatedNode third(1);
  const CalibrationReport again = run(o, third);
  EXPECT_EQ(again.timings, 0);
  EXPECT_TRUE(third.calls.empty());
  EXPECT_EQ(again.fitted, rest.fitted);
  EXPECT_EQ(again.mean_deviation, rest.mean_deviation);
}

TEST_F(CalibrateTest, TheLogOfAnotherRunIsRefusedAndNoOtherFileIsTouched) {
  CalibrationOptions o = options();
  o.log = folder_ / "calibrate.jsonl";
  SimulatedNode node(0);
  run(o, node);
  o.resume = true;
  o.scope.dtypes = {DType::f32};
  EXPECT_THROW(run(o, node), Error);
  const std::string other = folder_.write("other.jsonl", "{\"run\":{}}\n");
  o.log = other;
  try {
    run(o, node);
    FAIL() << "a sweep's log was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "--log");
    EXPECT_NE(std::string(error.what()).find("is not a log of calibrate"), std::string::npos) << error.what();
  }
}

TEST_F(CalibrateTest, ABudgetIsKeptAndWhatItLeavesOutIsSaid) {
  SimulatedNode node(1);
  CalibrationOptions o = options(false);
  o.budget_s = 0.5;
  const CalibrationReport report = run(o, node);
  EXPECT_LT(report.spent_s, 2 * o.budget_s);
  EXPECT_GT(report.left_out, 0);
  EXPECT_GT(report.fitted, 0);
  bool said = false;
  for (const auto& [text, reason] : witness_.left)
    said = said || reason.find("of the budget") != std::string::npos;
  EXPECT_TRUE(said);
  o.budget_s = 0;
  SimulatedNode none(1);
  EXPECT_EQ(run(o, none).fitted, 0);
  EXPECT_TRUE(none.calls.empty());
}

// All that a node is put together from is there, with GPUs and without.
TEST_F(CalibrateTest, NothingIsLeftToRoundFigures) {
  for (const int gpus : {0, 1}) {
    SimulatedNode node(gpus);
    WisdomStore store(folder_ / fmt::format("{}.sqlite", gpus), sqlite::Mode::write);
    CalibrationOptions o = options();
    o.store = &store;
    o.scope.dtypes = CalibrationScope().dtypes;
    EXPECT_EQ(run(o, node).unfitted, 0);
    const Wisdom wisdom({store.path()}, "Abacus 1");
    const std::vector<std::string> names(std::size_t(gpus), "Slide Rule 9");
    const NodeModel found = node_model(&wisdom, "Abacus 1", "libabacus.so", 8, names);
    EXPECT_TRUE(found.calibrated) << found.source;
  }
}

TEST_F(CalibrateTest, WithoutAGpuTheHostIsFittedAlone) {
  SimulatedNode node(0);
  const CalibrationReport report = run(options(), node);
  EXPECT_EQ(report.fitted, 2);
  EXPECT_NE(witness_.find("host_copy"), nullptr);
  EXPECT_NE(witness_.find("gemm_host", "f64"), nullptr);
  EXPECT_NE(machine_text(node).find("it was built without"), std::string::npos);
}

TEST_F(CalibrateTest, GpusOfOneNameShareAModel) {
  SimulatedNode node(3);
  run(options(), node);
  int transfers = 0;
  for (const CalibratedModel& model : witness_.models) transfers += model.record.model == "transfer";
  EXPECT_EQ(transfers, 1);
  EXPECT_GT(node.calls["to_device gpu 2 pinned 1 MiB"], 0) << "every GPU's way is timed";
  EXPECT_EQ(node.calls.count("device_gemm gpu 2 f64 512x512x512"), 0u);
}

TEST_F(CalibrateTest, AModelOfADateYetToComeGivesWay) {
  SimulatedNode node(0);
  WisdomStore store(folder_ / "wisdom.sqlite", sqlite::Mode::write);
  CalibrationOptions o = options();
  run(o, node);
  FittedModel dated = witness_.find("gemm_host", "f64")->record;
  dated.time = "2999-01-01T00:00:00Z";
  store.merge(dated);
  o.store = &store;
  run(o, node);
  EXPECT_TRUE(witness_.find("gemm_host", "f64")->is_kept);
  EXPECT_TRUE(witness_.find("host_copy")->is_kept);
}

TEST_F(CalibrateTest, LinesHoldTheRecordAndItsValidation) {
  SimulatedNode node(1);
  const CalibrationReport report = run(options(), node);
  const CalibratedModel* model = witness_.find("gemm_device", "f64");
  ASSERT_NE(model, nullptr);
  const auto lines = model_lines(*model);
  ASSERT_EQ(lines.size(), 1 + model->validation.size());
  EXPECT_EQ(to_json(*model_of_line(lines[0])), to_json(model->record));
  EXPECT_EQ(lines[1].at("validates"), "gemm_device");
  EXPECT_NEAR(lines[1].at("predicted_s").get<double>() / lines[1].at("seconds").get<double>() - 1,
              lines[1].at("deviation").get<double>(), 1e-12);
  EXPECT_EQ(lines[1].at("dtype"), "f64");
  EXPECT_EQ(summary_line(report).at("models"), report.fitted);
  EXPECT_TRUE(summary_line(report).at("summary").get<bool>());
}

TEST(Installation, ValidationIsUnseenAndNoTwoExperimentsShareATextUnlessEqual) {
  const SimulatedNode node(2);
  for (const bool quick : {false, true}) {
    std::map<std::string, Experiment> all;
    for (const CalibrationTask& task : calibration_tasks(node, {.quick = quick})) {
      for (const auto* set : {&task.installation, &task.validation})
        for (const Experiment& e : *set) {
          EXPECT_EQ(from_json<Experiment>(to_json(e)), e);
          EXPECT_EQ(all.try_emplace(to_string(e), e).first->second, e) << to_string(e);
        }
      for (const Experiment& e : task.validation)
        EXPECT_EQ(std::count(task.installation.begin(), task.installation.end(), e), 0) << to_string(e);
    }
  }
}

}  // namespace
}  // namespace tilewright
