// Which of ours and the vendor's library serves a large GEMM on the GPU: what wisdom says of both.
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/dispatch.hpp"
#include "core/env.hpp"
#include "fake_cuda/counts.hpp"
#include "gemm/plan.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "support/gpu_fixture.hpp"
#include "support/temp_folder.hpp"
#include "wisdom/families.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::testing {
namespace {

// Which of the two serves is what wisdom says they took.
class GpuLargeWisdom : public GpuTest {
 protected:
  // Of what ships only the rule for errors is there: records and forecasts must not decide what these tests
  // see.
  void SetUp() override {
    namespace fs = std::filesystem;
    const fs::path shared = share_folder(Environment::read(), "kernel");
    fs::create_directory(folder_ / "wisdom");
    fs::create_directory_symlink(shared / "kernel", folder_ / "kernel");
    std::ifstream shipped(shared / "wisdom/h200.jsonl");
    ASSERT_TRUE(shipped.is_open()) << shared;
    std::ofstream models(folder_ / "wisdom/models.jsonl");
    for (std::string line; std::getline(shipped, line);)
      if (line.find("\"cublas_sums\"") != std::string::npos) models << line << '\n';
    share_.emplace("TILEWRIGHT_SHARE", folder_.path().c_str());
    GpuTest::SetUp();
  }

  nlohmann::json record(const std::string& family, double seconds, const GemmProblem& p) const {
    const GpuLimits& limits = gpu_->limits();
    const auto device =
        gemm_large_device(limits, fitted_coefficients(nullptr, limits.name, architecture_of(limits)));
    const nlohmann::json config = family == "cublas"
                                      ? nlohmann::json{{"version", "13.1.0"}}
                                      : to_json(gemm_large_default(p, gemm_large_shape(p), device));
    return {{"family", family},
            {"problem", to_string(p)},
            {"config", config},
            {"device", gpu_->limits().name},
            {"source_hash", current_source_hash(family)},
            {"compiler", "13.0"},
            {"seconds", seconds},
            {"seconds_low", seconds},
            {"seconds_high", seconds},
            {"samples", 9},
            {"time", "2026-11-21T00:00:00Z"},
            {"verdict", "passed"}};
  }
  void write(const std::vector<nlohmann::json>& records) const {
    std::ofstream file(path_);
    for (const auto& one : records) file << one.dump() << '\n';
  }
  void write(const std::vector<std::pair<std::string, double>>& records, const GemmProblem& p) const {
    std::vector<nlohmann::json> all;
    for (const auto& [family, seconds] : records) all.push_back(record(family, seconds, p));
    write(all);
  }
  // What each took of time and energy, searched for `objective`, added to what is there.
  void add(const std::string& objective, std::pair<double, double> ours, std::pair<double, double> theirs,
           const GemmProblem& p) {
    std::stringstream before;
    before << std::ifstream(path_).rdbuf();
    write({{"gemm", ours.first}, {"cublas", theirs.first}}, p);
    std::ifstream written(path_);
    std::string lines = before.str();
    for (const double joules : {ours.second, theirs.second}) {
      std::string line;
      std::getline(written, line);
      auto record = nlohmann::json::parse(line);
      record["objective"] = objective, record["energy_j"] = joules;
      lines += record.dump() + "\n";
    }
    std::ofstream(path_) << lines;
  }
  std::string chosen(const GemmProblem& p) {
    Context context({.wisdom = path_});
    return Access::impl(plan(context, p, options_)).candidate;
  }

  static GemmProblem middling() {
    return packed(parse_problem("gemm:f64:nn:m=160,n=144,k=400:beta=one:residency=cold:location=device"));
  }
  static GemmProblem of_size(int n) {
    return parse_problem(fmt::format("gemm:f64:nn:m={0},n={0},k={0}:residency=cold:location=device", n));
  }

  TempFolder folder_;
  std::string path_ = folder_ / "own.jsonl";
  std::optional<Variable> share_;
};

TEST_F(GpuLargeWisdom, DecidesBetweenOursAndTheVendors) {
  GemmProblem p = middling();
  write({}, p);
  EXPECT_EQ(chosen(p), "cublas") << "nothing is known";
  write({{"gemm", 2e-5}}, p);
  EXPECT_EQ(chosen(p), "gpu_large");
  write({{"gemm", 2e-5}, {"cublas", 3e-5}}, p);
  EXPECT_EQ(chosen(p), "gpu_large");
  write({{"gemm", 3e-5}, {"cublas", 2e-5}}, p);
  EXPECT_EQ(chosen(p), "cublas");
  write({{"gemm", 0.0}, {"cublas", 2e-5}}, p);
  EXPECT_EQ(chosen(p), "cublas") << "ours was not measured";
  write({{"gemm", 2e-5}, {"cublas", 0.0}}, p);
  EXPECT_EQ(chosen(p), "gpu_large") << "cuBLAS was not measured";
  options_.candidate = "gpu_large";
  EXPECT_EQ(chosen(p), "gpu_large") << "asked for";
}

// Wisdom of time says nothing of errors: a config with larger ones than cuBLAS's serves only who names it.
TEST_F(GpuLargeWisdom, ConfigsWithLargerErrorsDoNotServe) {
  const GemmProblem p = parse_problem("gemm:f32:nn:m=257,n=257,k=257:residency=cold:location=device");
  auto exact = record("gemm", 2e-5, p);
  ASSERT_GT(exact["config"]["sum_turns"], 0);
  write({exact});
  options_.candidate = "gpu_large";
  const auto source = [&] {
    Context context({.wisdom = path_});
    return Access::impl(plan(context, p, options_)).known.match;
  };
  EXPECT_EQ(source(), WisdomMatch::exact);
  exact["config"]["sum_turns"] = 0;
  write({exact});
  EXPECT_EQ(source(), WisdomMatch::none);
  Context context({.wisdom = path_});
  options_.candidate = "";
  const std::string why = plan(context, p, options_).explain();
  EXPECT_NE(why.find("errors would be larger than cuBLAS's"), std::string::npos) << why;
  options_.config = exact["config"].dump();
  EXPECT_EQ(Access::impl(plan(context, p, options_)).runner->config()["sum_turns"], 0);
}

TEST_F(GpuLargeWisdom, DecidesByTheObjectiveOfTheCall) {
  const GemmProblem p = middling();
  add("time", {2e-5, 3}, {3e-5, 2}, p);
  EXPECT_EQ(chosen(p), "gpu_large");
  options_.objective = Objective::energy;
  EXPECT_EQ(chosen(p), "gpu_large") << "nothing is known of energy, so that time decides";
  {
    Context context({.wisdom = path_});
    const GemmPlan made = plan(context, p, options_);
    EXPECT_NE(made.explain().find("searched for time"), std::string::npos) << made.explain();
  }
  add("energy", {2e-5, 3}, {3e-5, 2}, p);
  EXPECT_EQ(chosen(p), "cublas");
  add("edp", {2e-5, 3}, {3e-5, 2.5}, p);
  options_.objective = Objective::edp;
  EXPECT_EQ(chosen(p), "gpu_large");
  add("energy_within=5%", {2e-5, 3}, {3e-5, 2}, p);
  options_.objective = Objective::energy_within;
  EXPECT_EQ(chosen(p), "gpu_large") << "the frugal one is too slow";
  options_.objective = Objective::time;
  EXPECT_EQ(chosen(p), "gpu_large");
}

// 2 ms for 4096 are 69 TFLOP/s.
TEST_F(GpuLargeWisdom, ComparesWhatCanBeCompared) {
  const GemmProblem at = of_size(4096), near = of_size(3600);
  write({record("gemm", 1.9e-3, near), record("cublas", 2.3e-3, at)});
  EXPECT_EQ(chosen(at), "cublas") << "which was measured there";
  write({record("gemm", 2.0e-3, at), record("cublas", 1.9e-3, near)});
  EXPECT_EQ(chosen(at), "gpu_large") << "at a higher rate";
  write({record("gemm", 5.0e-3, at), record("cublas", 1.9e-3, near)});
  EXPECT_EQ(chosen(at), "cublas") << "at a higher rate";
  auto elsewhere = record("gemm", 1.0e-3, at);
  elsewhere["device"] = "NVIDIA GB300";
  write({elsewhere, record("cublas", 1.9e-3, near)});
  EXPECT_EQ(chosen(at), "cublas") << "ours was measured on another device alone";
  auto theirs = record("cublas", 2.0e-3, at);
  theirs["device"] = "NVIDIA GB300";
  write({elsewhere, theirs});
  EXPECT_EQ(chosen(at), "gpu_large") << "both on that device";
}

// Swizzled tiles of tensor copies, which are what the record is of, take no odd leading dimensions.
TEST_F(GpuLargeWisdom, RecordsThatCannotBeUsedSayNothing) {
  const GemmProblem p = of_size(4096);
  if (record("gemm", 1, p)["config"]["load"] != "tensor") GTEST_SKIP() << "the device has no tensor copies";
  write({{"gemm", 2.4e-3}, {"cublas", 2.5e-3}}, p);
  EXPECT_EQ(chosen(p), "gpu_large");
  EXPECT_EQ(chosen(of_size(4095)), "cublas");
}

TEST_F(GpuLargeWisdom, WithoutMemoryForItsBlocksAnotherServes) {
  if (ask_fake<fake_cuda::Count>(fake_cuda::count_name) == nullptr) GTEST_SKIP() << "the GPU is no fake one";
  const GemmProblem p = middling();
  auto ours = record("gemm", 1e-5, p);
  ours["config"].update({{"split_k", 4}, {"stream_k", 0}, {"persistent", false}});
  write({ours});
  EXPECT_EQ(chosen(p), "gpu_large");
  const Variable full("TILEWRIGHT_FAKE_MOST_BYTES", "1000");
  EXPECT_EQ(chosen(p), "cublas");
  options_.candidate = "gpu_large";
  EXPECT_EQ(chosen(p), "gpu_large") << "with a config that needs none";
}

TEST_F(GpuLargeWisdom, AnObjectiveNobodyTunedForIsToldOf) {
  options_.objective = Objective::energy;
  write({}, of_size(4096));
  Context context({.wisdom = path_});
  const GemmPlan made = plan(context, of_size(4096), options_);
  EXPECT_EQ(Access::impl(made).candidate, "cublas");
  EXPECT_NE(made.explain().find("no record for objective = energy"), std::string::npos) << made.explain();
}

}  // namespace
}  // namespace tilewright::testing
