// The main test of the kernels: for a covering design of problems, and for the acceptance sizes, many configs
// of the space are made for every instruction set of this machine, run on guarded operands and compared with
// the oracle. The tests of gemm/ cover the choice of a config and the validation of arguments.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kernel/gemm_small_cpu/columns_tile.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "support/cases.hpp"
#include "support/covering.hpp"
#include "support/failures.hpp"
#include "support/isas.hpp"
#include "support/kernel_trial.hpp"

namespace tilewright::testing {
namespace {

void check_problem(const Choices& choices, Isa isa, std::size_t config_limit, Failures& failures) {
  const auto trial = make_kernel_trial(choices);
  const GemmProblem& problem = trial->problem();
  const auto reasons = gemm_small_cpu_space(problem, isa).explain(gemm_small_cpu_default(problem, isa));
  if (!reasons.empty())
    failures.failed(fmt::format("the default config for {} is no point of the space: {}", to_string(problem),
                                fmt::join(reasons, "; ")));
  std::size_t tried = 0, wrong_count = 0;
  std::string first;
  for (const GemmSmallCpuConfig& config : sample_configs(problem, isa, config_limit, choices.seed)) {
    ++tried;
    const std::string wrong = trial->run(config);
    failures.note_quietly(wrong.empty());
    if (!wrong.empty() && ++wrong_count == 1)
      first = fmt::format("config {}\n    {}", describe(config), wrong);
  }
  if (wrong_count > 0)
    failures.show(fmt::format("{}\n    {} of {} configs fail; the first: {}", to_string(make_case(choices)),
                              wrong_count, tried, first));
}

class GemmSmallCpu : public ::testing::TestWithParam<std::tuple<Isa, DType>> {};

// Factors of the design, in the order of its columns.
std::vector<Choices> design(DType dtype) {
  constexpr std::array lengths{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 33, 63, 64};
  constexpr std::array layouts{Layout::single, Layout::strided, Layout::pointer, Layout::interleaved,
                               Layout::block_interleaved};
  constexpr std::array paddings{0, 1, 7};
  constexpr std::array broadcasts{0, 0, 1, 2, 3, 4};  // bit 0: A, bit 1: B, bit 2: row bands instead
  constexpr std::array interleaved_counts{1, 5, 8, 16, 19, 64};
  const auto n = [](const auto& levels) { return static_cast<int>(levels.size()); };
  const std::vector<int> level_counts{
      n(lengths),  n(lengths),  n(lengths),    n(layouts) * 9,        n(kernel_alphas),      n(kernel_betas),
      n(paddings), n(paddings), n(broadcasts), n(cases::block_sizes), n(interleaved_counts), 2};
  std::vector<Choices> all;
  for (const auto& row : covering_rows(level_counts)) {
    const auto level = [&](std::size_t factor) { return static_cast<std::size_t>(row[factor]); };
    Choices x;
    x.dtype = dtype;
    x.size = {lengths[level(0)], lengths[level(1)], lengths[level(2)]};
    x.layout = layouts[level(3) / 9];
    x.op_a = cases::ops[level(3) % 9 / 3];
    x.op_b = cases::ops[level(3) % 3];
    x.alpha = kernel_alphas[level(4)];
    x.beta = kernel_betas[level(5)];
    x.ld_padding = paddings[level(6)];
    x.stride_padding = paddings[level(7)];
    x.broadcast_a = (broadcasts[level(8)] & 1) != 0;
    x.broadcast_b = (broadcasts[level(8)] & 2) != 0;
    x.row_bands = (broadcasts[level(8)] & 4) != 0;
    x.block = cases::block_sizes[level(9)];
    x.batch_count = interleaved_counts[level(10)];
    x.data = level(11) == 0 ? Data::exact : Data::random;
    x.seed = all.size() + 1;
    all.push_back(x);
  }
  return all;
}

// Long products take long to generate and to compute and reach few phases that short ones do not. If
// TILEWRIGHT_TEST_LONG is set, as in scripts/soak, each problem is tried with three times as many configs.
std::size_t configs_worth(const cases::Size& size) {
  static const std::size_t share = std::getenv("TILEWRIGHT_TEST_LONG") != nullptr ? 1 : 3;
  const auto work = size.m * size.n * size.k;
  return (work <= 4096 ? 42 : work <= 32768 ? 12 : 6) / share;
}

TEST_P(GemmSmallCpu, DesignOfProblems) {
  const auto [isa, dtype] = GetParam();
  Failures failures;
  for (const Choices& choices : design(dtype)) {
    if (failures.too_many()) break;
    check_problem(choices, isa, configs_worth(choices.size), failures);
  }
  RecordProperty("cases", static_cast<int>(failures.case_count()));
}

TEST_P(GemmSmallCpu, AcceptanceSizes) {
  const auto [isa, dtype] = GetParam();
  Failures failures;
  std::uint64_t seed = 1000;
  for (const cases::Size& size : cases::acceptance_sizes())
    for (ScalarChoice beta : {ScalarChoice::zero, ScalarChoice::one}) {
      if (failures.too_many()) break;
      check_problem({.dtype = dtype, .size = size, .beta = beta, .seed = ++seed}, isa, 100, failures);
    }
  RecordProperty("cases", static_cast<int>(failures.case_count()));
}

// Cases that few samples of a space reach: whole problems in one vector, in counts that fill no period, with
// every operand held; and tails in parts.
TEST_P(GemmSmallCpu, TinyProblemsInEveryWay) {
  const auto [isa, dtype] = GetParam();
  if (isa == Isa::portable) GTEST_SKIP() << "the portable kernels do neither";
  Failures failures;
  std::uint64_t seed = 3000;
  std::size_t side_by_side = 0, in_parts = 0;
  for (int i = 0; i < 8 * 8 * 8 && !failures.too_many(); ++i) {
    const cases::Size size{1 + i % 8, 1 + i / 8 % 8, 1 + i / 64};
    const auto trial = make_kernel_trial({.dtype = dtype,
                                          .op_a = i % 5 == 4 ? Op::trans : Op::none,
                                          .op_b = i % 3 == 2 ? Op::trans : Op::none,
                                          .size = size,
                                          .beta = i % 2 == 0 ? ScalarChoice::one : ScalarChoice::zero,
                                          .seed = ++seed});
    const auto space = gemm_small_cpu_space(trial->problem(), isa);
    const auto check = [&](const GemmSmallCpuConfig& config) {
      if (!space.contains(config)) return false;
      const std::string wrong = trial->run(config);
      failures.note_quietly(wrong.empty());
      if (!wrong.empty())
        failures.show(
            fmt::format("{} config {}\n    {}", to_string(trial->problem()), describe(config), wrong));
      return true;
    };
    GemmSmallCpuConfig config = gemm_small_cpu_default(trial->problem(), isa);
    check(config);
    config.matrices_per_vector = 1;
    config.hold = Hold::a;
    config.tail = Tail::split;
    in_parts += check(config);
    config.tail = Tail::mask;
    config.matrices_per_vector = 0;
    for (const Hold hold : {Hold::a, Hold::b, Hold::both, Hold::none}) {
      config.hold = hold;
      side_by_side += check(config);
    }
  }
  EXPECT_EQ(side_by_side > 100, !is_complex(dtype)) << side_by_side;
  // Rows of c128 are pairs of lanes, which fill 16 bytes.
  EXPECT_EQ(in_parts > 50, isa == Isa::avx2 && dtype != DType::c128) << in_parts;
  RecordProperty("cases", static_cast<int>(failures.case_count()));
}

// Masked stores are dozens of instructions on some processors with AVX2, and permutations cost more there.
TEST(GemmSmallCpuDefaults, OfAvx2) {
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (int m = 1; m <= 33; ++m)
      for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::general}) {
        GemmProblem p;
        p.dtype = dtype, p.layout = Layout::strided, p.batch_count = 100, p.residency = Residency::l1;
        p.m = p.n = p.k = p.lda = p.ldb = p.ldc = m;
        p.stride_a = p.stride_b = p.stride_c = m * m;
        p.beta = beta;
        const auto config = gemm_small_cpu_default(p, Isa::avx2);
        EXPECT_TRUE(gemm_small_cpu_space(p, Isa::avx2).contains(config)) << to_string(p);
        const auto pieces = columns::make_tile(p, config).pieces;
        const bool masked = std::any_of(pieces.begin(), pieces.end(), [](const auto& x) { return x.masked; });
        EXPECT_TRUE(!masked || config.tail == Tail::split) << to_string(p) << ' ' << describe(config);
        const bool columns_of_16 = m * size_bytes(dtype) <= 16 && m > 1 && m % 2 == 0;
        EXPECT_EQ(config.matrices_per_vector == 0,
                  columns_of_16 && !is_complex(dtype) && beta != Scalar::general)
            << to_string(p) << ' ' << describe(config);
      }
}

// Short columns lie far apart, as in bands of large matrices: offsets and prefetches step over wide gaps.
TEST_P(GemmSmallCpu, WideGapsBetweenColumns) {
  const auto [isa, dtype] = GetParam();
  Failures failures;
  std::uint64_t seed = 2000;
  for (const cases::Size& size : {cases::Size{2, 5, 6}, cases::Size{9, 4, 7}, cases::Size{33, 6, 20}})
    for (Op op_a : {Op::none, Op::trans})
      for (Op op_b : {Op::none, Op::trans})
        check_problem(
            {.dtype = dtype, .op_a = op_a, .op_b = op_b, .size = size, .ld_padding = 1021, .seed = ++seed},
            isa, 20, failures);
  RecordProperty("cases", static_cast<int>(failures.case_count()));
}

INSTANTIATE_TEST_SUITE_P(Isas, GemmSmallCpu,
                         ::testing::Combine(::testing::ValuesIn(runnable_isas()),
                                            ::testing::ValuesIn(cases::dtypes)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" +
                                  to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace tilewright::testing
