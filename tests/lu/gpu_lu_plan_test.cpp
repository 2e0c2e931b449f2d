// Plans of matrices in device memory through the public calls: factors, systems, graphs, refusals.
#include <fmt/format.h>

#include <fstream>

#include "core/dispatch.hpp"
#include "device/gpu/copies.hpp"
#include "device/gpu/gpu.hpp"
#include "lu/reference.hpp"
#include "lu_cases.hpp"
#include "support/gpu_fixture.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/tilewright.h"
#include "tune/lu/operation.hpp"
#include "tune/tuner.hpp"
#include "wisdom/families.hpp"

namespace tilewright::testing {
namespace {

std::span<std::byte> room_of(const GpuBuffer& memory) { return {memory.as<std::byte>(), memory.bytes()}; }

// A matrix and its right-hand sides in device memory, with all that plans need.
template <class T>
struct OnDevice {
  OnDevice(const Gpu& gpu, const LuMatrixOf<T>& a, const LuMatrixOf<T>& b, const LuPlan& lu,
           const LuSolvePlan& systems)
      : a_(gpu, a.data.size() * sizeof(T)),
        b_(gpu, b.data.size() * sizeof(T)),
        pivots_(gpu, std::size_t(a.rows) * 8),
        info_(gpu, 8),
        workspace_(gpu, std::size_t(std::max(lu.workspace_bytes(), systems.workspace_bytes()))) {
    write(a, b);
  }
  void write(const LuMatrixOf<T>& a, const LuMatrixOf<T>& b) {
    a_.write(a.data.data(), a_.bytes());
    b_.write(b.data.data(), b_.bytes());
  }
  void run(const LuPlan& lu, const LuSolvePlan& systems, CUstream_st* stream) {
    lu.factor(a_.template as<T>(), pivots_.template as<std::int64_t>(), info_.template as<std::int64_t>(),
              room_of(workspace_), stream);
    systems.solve<T>(a_.template as<T>(), pivots_.template as<std::int64_t>(), b_.template as<T>(),
                     room_of(workspace_), stream);
  }
  std::int64_t info() const {
    std::int64_t value = -7;
    info_.read(&value, 8);
    return value;
  }

  GpuBuffer a_, b_, pivots_, info_, workspace_;
};

class GpuLuPlan : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (const std::string reason = why_too_old(gpu_->limits()); !reason.empty()) GTEST_SKIP() << reason;
    lu_options_.device = device_;
  }
  Context context_{{.use_wisdom = false, .notices = false}};
  LuOptions lu_options_;
};

TEST_F(GpuLuPlan, FactorsAndSystemsOfEveryType) {
  int draw = 0;
  for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
    for (const Op op : {Op::none, Op::trans, Op::conj_trans}) {
      ++draw;
      dispatch(dtype, [&]<class T>() {
        const std::int64_t n = 90 + 7 * draw;
        const auto a = make_matrix<T>(LuKind::random, n, n, draw % 3, unsigned(draw));
        const auto b = make_matrix<T>(LuKind::random, n, 3, draw % 2, unsigned(draw + 50));
        const LuPlan lu = plan_lu(context_, {dtype, n, n, a.ld}, lu_options_);
        const LuSolvePlan systems = plan_lu_solve(context_, lu.problem(), op, b.cols, b.ld, lu_options_);
        OnDevice<T> on(*gpu_, a, b, lu, systems);
        const GpuStream stream(*gpu_);
        on.run(lu, systems, stream.get());
        stream.synchronize();
        auto x = b;
        on.b_.read(x.data.data(), on.b_.bytes());
        EXPECT_EQ(on.info(), 0);
        EXPECT_LT(solve_ratio(a, op, x, b), 30) << to_string(dtype) << " op " << int(op);
        EXPECT_NE(lu.explain().find("panels: taken"), std::string::npos) << lu.explain();
      });
    }
}

// [d d/2; 0 d] in blocks along the diagonal, of several blocks that are inverted: 1 / d overflows or is
// subnormal.
TEST_F(GpuLuPlan, PivotsWithoutAReciprocalAreDividedBy) {
  for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
    for (const Op op : {Op::none, Op::trans, Op::conj_trans})
      dispatch(dtype, [&]<class T>() {
        using R = RealOf<T>;
        const std::int64_t n = 300;
        LuMatrixOf<T> a(n, n, 1), b(n, 3, 2);
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i) {
            const R d =
                j / 2 % 2 == 0 ? std::numeric_limits<R>::min() / 8 : std::numeric_limits<R>::max() / 4;
            a(i, j) = entry<T>(i == j ? d : i + 1 == j && i % 2 == 0 ? d / 2 : 0, i == j ? d : 0);
          }
        for (std::int64_t c = 0; c < 3; ++c)
          for (std::int64_t i = 0; i < n; ++i) {
            Wide<T> sum(0);
            for (std::int64_t k = 0; k < n; ++k) sum += op_element(a, op, i, k);
            b(i, c) = T(sum);
          }
        const LuPlan lu = plan_lu(context_, {dtype, n, n, a.ld}, lu_options_);
        const LuSolvePlan systems = plan_lu_solve(context_, lu.problem(), op, b.cols, b.ld, lu_options_);
        OnDevice<T> on(*gpu_, a, b, lu, systems);
        const GpuStream stream(*gpu_);
        on.run(lu, systems, stream.get());
        stream.synchronize();
        auto x = b;
        on.b_.read(x.data.data(), on.b_.bytes());
        EXPECT_EQ(on.info(), 0);
        for (std::int64_t c = 0; c < 3; ++c)
          for (std::int64_t i = 0; i < n; ++i)
            ASSERT_NEAR(double(std::abs(x(i, c) - T(1))), 0, 8 * epsilon_of<T>())
                << to_string(dtype) << " op " << int(op) << " row " << i;
      });
}

TEST_F(GpuLuPlan, AGraphReplaysIt) {
  if (is_fake()) GTEST_SKIP() << "the fake driver records single streams alone";
  const std::int64_t n = 200;
  const auto a = make_matrix<double>(LuKind::random, n, n), b = make_matrix<double>(LuKind::random, n, 2);
  const LuPlan lu = plan_lu(context_, {DType::f64, n, n, a.ld}, lu_options_);
  const LuSolvePlan systems = plan_lu_solve(context_, lu.problem(), Op::none, 2, b.ld, lu_options_);
  OnDevice<double> on(*gpu_, a, b, lu, systems);
  const GpuStream stream(*gpu_);
  const GpuGraph graph(*gpu_, stream.get(), [&] { on.run(lu, systems, stream.get()); });
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const auto other = make_matrix<double>(LuKind::random, n, n, 0, seed);
    on.write(other, b);
    graph.launch(stream.get());
    stream.synchronize();
    auto x = b;
    on.b_.read(x.data.data(), on.b_.bytes());
    EXPECT_LT(solve_ratio(other, Op::none, x, b), 30) << seed;
  }
  // Calls that are not captured work as before.
  on.write(a, b);
  on.run(lu, systems, stream.get());
  stream.synchronize();
  auto x = b;
  on.b_.read(x.data.data(), on.b_.bytes());
  EXPECT_LT(solve_ratio(a, Op::none, x, b), 30);
}

// The inverse of every type, beside gaps that stay as they were; C functions do the same.
TEST_F(GpuLuPlan, InversesAndTheirCFunctions) {
  tilewright_context* c = nullptr;
  ASSERT_EQ(tilewright_create(nullptr, nullptr, &c), TILEWRIGHT_OK);
  for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
    dispatch(dtype, [&]<class T>() {
      const std::int64_t n = 150, ldinv = n + 3;
      const auto a = make_matrix<T>(LuKind::random, n, n, 2, 5 + unsigned(dtype));
      tilewright_lu_options options = {};
      options.device = device_;
      const auto type = static_cast<tilewright_dtype>(dtype);
      tilewright_lu_plan *lu = nullptr, *inverse = nullptr;
      ASSERT_EQ(tilewright_lu_plan_create(c, type, n, n, a.ld, &options, &lu), TILEWRIGHT_OK)
          << tilewright_last_error(c);
      ASSERT_EQ(tilewright_lu_inverse_plan_create(c, type, n, a.ld, ldinv, &options, &inverse), TILEWRIGHT_OK)
          << tilewright_last_error(c);
      EXPECT_NE(std::string(tilewright_lu_plan_explain(lu)).find("panels: taken"), std::string::npos);
      const auto bytes =
          std::max(tilewright_lu_plan_workspace_bytes(lu), tilewright_lu_plan_workspace_bytes(inverse));
      GpuBuffer factors(*gpu_, a.data.size() * sizeof(T)), pivots(*gpu_, std::size_t(n) * 8), info(*gpu_, 8),
          workspace(*gpu_, std::size_t(bytes)), result(*gpu_, std::size_t(ldinv * n) * sizeof(T));
      factors.write(a.data.data(), factors.bytes());
      LuMatrixOf<T> found = make_matrix<T>(LuKind::random, n, n, 3, 1);
      found.data.assign(found.data.size(), T(7));
      result.write(found.data.data(), result.bytes());
      const GpuStream stream(*gpu_);
      ASSERT_EQ(tilewright_lu_plan_factor(lu, factors.as<void>(), pivots.as<std::int64_t>(),
                                          info.as<std::int64_t>(), workspace.as<void>(), stream.get()),
                TILEWRIGHT_OK);
      ASSERT_EQ(tilewright_lu_plan_invert(inverse, factors.as<void>(), pivots.as<std::int64_t>(),
                                          result.as<void>(), workspace.as<void>(), stream.get()),
                TILEWRIGHT_OK)
          << tilewright_lu_plan_last_error(inverse);
      stream.synchronize();
      result.read(found.data.data(), result.bytes());
      auto identity = found;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) identity(i, j) = T(i == j ? 1 : 0);
      EXPECT_LT(solve_ratio(a, Op::none, found, identity), 30) << to_string(dtype);
      for (std::int64_t j = 0; j + 1 < n; ++j)
        for (std::int64_t i = n; i < ldinv; ++i) EXPECT_EQ(found.data[std::size_t(j * ldinv + i)], T(7));
      EXPECT_EQ(tilewright_lu_plan_solve(lu, nullptr, nullptr, nullptr, nullptr, nullptr),
                TILEWRIGHT_INVALID_ARGUMENT);
      EXPECT_STREQ(tilewright_lu_plan_last_error(lu), "plan is not one of a system");
      EXPECT_EQ(tilewright_lu_plan_invert(inverse, nullptr, nullptr, nullptr, nullptr, nullptr),
                TILEWRIGHT_INVALID_ARGUMENT);
      EXPECT_STREQ(tilewright_lu_plan_last_error(inverse), "lu is null");
      tilewright_lu_plan_destroy(lu);
      tilewright_lu_plan_destroy(inverse);
    });
  tilewright_lu_plan* none = nullptr;
  EXPECT_EQ(tilewright_lu_inverse_plan_create(c, TILEWRIGHT_F64, 5, 5, 4, nullptr, &none),
            TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tilewright_last_error(c)).find("ldinv = 4"), std::string::npos);
  tilewright_lu_options far = {};
  far.device = 99;
  EXPECT_NE(tilewright_lu_plan_create(c, TILEWRIGHT_F64, 5, 5, 5, &far, &none), TILEWRIGHT_OK);
  tilewright_destroy(c);
}

// Solutions that were spoilt on purpose are right again, by every operation; columns that need nothing stay.
TEST_F(GpuLuPlan, RefinementReachesTheMachinesError) {
  int draw = 0;
  for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
    for (const Op op : {Op::none, Op::trans, Op::conj_trans})
      dispatch(dtype, [&]<class T>() {
        const std::int64_t n = 80 + ++draw, nrhs = 3;
        const auto a = make_matrix<T>(LuKind::random, n, n, 1, unsigned(draw));
        const auto b = make_matrix<T>(LuKind::random, n, nrhs, 2, unsigned(draw + 70));
        const LuPlan lu = plan_lu(context_, {dtype, n, n, a.ld}, lu_options_);
        const LuSolvePlan systems = plan_lu_solve(context_, lu.problem(), op, nrhs, b.ld, lu_options_);
        const LuRefinePlan refine =
            plan_lu_refine(context_, lu.problem(), op, nrhs, {a.ld, b.ld, b.ld}, 3, lu_options_);
        OnDevice<T> on(*gpu_, a, b, lu, systems);
        GpuBuffer original(*gpu_, on.a_.bytes()), right(*gpu_, on.b_.bytes()), errors(*gpu_, nrhs * 8),
            workspace(*gpu_, std::size_t(refine.workspace_bytes()));
        original.write(a.data.data(), original.bytes());
        right.write(b.data.data(), right.bytes());
        const GpuStream stream(*gpu_);
        on.run(lu, systems, stream.get());
        stream.synchronize();
        auto x = b;
        on.b_.read(x.data.data(), on.b_.bytes());
        for (std::int64_t i = 0; i < n; ++i) x(i, 1) *= T(1 + 1e-3 * double(i % 5));
        on.b_.write(x.data.data(), on.b_.bytes());
        refine.refine<T>(original.as<T>(), on.a_.template as<T>(), on.pivots_.template as<std::int64_t>(),
                         right.as<T>(), on.b_.template as<T>(), errors.as<double>(), room_of(workspace),
                         stream.get());
        stream.synchronize();
        std::vector<double> found(nrhs);
        errors.read(found.data(), nrhs * 8);
        for (const double error : found) EXPECT_LE(error, 4 * epsilon_of<T>()) << to_string(dtype) << int(op);
        on.b_.read(x.data.data(), on.b_.bytes());
        EXPECT_LT(solve_ratio(a, op, x, b), 3);
      });
}

TEST_F(GpuLuPlan, RefinementsBadArguments) {
  const LuProblem factors{DType::f64, 10, 10, 10};
  const auto argument_of = [&](const LuRefineLayout& layout, int steps) {
    try {
      plan_lu_refine(context_, factors, Op::none, 1, layout, steps, lu_options_);
    } catch (const Error& error) {
      return error.argument();
    }
    return std::string("none");
  };
  EXPECT_EQ(argument_of({9, 10, 10}, 2), "lda");
  EXPECT_EQ(argument_of({10, 9, 10}, 2), "ldb");
  EXPECT_EQ(argument_of({10, 10, 9}, 2), "ldx");
  EXPECT_EQ(argument_of({10, 10, 10}, -1), "steps");
}

TEST_F(GpuLuPlan, WisdomSaysWhoFactors) {
  const TempFolder folder;
  const std::string file = folder / "wisdom.jsonl";
  std::ofstream(file) << nlohmann::json{{"family", "lu"},
                                        {"problem", "lu:f64:m=200,n=200:location=device"},
                                        {"config", {{"candidate", "panels"}, {"nb", 64}}},
                                        {"device", gpu_->limits().name},
                                        {"source_hash", current_source_hash("lu")},
                                        {"verdict", "passed"},
                                        {"seconds", 1e-3}}
                      << '\n';
  Context context({.wisdom = file, .notices = false});
  const LuPlan near = plan_lu(context, {DType::f64, 210, 210, 210}, lu_options_);
  EXPECT_NE(near.explain().find("near_shape"), std::string::npos) << near.explain();
  EXPECT_NE(near.explain().find("panels: taken; blocks of nb=64"), std::string::npos) << near.explain();
  EXPECT_EQ(near.explain(), explain_lu(context, near.problem(), lu_options_));
  const LuPlan other = plan_lu(context, {DType::f32, 210, 210, 210}, lu_options_);
  EXPECT_EQ(other.explain().find("wisdom"), std::string::npos) << "it is of another type";
}

TEST_F(GpuLuPlan, TuningFindsRecordsOfTheGpu) {
  Context context({.use_wisdom = false, .notices = false});
  LuTuning how{.gpu = device_};
  how.rules.choices = {{"nb", {64, 96}}};
  TuneOptions options;
  options.budget_s = 0.2;
  options.clock = BudgetClock::of_turns();
  const LuProblem problem{DType::f64, 200, 200, 208, Location::device};
  const TuneResult result = tune(*lu_operation(context, problem, how), options);
  EXPECT_TRUE(result.complete);
  EXPECT_GE(result.candidates, 3) << "the default, and panels of two widths";
  const WisdomRecord record = records_of(result).front();
  EXPECT_EQ(record.device, gpu_->limits().name);
  EXPECT_EQ(record.problem, "lu:f64:m=200,n=200:lda=208:location=device");
}

// Wider than plans take is nothing to try.
TEST_F(GpuLuPlan, TuningTriesTheWidthsThatPlansTake) {
  const auto operation =
      lu_operation(context_, parse_lu_problem("lu:f32:m=2000,n=2000:location=device"), {.gpu = device_});
  const OpenProblem open = operation->open(std::nullopt, 0);
  std::vector<std::int64_t> widths;
  for (std::size_t i = 0; i < open.pool->size(); ++i) widths.push_back(open.pool->fields(i).at("nb"));
  EXPECT_EQ(*std::max_element(widths.begin(), widths.end()), 512);
}

TEST_F(GpuLuPlan, WrongArgumentsAreNamed) {
  const auto argument_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      return error.argument();
    }
    return std::string("none");
  };
  const LuProblem problem{DType::f64, 10, 10, 10};
  const LuPlan lu = plan_lu(context_, problem, lu_options_);
  GpuBuffer memory(*gpu_, std::size_t(lu.workspace_bytes()) + 256);
  auto* const address = memory.as<double>();
  auto* const ints = memory.as<std::int64_t>();
  const std::span<std::byte> room = room_of(memory);
  EXPECT_EQ(argument_of([&] { lu.factor<double>(nullptr, ints, ints, room); }), "a");
  EXPECT_EQ(argument_of([&] { lu.factor(memory.as<float>(), ints, ints, room); }), "a");
  EXPECT_EQ(argument_of([&] { lu.factor(address, nullptr, ints, room); }), "pivots");
  EXPECT_EQ(argument_of([&] { lu.factor(address, ints, nullptr, room); }), "info");
  EXPECT_EQ(argument_of([&] { lu.factor(address, ints, ints, {}); }), "workspace");
  EXPECT_EQ(argument_of([&] { lu.factor(address, ints, ints, room.first(room.size() - 257)); }), "workspace");
  EXPECT_EQ(argument_of([&] { lu.factor(address, ints, ints, room.subspan(8)); }), "workspace");
  EXPECT_EQ(argument_of([&] { plan_lu(context_, {DType::f64, 10, 10, 9}, lu_options_); }), "lda");
  EXPECT_EQ(argument_of([&] {
              plan_lu_solve(context_, {DType::f64, 10, 9, 10}, Op::none, 1, 10, lu_options_);
            }),
            "factors");
  EXPECT_EQ(argument_of([&] { plan_lu_solve(context_, problem, Op::none, -1, 10, lu_options_); }), "nrhs");
  EXPECT_EQ(argument_of([&] { plan_lu_solve(context_, problem, Op::none, 1, 9, lu_options_); }), "ldb");
  LuOptions unknown = lu_options_;
  unknown.candidate = "lapack";
  EXPECT_EQ(argument_of([&] { plan_lu(context_, problem, unknown); }), "candidate");
  unknown = lu_options_, unknown.device = 99;
  EXPECT_THROW(plan_lu(context_, problem, unknown), Error);
}

// 10 GB whose columns lie 2^24 elements apart, panels, swaps and updates included.
TEST_F(GpuLuPlan, OffsetsPassThirtyTwoBits) {
  if (is_fake()) GTEST_SKIP() << "the fake driver fills its memory, which is the host's";
  const std::int64_t n = 150, ld = (1 << 24) + 8;
  const auto a = make_matrix<float>(LuKind::random, n, n), b = make_matrix<float>(LuKind::random, n, 3);
  LuOptions options = lu_options_;
  options.nb = 40;
  const LuPlan lu = plan_lu(context_, {DType::f32, n, n, ld}, options);
  const LuSolvePlan systems = plan_lu_solve(context_, lu.problem(), Op::none, 3, n, options);
  const std::int64_t bytes = (ld * (n - 1) + n) * 4;
  if (bytes + (1 << 28) > free_memory(*gpu_)) GTEST_SKIP() << "a smaller GPU";
  GpuBuffer far(*gpu_, std::size_t(bytes)), x(*gpu_, b.data.size() * 4), pivots(*gpu_, n * 8), info(*gpu_, 8),
      workspace(*gpu_, std::size_t(std::max(lu.workspace_bytes(), systems.workspace_bytes())));
  for (std::int64_t j = 0; j < n; ++j) far.write(&a(0, j), n * 4, std::size_t(j * ld) * 4);
  x.write(b.data.data(), x.bytes());
  const GpuStream stream(*gpu_);
  lu.factor(far.as<float>(), pivots.as<std::int64_t>(), info.as<std::int64_t>(), room_of(workspace),
            stream.get());
  systems.solve<float>(far.as<float>(), pivots.as<std::int64_t>(), x.as<float>(), room_of(workspace),
                       stream.get());
  stream.synchronize();
  auto factors = a, solution = b;
  std::vector<std::int64_t> chosen(n);
  for (std::int64_t j = 0; j < n; ++j) far.read(&factors(0, j), n * 4, std::size_t(j * ld) * 4);
  pivots.read(chosen.data(), pivots.bytes());
  x.read(solution.data.data(), x.bytes());
  EXPECT_LT(factor_ratio(a, factors, chosen), 3);
  EXPECT_LT(solve_ratio(a, Op::none, solution, b), 30);
}

}  // namespace
}  // namespace tilewright::testing
