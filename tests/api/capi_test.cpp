// The C interface: every function once on good arguments, and statuses with messages on bad ones.
#include <gtest/gtest.h>

#include <complex>
#include <string>
#include <thread>
#include <vector>

#include "tilewright/tilewright.h"

namespace {

bool contains(const char* text, const std::string& part) {
  return std::string(text).find(part) != std::string::npos;
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(tilewright_create(nullptr, nullptr, &context), TILEWRIGHT_OK); }
  void TearDown() override { tilewright_destroy(context); }

  tilewright_context* context = nullptr;
  const double one = 1, zero = 0, two = 2;
  const std::vector<double> a{1, 3, 2, 4}, b{5, 7, 6, 8}, product{19, 43, 22, 50};  // [1 2; 3 4] [5 6; 7 8]
};

TEST_F(CApi, Objectives) {
  std::vector<double> c(4);
  const auto with = [&](int objective, double weight) {
    tilewright_options options = {};
    options.objective = objective, options.objective_weight = weight;
    return tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2, 2, &one, a.data(),
                           2, b.data(), 2, &zero, c.data(), 2, &options);
  };
  for (const auto& [objective, weight] :
       {std::pair(TILEWRIGHT_OBJECTIVE_ENERGY, 0.0), std::pair(TILEWRIGHT_OBJECTIVE_ALPHA, 0.0),
        std::pair(TILEWRIGHT_OBJECTIVE_ALPHA, 0.7), std::pair(TILEWRIGHT_OBJECTIVE_ENERGY_WITHIN, 0.0),
        std::pair(TILEWRIGHT_OBJECTIVE_ENERGY_WITHIN, 0.1)})
    EXPECT_EQ(with(objective, weight), TILEWRIGHT_OK) << objective << " " << weight;
  EXPECT_EQ(c, product);
  EXPECT_NE(with(TILEWRIGHT_OBJECTIVE_ALPHA, 2), TILEWRIGHT_OK);
  EXPECT_TRUE(contains(tilewright_last_error(context), "objective_weight = 2"))
      << tilewright_last_error(context);
  EXPECT_NE(with(TILEWRIGHT_OBJECTIVE_ENERGY_WITHIN + 1, 0), TILEWRIGHT_OK);
}

TEST_F(CApi, Gemm) {
  std::vector<double> c(4, 1);
  ASSERT_EQ(tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2, 2, &one,
                            a.data(), 2, b.data(), 2, &zero, c.data(), 2, nullptr),
            TILEWRIGHT_OK);
  EXPECT_EQ(c, product);
  ASSERT_EQ(tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_TRANS, TILEWRIGHT_NONE, 2, 2, 2, &two,
                            a.data(), 2, b.data(), 2, &one, c.data(), 2, nullptr),
            TILEWRIGHT_OK);
  EXPECT_EQ(c, (std::vector<double>{19 + 52, 43 + 76, 22 + 60, 50 + 88}));
  using Complex = std::complex<float>;
  const Complex x(1, 2), y(3, 4), i(0, 1);
  Complex z;
  const Complex nothing;
  ASSERT_EQ(tilewright_gemm(context, TILEWRIGHT_C64, TILEWRIGHT_CONJ_TRANS, TILEWRIGHT_NONE, 1, 1, 1, &i, &x,
                            1, &y, 1, &nothing, &z, 1, nullptr),
            TILEWRIGHT_OK);
  EXPECT_EQ(z, i * std::conj(x) * y);
}

TEST_F(CApi, ValuesPerProblemAreRefusedWhereThereIsOneProblem) {
  std::vector<double> c(4, 7);
  tilewright_options options = {};
  options.beta_per_problem = 1;
  EXPECT_EQ(tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2, 2, &one,
                            a.data(), 2, b.data(), 2, &zero, c.data(), 2, &options),
            TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(tilewright_last_error(context), "options.beta_per_problem = 1"));
  EXPECT_EQ(c, std::vector<double>(4, 7));
}

TEST_F(CApi, StridedWithBroadcast) {
  std::vector<double> bb(b);
  bb.insert(bb.end(), {1, 0, 0, 1});
  std::vector<double> c(8);
  ASSERT_EQ(tilewright_gemm_strided_batched(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2,
                                            2, &one, a.data(), 2, 0, bb.data(), 2, 4, &zero, c.data(), 2, 4,
                                            2, nullptr, TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_OK);
  EXPECT_EQ(c, (std::vector<double>{19, 43, 22, 50, 1, 3, 2, 4}));
}

TEST_F(CApi, Pointers) {
  std::vector<double> c(8, -1);
  const void* as[] = {a.data(), nullptr, b.data()};
  const void* bs[] = {b.data(), b.data(), a.data()};
  void* cs[] = {c.data(), c.data() + 4, c.data() + 4};
  int info[3] = {9, 9, 9};
  const auto call = [&](tilewright_info_mode mode, int* codes) {
    return tilewright_gemm_pointer_batched(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2, 2,
                                           &one, as, 2, bs, 2, &zero, cs, 2, 3, nullptr, mode, codes);
  };
  EXPECT_EQ(call(TILEWRIGHT_INFO_ALL, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_STREQ(tilewright_last_error(context), "problem 1: a is null");
  EXPECT_EQ(c, std::vector<double>(8, -1));
  ASSERT_EQ(call(TILEWRIGHT_INFO_ALL, info), TILEWRIGHT_OK);
  EXPECT_EQ(info[0], 0);
  EXPECT_EQ(info[1], -7);
  EXPECT_EQ(info[2], 0);
  EXPECT_EQ(c, (std::vector<double>{19, 43, 22, 50, 23, 31, 34, 46}));
}

TEST_F(CApi, Interleaved) {
  const std::vector<double> ai{1, 2, 3, 4, 5, 6},
      bi{10, 10, 10, 10, 10, 10};  // six 1 x 1 problems in blocks of four
  std::vector<double> a8(ai), b8(bi), c(8, 1);
  a8.resize(8), b8.resize(8);
  ASSERT_EQ(tilewright_gemm_interleaved_batched(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 1,
                                                1, 1, &one, a8.data(), 1, b8.data(), 1, &one, c.data(), 1, 4,
                                                6, nullptr, TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_OK);
  c.resize(6);
  EXPECT_EQ(c, (std::vector<double>{11, 21, 31, 41, 51, 61}));
}

// [1 2 3; 4 5 6] [1 0; 0 1; 1 1] by rows, in rows that are longer than the matrices.
TEST_F(CApi, ByRows) {
  const std::vector<double> x{1, 2, 3, -9, 4, 5, 6, -9}, y{1, 0, -9, 0, 1, -9, 1, 1, -9};
  const std::vector<double> expected{4, 5, -7, 10, 11, -7};
  tilewright_options options = {};
  options.row_major = 1;
  const auto fresh = [] { return std::vector<double>{0, 0, -7, 0, 0, -7}; };
  auto c = fresh();
  const auto none = TILEWRIGHT_NONE;
  ASSERT_EQ(tilewright_gemm(context, TILEWRIGHT_F64, none, none, 2, 2, 3, &one, x.data(), 4, y.data(), 3,
                            &zero, c.data(), 3, &options),
            TILEWRIGHT_OK)
      << tilewright_last_error(context);
  EXPECT_EQ(c, expected);
  c = fresh();
  ASSERT_EQ(tilewright_gemm_strided_batched(context, TILEWRIGHT_F64, none, none, 2, 2, 3, &one, x.data(), 4,
                                            8, y.data(), 3, 0, &zero, c.data(), 3, 6, 1, &options,
                                            TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_OK);
  EXPECT_EQ(c, expected);
  c = fresh();
  const void *xs = x.data(), *ys = y.data();
  void* cs = c.data();
  const int64_t m = 2, n = 2, k = 3, lda = 4, ld = 3, count = 1;
  ASSERT_EQ(tilewright_gemm_grouped_batched(context, TILEWRIGHT_F64, &none, &none, &m, &n, &k, &one, &xs,
                                            &lda, &ys, &ld, &zero, &cs, &ld, 1, &count, &options,
                                            TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_OK);
  EXPECT_EQ(c, expected);
}

// Notices are printed where the environment asks for them, and not for a program that wants none.
TEST(CApiContext, NoticesCanBeSilenced) {
  ASSERT_EQ(setenv("TILEWRIGHT_NOTICES", "on", 1), 0);
  for (const int silent : {0, 1}) {
    tilewright_context_options options = {};
    options.no_notices = silent, options.wisdom = "/nonexistent/wisdom.sqlite";
    tilewright_context* quiet = nullptr;
    ::testing::internal::CaptureStderr();
    ASSERT_EQ(tilewright_create_with(&options, &quiet), TILEWRIGHT_OK);
    tilewright_plan* plan = nullptr;
    ASSERT_EQ(tilewright_plan_create(quiet, "gemm_batched:f64:cc:m=63,n=61,k=59:pointer:batch=7:beta=general",
                                     nullptr, &plan),
              TILEWRIGHT_OK);
    tilewright_plan_destroy(plan);
    tilewright_destroy(quiet);
    EXPECT_EQ(::testing::internal::GetCapturedStderr().empty(), silent == 1);
  }
  ASSERT_EQ(unsetenv("TILEWRIGHT_NOTICES"), 0);
}

TEST_F(CApi, ANoticeReachesTheCallersFunctionOnceAndNobodyElse) {
  std::vector<std::string> heard;
  tilewright_context_options options = {};
  options.wisdom = "/nonexistent/wisdom.sqlite", options.notice_user = &heard;
  options.on_notice = [](const char* notice, void* user) {
    static_cast<std::vector<std::string>*>(user)->push_back(notice);
  };
  tilewright_context* listening = nullptr;
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(tilewright_create_with(&options, &listening), TILEWRIGHT_OK);
  for (int i = 0; i < 2; ++i) {
    tilewright_plan* plan = nullptr;
    ASSERT_EQ(
        tilewright_plan_create(listening, "gemm_batched:f64:cc:m=63,n=61,k=59:pointer:batch=7:beta=general",
                               nullptr, &plan),
        TILEWRIGHT_OK);
    tilewright_plan_destroy(plan);
  }
  tilewright_destroy(listening);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_TRUE(contains(heard[0].c_str(), "m=63,n=61,k=59")) << heard[0];
}

TEST_F(CApi, TeamsHaveLimits) {
  std::vector<double> c(4);
  tilewright_options options = {};
  options.threads = 100000;
  EXPECT_EQ(tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2, 2, &one,
                            a.data(), 2, b.data(), 2, &zero, c.data(), 2, &options),
            TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(tilewright_last_error(context), "threads = 100000 must be at most 4096"));
}

TEST_F(CApi, GroupedAndVariable) {
  std::vector<double> c(9, -1);
  const void* as[] = {a.data(), b.data(), a.data()};
  const void* bs[] = {b.data(), a.data(), a.data()};
  void* cs[] = {c.data(), c.data() + 4, c.data() + 8};
  const tilewright_op ops[] = {TILEWRIGHT_NONE, TILEWRIGHT_NONE, TILEWRIGHT_NONE};
  const int64_t group_size[] = {2, 1};
  const int64_t n[] = {2, 1}, ld[] = {2, 1};
  const double alpha[] = {1, 2, 2}, beta[] = {0, 1, 1};
  ASSERT_EQ(
      tilewright_gemm_grouped_batched(context, TILEWRIGHT_F64, ops, ops, n, n, n, alpha, as, ld, bs, ld, beta,
                                      cs, ld, 2, group_size, nullptr, TILEWRIGHT_INFO_NONE, nullptr),
      TILEWRIGHT_OK)
      << tilewright_last_error(context);
  EXPECT_EQ(c, (std::vector<double>{19, 43, 22, 50, 23, 31, 34, 46, 1}));

  const int64_t nv[] = {2, -1, 1}, ldv[] = {2, 2, 1};
  int info[3];
  ASSERT_EQ(tilewright_gemm_variable_batched(context, TILEWRIGHT_F64, ops, ops, nv, nv, nv, alpha, as, ldv,
                                             bs, ldv, beta, cs, ldv, 3, nullptr, TILEWRIGHT_INFO_ALL, info),
            TILEWRIGHT_OK);
  // Each is a problem of its own, by columns and by rows.
  for (const int by_rows : {0, 1}) {
    tilewright_options options{};
    options.row_major = by_rows;
    EXPECT_EQ(
        tilewright_gemm_variable_batched(context, TILEWRIGHT_F64, ops, ops, nv, nv, nv, alpha, as, ldv, bs,
                                         ldv, beta, cs, ldv, 3, &options, TILEWRIGHT_INFO_NONE, nullptr),
        TILEWRIGHT_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(tilewright_last_error(context)), "problem 1: m = -1 is negative");
  }
  EXPECT_EQ(info[0], 0);
  EXPECT_EQ(info[1], -3);
  EXPECT_EQ(info[2], 0);
  EXPECT_EQ(c[8], 3);
  EXPECT_EQ(
      tilewright_gemm_variable_batched(context, TILEWRIGHT_F64, ops, ops, nv, nv, nullptr, alpha, as, ldv, bs,
                                       ldv, beta, cs, ldv, 3, nullptr, TILEWRIGHT_INFO_NONE, nullptr),
      TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(tilewright_last_error(context), "array k is null"));
  EXPECT_EQ(tilewright_gemm_grouped_batched(context, TILEWRIGHT_F64, ops, ops, n, n, n, alpha, as, ld, bs, ld,
                                            beta, cs, ld, 2, nullptr, nullptr, TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_INVALID_ARGUMENT);
}

TEST_F(CApi, Plans) {
  tilewright_plan* plan = nullptr;
  ASSERT_EQ(tilewright_plan_create(context, "gemm:f64:nn:m=2,n=2,k=2", nullptr, &plan), TILEWRIGHT_OK);
  EXPECT_TRUE(contains(tilewright_plan_explain(plan), "cpu_small"));
  std::vector<double> c(4);
  EXPECT_EQ(tilewright_plan_run(plan, &one, a.data(), b.data(), &zero, c.data()), TILEWRIGHT_OK);
  EXPECT_EQ(c, product);
  EXPECT_EQ(tilewright_plan_run(plan, &two, a.data(), b.data(), &zero, c.data()),
            TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(tilewright_plan_last_error(plan), "alpha"));
  EXPECT_EQ(tilewright_plan_run(plan, nullptr, a.data(), b.data(), &zero, c.data()),
            TILEWRIGHT_INVALID_ARGUMENT);
  tilewright_plan_destroy(plan);
  EXPECT_EQ(tilewright_plan_create(context, "gemm:f64:xx:m=2,n=2,k=2", nullptr, &plan),
            TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(plan, nullptr);
  EXPECT_TRUE(contains(tilewright_last_error(context), "'x'"));

  ASSERT_EQ(
      tilewright_plan_create(context, "gemm_batched:f64:nn:m=2,n=2,k=2:pointer:batch=1", nullptr, &plan),
      TILEWRIGHT_OK);
  const void* as[] = {a.data()};
  const void* bs[] = {b.data()};
  void* cs[] = {c.data()};
  c.assign(4, 0);
  EXPECT_EQ(tilewright_plan_run(plan, &one, as, bs, &zero, cs), TILEWRIGHT_OK);
  EXPECT_EQ(c, product);
  tilewright_plan_destroy(plan);
}

TEST_F(CApi, ABadArgumentGivesAStatusAndAMessage) {
  std::vector<double> c(4, -1);
  tilewright_options options = {};
  options.config = "{\"isa\": \"portable\"}";
  options.threads = 1;
  const auto call = [&](int64_t lda) {
    return tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2, 2, &one, a.data(),
                           lda, b.data(), 2, &zero, c.data(), 2, &options);
  };
  EXPECT_STREQ(tilewright_last_error(context), "");
  EXPECT_EQ(call(1), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_STREQ(tilewright_last_error(context), "lda = 1 is smaller than the 2 rows of A");
  EXPECT_EQ(c, std::vector<double>(4, -1));
  EXPECT_EQ(call(2), TILEWRIGHT_OK);
  EXPECT_EQ(c, product);
}

TEST_F(CApi, MessagesBelongToTheirThread) {
  const auto fail = [&](int64_t m) {
    return tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, m, 2, 2, &one, a.data(),
                           2, b.data(), 2, &zero, nullptr, 2, nullptr);
  };
  EXPECT_EQ(fail(-1), TILEWRIGHT_INVALID_ARGUMENT);
  std::thread other([&] {
    EXPECT_STREQ(tilewright_last_error(context), "");
    EXPECT_EQ(fail(-2), TILEWRIGHT_INVALID_ARGUMENT);
    EXPECT_TRUE(contains(tilewright_last_error(context), "m = -2"));
  });
  other.join();
  EXPECT_TRUE(contains(tilewright_last_error(context), "m = -1"));
}

TEST(CApiContext, FailuresKeepTheirMessage) {
  tilewright_context* context = nullptr;
  EXPECT_EQ(tilewright_create("vax", nullptr, &context), TILEWRIGHT_INVALID_ARGUMENT);
  ASSERT_NE(context, nullptr);
  EXPECT_TRUE(contains(tilewright_last_error(context), "'vax'"));
  const double x = 1;
  double c = 5;
  EXPECT_EQ(tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 1, 1, 1, &x, &x, 1, &x,
                            1, &x, &c, 1, nullptr),
            TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(c, 5);
  tilewright_destroy(context);
  EXPECT_EQ(tilewright_create(nullptr, "/nowhere/wisdom.jsonl", &context), TILEWRIGHT_IO);
  EXPECT_TRUE(contains(tilewright_last_error(context), "/nowhere/wisdom.jsonl"));
  tilewright_destroy(context);
  EXPECT_EQ(tilewright_create(nullptr, nullptr, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  tilewright_destroy(nullptr);
  EXPECT_STRNE(tilewright_version(), "");
}

TEST(CApiContext, PinnedMemory) {
  tilewright_context* context = nullptr;
  ASSERT_EQ(tilewright_create(nullptr, nullptr, &context), TILEWRIGHT_OK);
  tilewright_pinned* pinned = nullptr;
  EXPECT_EQ(tilewright_pinned_allocate(context, -3, &pinned), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(tilewright_last_error(context), "bytes = -3"));
  EXPECT_EQ(tilewright_pinned_allocate(context, 64, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(tilewright_pinned_register(nullptr, &context, 8, &pinned), TILEWRIGHT_INVALID_ARGUMENT);
  const tilewright_status status = tilewright_pinned_allocate(context, 64, &pinned);
  if (status == TILEWRIGHT_OK) {
    static_cast<char*>(tilewright_pinned_data(pinned))[63] = 1;
  } else {
    EXPECT_EQ(status, TILEWRIGHT_UNSUPPORTED);
    EXPECT_EQ(pinned, nullptr);
    EXPECT_STRNE(tilewright_last_error(context), "");
  }
  tilewright_pinned_destroy(pinned);
  EXPECT_EQ(tilewright_pinned_data(nullptr), nullptr);
  tilewright_destroy(context);
}

}  // namespace
