// Batches in host memory through simulated GPUs: every layout, type and beta against the reference, gaps and
// padding untouched, faults in the middle, and which processor the models take.
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/split/shares.hpp"
#include "simulated_job.hpp"

namespace tilewright::testing {
namespace {

GemmProblem host_batch(DType dtype, Layout layout, std::int64_t count, Scalar beta, std::int64_t padding) {
  GemmProblem p = host_product(dtype, Op::none, Op::trans, 6, 5, 7, beta, padding);
  p.layout = layout, p.batch_count = count;
  if (layout == Layout::interleaved) p.block = count;
  if (layout == Layout::block_interleaved) p.block = 16;
  return packed(p);
}

Split batch_split(std::int64_t count, int gpus, std::int64_t host, std::int64_t piece, std::int64_t grain) {
  Split split;
  split.side = SplitSide::problems;
  split.host_count = host, split.host_first = count - host;
  split.copy_threads = 2;
  std::int64_t first = 0;
  for (int i = 0; i < gpus; ++i) {
    GpuShare share;
    share.gpu = i, share.first = first;
    share.count = i + 1 == gpus ? split.host_first - first : split.host_first / gpus / grain * grain;
    share.tile = piece, share.stages = 3;
    first += share.count;
    split.gpus.push_back(share);
  }
  return split;
}

struct NamedBatch {
  const char* name;
  GemmProblem problem;
};

// Each way in which problems may follow one another.
std::vector<NamedBatch> batches(DType dtype, Scalar beta) {
  std::vector<NamedBatch> all;
  const std::int64_t count = 100;
  for (const Layout layout :
       {Layout::strided, Layout::pointer, Layout::interleaved, Layout::block_interleaved})
    for (const std::int64_t padding : {0, 3})
      all.push_back({padding == 0 ? "packed" : "padded", host_batch(dtype, layout, count, beta, padding)});
  GemmProblem apart = host_batch(dtype, Layout::strided, count, beta, 2);
  apart.stride_a += 5, apart.stride_b += 1, apart.stride_c += 3;
  all.push_back({"apart", apart});
  GemmProblem bands = host_batch(dtype, Layout::strided, count, beta, 0);
  bands.ldc = bands.m * count + 4, bands.stride_c = bands.m;
  bands.lda = bands.m * count + 1, bands.stride_a = bands.m;
  all.push_back({"bands", bands});
  GemmProblem shared = host_batch(dtype, Layout::strided, count, beta, 1);
  shared.stride_a = 0;
  all.push_back({"one A", shared});
  shared.stride_b = 0;
  all.push_back({"one A and B", shared});
  GemmProblem sliding = host_batch(dtype, Layout::strided, count, beta, 0);
  sliding.stride_a = 3;
  all.push_back({"overlapping A", sliding});
  return all;
}

SimulatedCall call_of(const GemmProblem& problem, int gpus, bool pinned, std::int64_t host = 16) {
  SimulatedCall call;
  call.problem = problem;
  call.node = small_node(gpus);
  call.pinned = pinned;
  const StreamShape shape(problem, SplitSide::problems);
  call.split = batch_split(problem.batch_count, gpus, host, 16, shape.grain());
  return call;
}

TEST(HybridBatch, EveryLayoutIsRight) {
  int draw = 0;
  for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
    for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::general})
      for (const auto& [name, problem] : batches(dtype, beta))
        for (const bool pinned : {true, false}) {
          const int gpus = 1 + draw++ % 2;
          // 100 problems end in a block that is used in part: with no share of the CPU's it is a GPU's.
          SimulatedCall call = call_of(problem, gpus, pinned, draw % 3 == 0 ? 0 : 20);
          const SimulatedResult result = run_simulated(call);
          EXPECT_TRUE(result.is_right)
              << name << " " << to_string(problem) << " pinned " << pinned << " on " << gpus << result.error;
          EXPECT_GT(result.operations[0], 0) << name;
        }
}

TEST(HybridBatch, PiecesCoverARangeOnceAndKeepToBlocks) {
  for (const auto& [name, problem] : batches(DType::f64, Scalar::zero)) {
    const StreamShape shape(problem, SplitSide::problems);
    for (const std::int64_t most : {1, 16, 33, 1000}) {
      std::int64_t next = 16;
      for (const IndexRange& piece : shape.pieces({16, problem.batch_count - 16}, most)) {
        EXPECT_EQ(piece.first, next) << name;
        EXPECT_GT(piece.count, 0) << name;
        EXPECT_LE(piece.count, std::max(most, shape.grain())) << name;
        next = piece.first + piece.count;
        const GemmProblem product = shape.packed_product(piece);
        EXPECT_EQ(product.batch_count, piece.count) << name;
        EXPECT_EQ(product.location, Location::device) << name;
        if (problem.layout == Layout::block_interleaved)
          EXPECT_TRUE(piece.count % problem.block == 0 || piece.count < problem.block) << piece.count;
      }
      EXPECT_EQ(next, problem.batch_count) << name;
    }
  }
}

// With pinned memory nothing but pointers and odd gaps is gathered, and what is shared moves once.
TEST(HybridBatch, BytesThatMove) {
  const GemmProblem packed_batch = host_batch(DType::f64, Layout::strided, 96, Scalar::zero, 0);
  const std::int64_t a = 6 * 7 * 8, b = 7 * 5 * 8;
  EXPECT_EQ(run_simulated(call_of(packed_batch, 1, true, 0)).bytes_in[0], 96 * (a + b));
  GemmProblem shared = packed_batch;
  shared.stride_a = 0;
  EXPECT_EQ(run_simulated(call_of(shared, 1, true, 0)).bytes_in[0], a + 96 * b);
  const GemmProblem adding = host_batch(DType::f64, Layout::strided, 96, Scalar::one, 0);
  EXPECT_EQ(run_simulated(call_of(adding, 1, true, 0)).bytes_in[0], 96 * (a + b + 6 * 5 * 8));
}

std::int64_t wrong_problems(const std::string& message) {
  std::int64_t count = 0;
  for (std::size_t at = message.find("problems "); (at = message.find(" to ", at)) != std::string::npos;
       ++at) {
    const std::size_t begin = message.find_last_of(' ', at - 1) + 1;
    count += std::stoll(message.substr(at + 4)) - std::stoll(message.substr(begin)) + 1;
  }
  return count;
}

TEST(HybridBatch, AnyOperationMayBeTheLast) {
  for (const Layout layout : {Layout::strided, Layout::pointer, Layout::block_interleaved})
    for (const bool pinned : {true, false})
      for (const Scalar beta : {Scalar::zero, Scalar::general})
        for (const bool redo : {false, true}) {
          const GemmProblem problem = host_batch(DType::f64, layout, 112, beta, 0);
          SimulatedCall call = call_of(problem, 2, pinned);
          call.redo_on_host = redo;
          const int operations = run_simulated(call).operations[0];
          ASSERT_GT(operations, 5);
          for (int last = 1; last < operations; ++last) {
            call.faults.assign(2, {});
            call.faults[0].lost_after = last;
            const SimulatedResult result = run_simulated(call);
            const std::string what =
                fmt::format("{} pinned {} beta {} redo {} last {}: {}", to_string(layout), pinned,
                            to_string(beta), redo, last, result.error);
            if (redo) {
              EXPECT_TRUE(result.is_right) << what;
              EXPECT_GT(result.report.redone, 0) << what;
              continue;
            }
            EXPECT_EQ(result.code, ErrorCode::device_lost) << what;
            EXPECT_GT(wrong_problems(result.error), 0) << what;
            EXPECT_LE(wrong_problems(result.error), 48) << what;
          }
        }
}

TEST(HybridBatch, MemoryThatIsRefusedIsToldOfOrMadeGood) {
  const GemmProblem problem = host_batch(DType::f64, Layout::strided, 112, Scalar::general, 0);
  for (int allocation = 1; allocation <= 9; ++allocation)
    for (const bool redo : {false, true}) {
      SimulatedCall call = call_of(problem, 1, true);
      call.redo_on_host = redo;
      call.faults = {{.failing_allocation = allocation}};
      const SimulatedResult result = run_simulated(call);
      EXPECT_EQ(result.is_right, redo) << allocation << result.error;
      EXPECT_EQ(result.code, redo ? ErrorCode::ok : ErrorCode::out_of_memory) << result.error;
    }
}

SplitRequest request_of(const GemmProblem& problem, int gpus, bool pinned) {
  SplitRequest request;
  request.problem = problem;
  if (pinned) request.pinned = all_matrices;
  for (int i = 0; i < gpus; ++i) request.gpus.push_back(i);
  return request;
}

GemmProblem square_batch(std::int64_t n, std::int64_t count) {
  GemmProblem p = host_product(DType::f64, Op::none, Op::none, n, n, n, Scalar::zero, 0);
  p.layout = Layout::strided, p.batch_count = count;
  return packed(p);
}

TEST(HybridBatch, TinyProblemsStayWhereMemoryIsFast) {
  NodeModel node = default_node(32, {"GPU"});
  node.host.memory_bytes_per_s = 400e9;
  const SplitChoice choice = choose_split(node, request_of(square_batch(8, 1000000), 1, true));
  EXPECT_TRUE(choice.split.gpus.empty()) << choice.reason << splits_text(choice);
  EXPECT_EQ(choice.split.host_count, 1000000);
}

TEST(HybridBatch, LargeProblemsGoToTheGpu) {
  const NodeModel node = default_node(8, {"GPU"});
  const SplitChoice choice = choose_split(node, request_of(square_batch(512, 400), 1, true));
  ASSERT_FALSE(choice.split.gpus.empty()) << choice.reason << splits_text(choice);
  EXPECT_EQ(choice.split.side, SplitSide::problems);
  EXPECT_LT(choice.split.seconds, *choice.host_only_s);
}

TEST(HybridBatch, ASlowCpuGivesEvenTinyProblemsAway) {
  const NodeModel node = default_node(1, {"GPU"});
  const SplitChoice choice = choose_split(node, request_of(square_batch(8, 1000000), 1, true));
  EXPECT_FALSE(choice.split.gpus.empty()) << choice.reason << splits_text(choice);
}

TEST(HybridBatch, PredictionsAgreeWithTheSimulatedClock) {
  const NodeModel node = default_node(4, {"GPU"});
  for (const std::int64_t n : {16, 64, 256}) {
    const GemmProblem problem = square_batch(n, 100000000 / (n * n));
    SplitRequest request = request_of(problem, 1, true);
    request.may_use_host = false;
    const Split split = choose_split(node, request).split;
    SimulatedNode simulated(node);
    SimulatedDevice& device = simulated.device(0);
    const std::vector<StreamSchedule> schedules = schedules_on({&device}, problem, split);
    StreamJob job{problem, {}, split, {&device}, schedules, all_matrices};
    const std::int64_t bytes = std::int64_t(1) << 40;
    simulated.pin(nullptr, bytes);
    stream_gemm(job);
    const double measured = device.seconds() + node.host.stream_start_s;
    EXPECT_NEAR(split.seconds / measured, 1, 0.1) << n;
  }
}

TEST(HybridBatch, ACapIsKeptOrRefused) {
  const GemmProblem problem = square_batch(64, 10000);
  NodeModel node = small_node(1);
  SplitRequest request = request_of(problem, 1, true);
  request.may_use_host = false;
  const std::int64_t piece = 3 * 64 * 64 * 8 * 16;
  for (const std::int64_t cap : {2 * piece, 5 * piece, std::int64_t(1) << 28}) {
    request.memory_bytes = cap;
    SimulatedCall call;
    call.problem = square_batch(64, 64);
    call.node = node;
    request.problem = call.problem;
    call.split = choose_split(node, request).split;
    const SimulatedResult result = run_simulated(call);
    EXPECT_TRUE(result.is_right) << cap << result.error;
    EXPECT_LE(result.most_bytes[0], cap);
  }
  request.problem = problem;
  request.memory_bytes = 1000;
  try {
    choose_split(node, request);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("1000 bytes"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tilewright::testing
