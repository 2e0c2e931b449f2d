// The parts of the command line that the built tool cannot show: how arrays are arranged without copies, that
// verification finds a wrong element, bounds, and the log. tests/cli/cli_test.py tests what users see.
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "arrays/gemm_arrays.hpp"
#include "core/ceilings.hpp"
#include "core/record_log.hpp"
#include "gemm_job.hpp"
#include "lists.hpp"
#include "report/wisdom_table.hpp"
#include "support/temp_folder.hpp"
#include "tune_check.hpp"
#include "tune_flags.hpp"

namespace tilewright::cli {
namespace {

ArrayInfo array(std::vector<std::int64_t> shape, char order, DType dtype = DType::f64) {
  NpyHeader header;
  header.dtype = dtype;
  header.shape = std::move(shape);
  header.fortran_order = order == 'F';
  return {array_shape(header, "X", "X = 'x.npy'"), dtype, "X = 'x.npy'"};
}

TEST(HybridFlags, GpusMemoryAndShares) {
  EXPECT_EQ(parse_gpus("2"), (std::vector<int>{0, 1}));
  EXPECT_EQ(parse_gpus("0,2"), (std::vector<int>{0, 2}));
  EXPECT_EQ(parse_gpus("1,"), (std::vector<int>{1}));
  EXPECT_EQ(parse_bytes("--gpu-memory", "8GiB"), std::int64_t(8) << 30);
  EXPECT_EQ(parse_bytes("--gpu-memory", "1.5MiB"), 3 << 19);
  EXPECT_EQ(parse_bytes("--gpu-memory", "8e9"), 8000000000);
  const auto options = [](const std::string& split) {
    GemmOptions options;
    HybridFlags flags;
    flags.split = split;
    set_hybrid(flags, options);
    return options;
  };
  EXPECT_EQ(options("guided").split, SplitRule::guided);
  EXPECT_EQ(options("25%").cpu_share, 0.25);
  EXPECT_EQ(options("0.5").split, SplitRule::fixed);
  EXPECT_FALSE(options("model").cpu_share.has_value());
  for (const char* wrong : {"fixed", "1.5", "150%", "-0.1", "", "%", "x"})
    EXPECT_THROW(options(wrong), Error) << wrong;
  for (const char* wrong : {"", "8 gigabytes", "GiB", "-1GiB", "0"})
    EXPECT_THROW(parse_bytes("--gpu-memory", wrong), Error) << wrong;
  for (const char* wrong : {"x", "-1", "0", "1.5"}) EXPECT_THROW(parse_gpus(wrong), Error) << wrong;
}

TEST(Arrange, COrderSwapsOperandsAndKeepsOps) {
  const auto plan = arrange(array({6, 5, 3}, 'C'), array({6, 3, 7}, 'C'), {}, Op::none, Op::none);
  EXPECT_TRUE(plan.swapped);
  EXPECT_FALSE(plan.copy_a || plan.copy_b);
  EXPECT_EQ(to_string(plan.problem), "gemm_batched:f64:nn:m=7,n=5,k=3:strided:batch=6");
  EXPECT_EQ(plan.c_shape(), (std::vector<std::int64_t>{6, 5, 7}));
}

TEST(Arrange, FortranOrderIsColumnMajorAndInterleaved) {
  auto plan = arrange(array({5, 3}, 'F'), array({3, 7}, 'F'), {}, Op::none, Op::none);
  EXPECT_FALSE(plan.swapped);
  EXPECT_EQ(to_string(plan.problem), "gemm:f64:nn:m=5,n=7,k=3");
  plan = arrange(array({6, 3, 5}, 'F'), array({6, 3, 7}, 'F'), {}, Op::trans, Op::none);
  EXPECT_FALSE(plan.swapped || plan.copy_a || plan.copy_b);
  EXPECT_EQ(plan.problem.layout, Layout::interleaved);
  EXPECT_EQ(plan.problem.block, 6);
  EXPECT_EQ(plan.problem.op_a, Op::trans);
}

TEST(Arrange, MixedMatrixOrdersBecomeOpsWithoutCopies) {
  const auto plan = arrange(array({5, 3}, 'C'), array({3, 7}, 'F'), {}, Op::none, Op::none);
  EXPECT_FALSE(plan.copy_a || plan.copy_b);
  EXPECT_EQ(to_string(plan.problem), "gemm:f64:tn:m=7,n=5,k=3");
  const auto conjugate = arrange(array({5, 3}, 'C'), array({7, 3}, 'F'), {}, Op::none, Op::conj_trans);
  EXPECT_FALSE(conjugate.copy_a || conjugate.copy_b);
  EXPECT_EQ(conjugate.problem.op_a, Op::none);  // real: the conjugate is the value itself
}

TEST(Arrange, ConjugateOfTheOtherOrderTurnsTheOutputOrCopies) {
  const auto c64 = DType::c64;
  auto plan = arrange(array({5, 3}, 'C', c64), array({7, 3}, 'F', c64), {}, Op::none, Op::conj_trans);
  EXPECT_FALSE(plan.copy_a || plan.copy_b);
  EXPECT_EQ(plan.c.order, Order::column_major);
  plan = arrange(array({3, 5}, 'C', c64), array({7, 3}, 'F', c64), {}, Op::conj_trans, Op::conj_trans);
  EXPECT_EQ(plan.c.order, Order::row_major);
  EXPECT_FALSE(plan.copy_a);
  EXPECT_TRUE(plan.copy_b);
  ASSERT_GE(plan.notes.size(), 1u);
  EXPECT_NE(plan.notes[0].find("B (Fortran order) is copied to C order"), std::string::npos);
}

TEST(Arrange, MixedBatchesAreCopiedToCOrder) {
  const auto plan = arrange(array({6, 5, 3}, 'F'), array({6, 3, 7}, 'C'), {}, Op::none, Op::none);
  EXPECT_TRUE(plan.copy_a);
  EXPECT_FALSE(plan.copy_b);
  EXPECT_EQ(plan.c.order, Order::row_major);
  const auto large = arrange(array({6, 5, 300}, 'F'), array({6, 300, 7}, 'F'), {}, Op::none, Op::none);
  EXPECT_TRUE(large.copy_a && large.copy_b);  // no kernel reads interleaved data of that size
}

TEST(Arrange, SharedArraysHaveStrideZero) {
  const auto plan = arrange(array({6, 5, 3}, 'C'), array({3, 7}, 'F'), {}, Op::none, Op::none);
  EXPECT_EQ(plan.problem.stride_a, 0);  // B, swapped
  EXPECT_EQ(plan.problem.op_a, Op::trans);
  EXPECT_EQ(plan.problem.stride_b, 15);
  EXPECT_EQ(plan.problem.stride_c, 35);
}

TEST(CopyArray, EveryPairOfOrders) {
  const std::int64_t batch = 37, rows = 41, cols = 35;
  for (const Order from : {Order::row_major, Order::column_major, Order::interleaved})
    for (const Order to : {Order::row_major, Order::column_major, Order::interleaved}) {
      const ArrayShape source{true, batch, rows, cols, from}, target{true, batch, rows, cols, to};
      std::vector<double> x(static_cast<std::size_t>(source.count())), y(x.size(), -1.0);
      std::iota(x.begin(), x.end(), 0.0);
      copy_array(DType::f64, x.data(), source, y.data(), target, 2);
      const auto s = source.strides(), t = target.strides();
      for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < cols; ++j)
            ASSERT_EQ(y[b * t[0] + i * t[1] + j * t[2]], x[b * s[0] + i * s[1] + j * s[2]]);
    }
}

class Verify : public ::testing::Test {
 protected:
  // C = A B for identity A, so C = B.
  void SetUp() override {
    const ArrayShape shape{true, 10, 4, 4, Order::row_major};
    a_.assign(160, 0.0);
    for (std::size_t p = 0; p < 10; ++p)
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j) a_[p * 16 + i * 4 + j] = i == j ? 1.0 : 0.0;
    b_.resize(160);
    std::iota(b_.begin(), b_.end(), 1.0);
    c_ = b_;
    input_.a = a_.data();
    input_.b = b_.data();
    input_.c = c_.data();
    input_.a_shape = input_.b_shape = input_.c_shape = shape;
    input_.threads = 2;
  }

  std::vector<double> a_, b_, c_;
  VerifyInput input_;
};

TEST_F(Verify, PassesAndSaysWhatItChecked) {
  const auto result = verify(input_);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.scope, "all 10 problems");
  EXPECT_EQ(result.error, 0);
}

TEST_F(Verify, FindsOneWrongElement) {
  c_[7 * 16 + 2 * 4 + 3] *= 1 + 1e-12;
  const auto result = verify(input_);
  EXPECT_FALSE(result.passed);
  EXPECT_GT(result.error, result.error_bound);
  EXPECT_NE(result.where.find("C[7, 2, 3]"), std::string::npos) << result.where;
}

TEST_F(Verify, FindsNanAndSwappedOps) {
  c_[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(verify(input_).passed);
  c_ = b_;
  input_.op_b = Op::trans;
  EXPECT_FALSE(verify(input_).passed);
}

TEST_F(Verify, InfinityInTheReferenceIsAcceptedInC) {
  b_[5] = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 4; ++i) c_[4 * i + 1] = std::numeric_limits<double>::quiet_NaN();  // 0 * inf
  c_[5] = b_[5];
  EXPECT_TRUE(verify(input_).passed);
}

TEST_F(Verify, SamplesWhatIsTooLarge) {
  const std::int64_t batch = 3000;
  const std::vector<double> a(16, 0.0), c(static_cast<std::size_t>(batch * 16), 0.0);
  input_.a = a.data();
  input_.c = c.data();
  input_.a_shape = input_.b_shape = {false, 1, 4, 4, Order::row_major};  // shared by the batch
  input_.c_shape = {true, batch, 4, 4, Order::row_major};
  input_.flop_limit = 128 * 100;
  const auto result = verify(input_);
  EXPECT_TRUE(result.passed);
  EXPECT_NE(result.scope.find("of 3000 problems"), std::string::npos) << result.scope;
  EXPECT_EQ(result.scope.find("a random"), 0u) << result.scope;
  input_.c_shape.batch = 1;
  input_.flop_limit = 64;
  EXPECT_EQ(verify(input_).scope, "a random 2 of 4 columns of the product");
}

TEST(BoundOf, IsTheLargerOfBytesAndFlops) {
  Ceilings ceilings;
  ceilings.fma_f64_512 = 100;
  ceilings.memory_write = 20;
  ceilings.memory_update = 40;
  GemmProblem p = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000:residency=cold");
  Bound bound = bound_of(p, ceilings);
  EXPECT_EQ(bound.kind, "memory");
  EXPECT_DOUBLE_EQ(bound.seconds, 1.536e9 / 20e9);
  p.residency = Residency::l2;
  bound = bound_of(p, ceilings);
  EXPECT_EQ(bound.kind, "compute");
  EXPECT_DOUBLE_EQ(bound.gflops, 100);
}

TEST(Pieces, CoverTheWholeOnce) {
  const auto batch = parse_problem("gemm_batched:f64:nn:m=8,n=4,k=2:strided:batch=1000003");
  EXPECT_EQ(cut_into_pieces(batch, 1.9).size(), 1u);
  auto pieces = cut_into_pieces(batch, 5);
  ASSERT_EQ(pieces.size(), 10u);
  std::int64_t at = 0;
  for (const Piece& piece : pieces) {
    EXPECT_EQ(piece.a_offset, at * 16);
    EXPECT_EQ(piece.b_offset, at * 8);
    EXPECT_EQ(piece.c_offset, at * 32);
    at += piece.problem.batch_count;
  }
  EXPECT_EQ(at, 1000003);

  const auto single = parse_problem("gemm:f64:nt:m=5000,n=5003,k=7000");
  pieces = cut_into_pieces(single, 3);
  EXPECT_EQ(pieces.size(), 6u);
  at = 0;
  for (const Piece& piece : pieces) {
    EXPECT_EQ(piece.a_offset, 0);
    EXPECT_EQ(piece.b_offset, at);  // a transposed B has its columns as rows
    EXPECT_EQ(piece.c_offset, at * 5000);
    at += piece.problem.n;
  }
  EXPECT_EQ(at, 5003);
  EXPECT_EQ(cut_into_pieces(parse_problem("gemm:f64:nn:m=5,n=300,k=5"), 1000).size(), 2u);
  EXPECT_EQ(cut_into_pieces(parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:interleaved:batch=100"), 9).size(),
            1u);
}

TEST(RecordLog, MergesAndNamesABadLine) {
  const TempFolder folder;
  const std::string path = folder / "log.jsonl";
  auto p = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10");
  p.residency = Residency::l1;
  record_run(path, p, 1);
  record_run(path, p, 2);
  p.residency = Residency::cold;
  record_run(path, p, 4);
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  EXPECT_EQ(
      line,
      R"({"count":2,"problem":"gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10","residency":"l1","seconds":3.0})");
  std::getline(stream, line);
  EXPECT_NE(line.find(R"("residency":"cold")"), std::string::npos);
  std::ofstream(path, std::ios::app) << "nonsense\n";
  try {
    record_run(path, p, 1);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
  }
}

TEST(RecordLog, AddsManyRunsAndReadsThemBack) {
  const TempFolder folder;
  const std::string path = folder / "log.jsonl";
  auto small = parse_problem("gemm:f32:nt:m=8,n=9,k=10"), large = parse_problem("gemm:f64:nn:m=70,n=70,k=70");
  small.residency = Residency::l2;
  const std::vector<RecordedRuns> first{{small, 3, 0.5}, {large, 1, 2}, {small, 2, 0.25}};
  record_runs(path, first);
  record_runs(path, std::vector<RecordedRuns>{{large, 9, 1}});
  const auto runs = read_record(path);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].problem, small);
  EXPECT_EQ(runs[0].count, 5);
  EXPECT_EQ(runs[0].seconds, 0.75);
  EXPECT_EQ(runs[1].problem, large);
  EXPECT_EQ(runs[1].count, 10);
  EXPECT_EQ(runs[1].seconds, 3);
  EXPECT_THROW(read_record(folder / "none.jsonl"), Error);
}

TEST(RecordLog, KeepsWhatTookLongest) {
  const TempFolder folder;
  const std::string path = folder / "log.jsonl";
  std::vector<RecordedRuns> runs;
  for (std::size_t i = 0; i < most_recorded + 10; ++i) {
    auto p = parse_problem("gemm:f32:nn:m=8,n=8,k=8");
    p.m = p.lda = p.ldc = std::int64_t(8 + i);
    runs.push_back({p, 1, i < 10 ? 1e-6 : 1.0 + double(i)});
  }
  record_runs(path, runs);
  const auto kept = read_record(path);
  ASSERT_EQ(kept.size(), most_recorded);
  EXPECT_EQ(kept.front().problem, runs[10].problem);
  EXPECT_EQ(kept.back().problem, runs.back().problem);
}

TEST(TuneReport, EveryConstraintHasALineAndManyAreToldBriefly) {
  const std::vector<Removed> removed = {
      {"first reason", "", 9, 5}, {"cut nothing", "", 9, 0}, {"second", "", 90, 70}, {"third", "", 9, 1}};
  const std::string all = removed_text(removed, 10);
  for (const char* line : {"       5  first reason\n", "      70  second\n", "       1  third\n"})
    EXPECT_NE(all.find(line), std::string::npos) << all;
  EXPECT_EQ(all.find("cut nothing"), std::string::npos);
  const std::string brief = removed_text(removed, 1);
  EXPECT_NE(brief.find("      70  second\n"), std::string::npos) << brief;
  EXPECT_NE(brief.find("       6  2 others\n"), std::string::npos) << brief;
  EXPECT_EQ(removed_text({{"cut nothing", "", 9, 0}}, 1), "");
}

TEST(Lists, ObjectivesHaveWeights) {
  GemmOptions options;
  const auto set = [&](const char* text) { set_objective("--objective", text, options); };
  set("edp");
  EXPECT_EQ(options.objective, Objective::edp);
  EXPECT_FALSE(options.objective_weight);
  set("alpha=0.7");
  EXPECT_EQ(options.objective, Objective::alpha);
  EXPECT_EQ(options.objective_weight, 0.7);
  set("energy_within=10%");
  EXPECT_EQ(options.objective, Objective::energy_within);
  EXPECT_EQ(options.objective_weight, 0.1);
  for (const char* text : {"alpha", "alpha=", "alpha=2", "alpha=0.7x", "joules", "edp=1"}) try {
      set(text);
      ADD_FAILURE() << text << " was taken";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("--objective"), std::string::npos) << error.what();
    }
}

TEST(Seeds, AreThoseOfTheSameProblemTheNearestBatchFirst) {
  const TempFolder folder;
  const auto line = [](const char* family, const std::string& problem, int nr) {
    return nlohmann::json{{"family", family}, {"problem", problem}, {"config", {{"nr", nr}}}}.dump() + "\n";
  };
  const std::string problem = "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=";
  const std::string path = folder.write(
      "seeds.jsonl", "{\"command\": \"bench\"}\n" + line("gemm_small_cpu", problem + "1000000", 1) +
                         line("gemm_small_cpu", problem + "100", 2) +
                         line("gemm_small_cpu", problem + "90", 2) + line("other", problem + "100", 3) +
                         line("gemm_small_cpu", "gemm_batched:f64:nt:m=4,n=4,k=4:strided:batch=100", 4));
  const auto found = Seeds(path).of("gemm_small_cpu", parse_problem(problem + "100:residency=l1"));
  EXPECT_EQ(found, (std::vector<nlohmann::json>{{{"nr", 2}}, {{"nr", 1}}}));
  EXPECT_THROW(Seeds(folder / "none"), Error);
  EXPECT_THROW(Seeds(folder.write("bad.jsonl", "{\n")), Error);
}

// What two looks at a record at different times say together.
TEST(Recheck, ARegressionIsOneWhereBothTimesSaySo) {
  const Checked regressed{.verdict = "regression: slower than the default"};
  const Checked held, unsure{.verdict = "unknown: the machine drifts too much"};
  EXPECT_TRUE(agreed(regressed, regressed).regressed());
  for (const Checked& second : {held, unsure}) {
    const Checked both = agreed(regressed, second);
    EXPECT_FALSE(both.regressed());
    EXPECT_FALSE(both.holds());
    EXPECT_TRUE(both.verdict.starts_with("unknown: ")) << both.verdict;
  }
  EXPECT_NE(agreed(regressed, held).verdict.find("slower than the default"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::cli
