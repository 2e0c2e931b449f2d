// Counters of a profiler joined to sweeps by the order of the launches, and as figures that stand alone.
#include <gtest/gtest.h>

#include <fstream>

#include "analyze/counters.hpp"
#include "analyze/recorded_sweeps.hpp"

namespace tilewright {
namespace {

using namespace recorded;

TEST_F(Sweeps, CountersAreJoinedByOrder) {
  auto list = cases({row(1, 1e-3, 1), row(2, 2e-3, 1), row(3, 3e-3, 1)});
  const std::string csv = folder_.path().string() + "/ncu.csv",
                    order = folder_.path().string() + "/order.jsonl";
  std::ofstream(csv)
      << "==PROF== Connected\n"
         "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"lts__t_bytes.sum\",\"note__of\"\n"
         "\"\",\"\",\"\",\"\",\"byte\",\"\"\n"
         "\"0\",\"gemm_large<double, X{1, 2}>\",\"(256, 1, 1)\",\"(132, 1, 1)\",\"1,234.5\",\"n/a\"\n"
         "\"1\",\"gemm_large\",\"(128, 1, 1)\",\"(64, 2, 1)\",\"99\",\"\"\n";
  std::ofstream(order)
      << R"({"command": "sample", "device_uuid": "A"})" << '\n'
      << R"({"order": 0, "config": {"tile": 3, "load": "plain"}, "blocks": 132, "threads": 256, "problem": ")"
      << problem << "\"}\n"
      << R"({"order": 1, "config": {"tile": 1, "load": "plain"}, "blocks": 128, "threads": 128, "problem": ")"
      << problem << "\"}\n";
  const auto profile = read_profile(csv);
  auto launches = read_launch_order(order);
  ASSERT_EQ(profile.size(), 2u);
  EXPECT_EQ(join_counters(list, profile, launches), 2u);
  EXPECT_DOUBLE_EQ(list[0].points[2].metrics.at("counters.lts__t_bytes.sum"), 1234.5);
  EXPECT_DOUBLE_EQ(list[0].points[0].metrics.at("counters.lts__t_bytes.sum"), 99);
  EXPECT_EQ(list[0].points[1].metrics.count("counters.lts__t_bytes.sum"), 0u);
  EXPECT_TRUE(list[0].notes.empty());
  auto others = list;
  others[0].problem = "gemm:f64:nn:m=64,n=64,k=64:location=device";
  EXPECT_EQ(join_counters(others, profile, launches), 0u) << "the same configs of another problem";
  launches[0].uuid = "B";
  EXPECT_THROW(join_counters(list, profile, launches), Error) << "another card";
  launches[0].uuid = "A", launches[1].problem.clear();
  EXPECT_THROW(join_counters(list, profile, launches), Error) << "of who knows what";
  launches[1].problem = problem;
  std::swap(launches[0], launches[1]);
  EXPECT_THROW(join_counters(list, profile, launches), Error);
  launches.pop_back();
  EXPECT_THROW(join_counters(list, profile, launches), Error);
  EXPECT_THROW(read_profile(order), Error);
}

TEST_F(Sweeps, CountersOfACardThatMeasuredOtherProblemsAloneAreSaidToBe) {
  auto list = cases({row(1, 1e-3, 1)});
  auto nameless = row(1, 1e-3, 1, "B");
  nameless.erase("device");  // as rows of faults are
  auto others = cases({row(1, 1e-3, 1, "B"), nameless});
  others[0].problem = "gemm:f64:nn:m=64,n=64,k=64:location=device";
  list.push_back(others[0]);
  const nlohmann::json config = {{"tile", 1}, {"load", "plain"}};
  const std::vector<ProfiledLaunch> profile = {{"gemm_large", 1, 32, {{"lts__t_bytes.sum", 7}}}};
  const std::vector<OrderedLaunch> launches = {{config, 1, 32, "tilewright", {}, problem, "B"}};
  EXPECT_EQ(join_counters(list, profile, launches), 1u);
  EXPECT_DOUBLE_EQ(list[0].points[0].metrics.at("counters.lts__t_bytes.sum"), 7);
  ASSERT_EQ(list[0].notes.size(), 1u);
  EXPECT_NE(list[0].notes.begin()->first.find("'B'"), std::string::npos);
  EXPECT_TRUE(list[1].notes.empty());
  list[1].device = "card of another kind";
  try {
    join_counters(list, profile, launches);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'B', a card of another kind"), std::string::npos)
        << error.what();
  }
}

// As ncu prints them: ours in one kernel, the library's in two between ours, and one counter that it lacks.
TEST_F(Sweeps, CountersOfSingleLaunchesAreFigures) {
  const std::string csv = folder_.path().string() + "/ncu.csv",
                    order = folder_.path().string() + "/order.jsonl";
  std::ofstream(csv)
      << "==PROF== Connected\n"
         "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"gpu__time_duration.sum\","
         "\"smsp__sass_thread_inst_executed_op_integer_pred_on.sum\","
         "\"smsp__sass_thread_inst_executed_op_fp64_pred_on.sum\","
         "\"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum\","
         "\"sm__warps_active.avg.pct_of_peak_sustained_active\",\"dram__bytes.sum\","
         "\"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio\","
         "\"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio\","
         "\"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio\"\n"
         "\"\",\"\",\"\",\"\",\"ns\",\"inst\",\"inst\",\"inst\",\"%\",\"byte\",\"\",\"\",\"\"\n"
         "\"0\",\"tilewright::gemm_small<double>\",\"(64, 1, 1)\",\"(132, 1, 1)\",\"1000\",\"100\",\"300\","
         "\"200\",\"50\",\"2,000\",\"1\",\"9\",\"3\"\n"
         "\"1\",\"gemmSN_NN_kernel\",\"(8, 8, 1)\",\"(9, 1, "
         "1)\",\"1000\",\"10\",\"10\",\"5\",\"20\",\"1000\","
         "\"n/a\",\"\",\"\"\n"
         "\"2\",\"gemmSN_NN_kernel\",\"(8, 8, 1)\",\"(9, 1, "
         "1)\",\"3000\",\"20\",\"20\",\"5\",\"40\",\"3000\","
         "\"n/a\",\"\",\"\"\n"
         "\"3\",\"gemm_small\",\"(32, 1, 1)\",\"(7, 1, 1)\",\"10\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"\n";
  std::ofstream(order)
      << R"({"command": "once", "device": "X"})" << '\n'
      << R"({"order": 0, "impl": "tilewright", "n": 4, "config": {}, "blocks": 132, "threads": 64,)"
      << R"( "bound_bytes": 1500})" << '\n'
      << R"({"order": 1, "impl": "cublas_strided", "n": 4, "bound_bytes": 1500})" << '\n'
      << R"({"order": 2, "impl": "tilewright", "n": 5, "config": {}, "blocks": 7, "threads": 32})" << '\n'
      << R"({"order": 3, "impl": "cublas_strided", "n": 5})" << '\n';
  auto profile = read_profile(csv);
  auto launches = read_launch_order(order);
  EXPECT_EQ(read_order_head(order).at("command"), "once");
  const auto rows = launch_counters(profile, launches);
  ASSERT_EQ(rows.size(), 4u);
  const auto& ours = rows[0].at("counters");
  EXPECT_EQ(rows[0].at("n"), 4);
  EXPECT_DOUBLE_EQ(ours.at("integer_share"), 0.25);
  EXPECT_DOUBLE_EQ(ours.at("fma_share"), 0.5);
  EXPECT_DOUBLE_EQ(ours.at("occupancy"), 0.5);
  EXPECT_DOUBLE_EQ(ours.at("bound_bytes_share"), 0.75);
  EXPECT_EQ(ours.at("top_stall"), "wait");
  EXPECT_DOUBLE_EQ(ours.at("top_stall_share"), 0.75);
  EXPECT_FALSE(ours.contains("load_efficiency"));
  EXPECT_EQ(rows[1].at("kernels"), 2);  // sums, and means over time
  EXPECT_DOUBLE_EQ(rows[1].at("counters").at("occupancy"), 0.35);
  EXPECT_DOUBLE_EQ(rows[1].at("counters").at("integer_share"), 0.5);
  EXPECT_DOUBLE_EQ(rows[1].at("counters").at("bound_bytes_share"), 0.375);
  EXPECT_EQ(rows[2].at("counters").size(), 1u);
  EXPECT_EQ(rows[3].at("kernels"), 0);
  launches[2].threads = 64;
  EXPECT_THROW(launch_counters(profile, launches), Error);
  launches.pop_back(), launches.pop_back();
  EXPECT_THROW(launch_counters(profile, launches), Error);  // a kernel of ours that nothing launched
  std::swap(profile[0], profile[1]);
  EXPECT_THROW(launch_counters(profile, launches), Error);  // one of the library before all launches
}

}  // namespace
}  // namespace tilewright
