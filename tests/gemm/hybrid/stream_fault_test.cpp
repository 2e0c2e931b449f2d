// GPUs that fail in the middle of a product: the call says which part of C is undefined, and the rest is
// right, or the host computes that part from a C that no failed device has touched.
#include "gemm/hybrid/split/prediction.hpp"
#include "gemm/hybrid/split/schedule.hpp"
#include "simulated_job.hpp"

namespace tilewright::testing {
namespace {

SimulatedCall faulty_call(int gpus, bool pinned, Scalar beta, bool redo) {
  SimulatedCall call;
  call.problem = host_product(DType::f64, Op::none, Op::none, 48, 192, 40, beta);
  call.node = small_node(gpus);
  call.pinned = pinned;
  call.redo_on_host = redo;
  call.faults.resize(std::size_t(gpus));
  call.split.host_count = 32, call.split.host_first = 160;
  call.split.ring_bytes = 1 << 16;
  call.split.copy_threads = 2;
  for (int i = 0; i < gpus; ++i) {
    GpuShare share;
    share.gpu = i, share.first = 160 * i / gpus, share.count = 160 * (i + 1) / gpus - share.first;
    share.tile = 32, share.first_tile = 32, share.last_tile = 32, share.slice_k = 16, share.stages = 3;
    share.panel_k = 40, share.panel_other = 48;
    call.split.gpus.push_back(share);
  }
  return call;
}

// Of the columns that the message names.
std::int64_t columns_named(const std::string& message) {
  std::int64_t count = 0;
  for (std::size_t at = message.find("columns "); (at = message.find(" to ", at)) != std::string::npos;
       ++at) {
    const std::size_t begin = message.find_last_of(' ', at - 1) + 1;
    count += std::stoll(message.substr(at + 4)) - std::stoll(message.substr(begin)) + 1;
  }
  return count;
}

void expect_told(const SimulatedResult& result, const std::string& what) {
  EXPECT_EQ(result.code, ErrorCode::device_lost) << what << result.error;
  EXPECT_NE(result.error.find("Sim"), std::string::npos) << what << result.error;
  EXPECT_GE(columns_named(result.error), result.wrong) << what << result.error;
  EXPECT_LE(columns_named(result.error), 160) << what << "the CPU's part is not among them";
}

TEST(StreamFaults, AnyOperationMayBeTheLast) {
  for (const bool pinned : {true, false})
    for (const Scalar beta : {Scalar::zero, Scalar::general})
      for (const int gpus : {1, 2}) {
        const int operations = run_simulated(faulty_call(gpus, pinned, beta, false)).operations[0];
        ASSERT_GT(operations, 10);
        for (int last = 1; last < operations; last += 1 + operations / 20)
          for (const bool redo : {false, true}) {
            SimulatedCall call = faulty_call(gpus, pinned, beta, redo);
            call.faults[0].lost_after = last;
            const SimulatedResult result = run_simulated(call);
            const std::string what = fmt::format("pinned {} beta {} gpus {} lost after {} redo {}: ", pinned,
                                                 to_string(beta), gpus, last, redo);
            if (!redo) {
              expect_told(result, what);
              continue;
            }
            EXPECT_TRUE(result.is_right) << what << result.error;
            EXPECT_GT(result.report.redone, 0) << what;
            EXPECT_FALSE(result.report.failures.empty()) << what;
          }
      }
}

TEST(StreamFaults, ACopyMayStopHalfWay) {
  for (const bool pinned : {true, false})
    for (const Scalar beta : {Scalar::zero, Scalar::general})
      for (int copy = 1; copy <= 18; ++copy)
        for (const bool redo : {false, true}) {
          SimulatedCall call = faulty_call(1, pinned, beta, redo);
          call.faults[0].failing_copy = copy;
          const SimulatedResult result = run_simulated(call);
          const std::string what =
              fmt::format("pinned {} beta {} copy {} redo {}: ", pinned, to_string(beta), copy, redo);
          if (result.report.failures.empty() && result.error.empty()) {
            EXPECT_TRUE(result.is_right) << what << "there are no so many";
            continue;
          }
          if (redo)
            EXPECT_TRUE(result.is_right) << what << result.error;
          else
            expect_told(result, what);
        }
}

TEST(StreamFaults, AllocationsMayFail) {
  for (int allocation = 1; allocation <= 9; ++allocation)
    for (const bool redo : {false, true}) {
      SimulatedCall call = faulty_call(2, true, Scalar::general, redo);
      call.faults[1].failing_allocation = allocation;
      const SimulatedResult result = run_simulated(call);
      if (redo) {
        EXPECT_TRUE(result.is_right) << allocation << result.error;
        EXPECT_EQ(result.report.redone, 80);
        continue;
      }
      EXPECT_EQ(result.code, ErrorCode::out_of_memory);
      EXPECT_NE(result.error.find("columns 80 to 159 of C are undefined"), std::string::npos) << result.error;
      EXPECT_EQ(result.wrong, 80) << "the others' are there";
    }
}

TEST(StreamFaults, AllGpusMayFail) {
  SimulatedCall call = faulty_call(3, true, Scalar::one, true);
  for (SimulatedFaults& faults : call.faults) faults.lost_after = 3;
  const SimulatedResult result = run_simulated(call);
  EXPECT_TRUE(result.is_right) << result.error;
  EXPECT_EQ(result.report.redone, 160);
  EXPECT_EQ(result.report.failures.size(), 3u);
}

TEST(StreamFaults, TheHostsOwnFailureIsThrown) {
  SimulatedCall call = faulty_call(1, true, Scalar::one, true);
  TestOperands<double> operands(call.problem);
  SimulatedNode node(call.node, multiply_on_host);
  const std::vector<StreamDevice*> devices{&node.device(0)};
  const std::vector<StreamSchedule> schedules = schedules_on(devices, call.problem, call.split);
  StreamJob job{call.problem, operands.operands(), call.split, devices, schedules};
  job.redo_on_host = true;
  job.multiply_on_host = [](const GemmProblem&, const Operands&) {
    throw Error(ErrorCode::unsupported, "", "no library");
  };
  EXPECT_THROW(stream_gemm(job), Error);
}

}  // namespace
}  // namespace tilewright::testing
