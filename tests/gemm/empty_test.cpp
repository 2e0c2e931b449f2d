// What has no product to form, through every door of the host: plans and calls of every layout and sum,
// chains, conversions and LU return, leave C = beta C, and read neither A nor B.
#include <gtest/gtest.h>

#include <cmath>

#include "core/dispatch.hpp"
#include "gemm/candidate.hpp"
#include "lu/calls.hpp"
#include "support/empty_problems.hpp"
#include "tilewright/chain.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/layout.hpp"
#include "tilewright/lu.hpp"
#include "tilewright/tilewright.h"

namespace tilewright::testing {
namespace {

constexpr DType dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

class EmptyProblems : public ::testing::Test {
 protected:
  Context context_{{.use_wisdom = false, .notices = false}};
};

template <class T>
void run(const GemmPlan& made, EmptyOperands<T>& x) {
  const T* const read = x.read.data();
  if (x.problem.layout != Layout::pointer)
    return made.run<T>(x.alpha(), read, read, x.beta(), x.c.empty() ? x.read.data() : x.c.data());
  const auto ab = x.addresses_of_read(read);
  const auto c = x.addresses_of_c(x.c.data());
  const T* const none = nullptr;
  T* const no_c = nullptr;
  made.run<T>(x.alpha(), ab.empty() ? &none : ab.data(), ab.empty() ? &none : ab.data(), x.beta(),
              c.empty() ? &no_c : c.data());
}

TEST_F(EmptyProblems, ArePlannedPreparedExplainedAndRun) {
  for (const DType dtype : dtypes)
    for (const GemmProblem& p : empty_problems(dtype, Location::host)) {
      SCOPED_TRACE(to_string(p));
      EXPECT_NE(explain(context_, p).find("\nplan "), std::string::npos);
      prepare(context_, {&p, 1});
      dispatch(dtype, [&]<class T>() {
        EmptyOperands<T> x(p);
        run(plan(context_, p), x);
        EXPECT_EQ(x.c, x.expected());
      });
    }
}

// A candidate that is asked for has no product to form either; with a config or threads likewise.
TEST_F(EmptyProblems, OfACandidateThatIsAskedFor) {
  for (const GemmProblem& p : empty_problems(DType::f64, Location::host))
    for (const GemmCandidate& candidate : gemm_candidates())
      for (const Target target : {Target::automatic, Target::hybrid}) {
        if (p.beta != Scalar::general) continue;
        SCOPED_TRACE(to_string(p) + " " + candidate.name);
        GemmOptions options;
        options.candidate = candidate.name, options.target = target, options.threads = 2;
        try {
          (void)explain(context_, p, options);
          EmptyOperands<double> x(p);
          run(plan(context_, p, options), x);
          EXPECT_EQ(x.c, x.expected());
        } catch (const Error& error) {
          EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
        }
      }
}

TEST_F(EmptyProblems, OfTheCInterface) {
  tilewright_context* context = nullptr;
  ASSERT_EQ(tilewright_create("", "", &context), TILEWRIGHT_OK);
  for (const GemmProblem& p : empty_problems(DType::f64, Location::host)) {
    const std::string text = to_string(p);
    SCOPED_TRACE(text);
    const char* const texts[] = {text.c_str()};
    EXPECT_EQ(tilewright_prepare(context, texts, 1, nullptr), TILEWRIGHT_OK);
    tilewright_plan* made = nullptr;
    ASSERT_EQ(tilewright_plan_create(context, texts[0], nullptr, &made), TILEWRIGHT_OK)
        << tilewright_last_error(context);
    EXPECT_NE(std::string(tilewright_plan_explain(made)), "");
    EmptyOperands<double> x(p);
    const double alpha = x.alpha(), beta = x.beta();
    const auto ab = x.addresses_of_read(x.read.data());
    const auto c = x.addresses_of_c(x.c.data());
    const bool pointers = p.layout == Layout::pointer;
    const void* const read = pointers && !ab.empty() ? static_cast<const void*>(ab.data()) : x.read.data();
    void* const written = !pointers || c.empty()
                              ? static_cast<void*>(x.c.empty() ? x.read.data() : x.c.data())
                              : const_cast<double**>(c.data());
    EXPECT_EQ(tilewright_plan_run(made, &alpha, read, read, &beta, written), TILEWRIGHT_OK)
        << tilewright_plan_last_error(made);
    EXPECT_EQ(x.c, x.expected());
    tilewright_plan_destroy(made);
  }
  tilewright_destroy(context);
}

// One call of the size and count, of every function on the host.
template <class T>
class Calls {
 public:
  Calls(Context& context, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, T alpha, T beta)
      : context_(context), m_(m), n_(n), k_(k), count_(count), alpha_(alpha), beta_(beta) {}

  void check() {
    call("gemm", count_ > 0 ? 1 : 0, [&](T* c) {
      if (count_ > 0)
        gemm<T>(context_, Op::none, Op::none, alpha_, {a(), m_, k_, ld(m_)}, {a(), k_, n_, ld(k_)}, beta_,
                {c, m_, n_, ld(m_)});
    });
    call("strided", count_, [&](T* c) {
      gemm_batched<T>(context_, Op::none, Op::none, alpha_,
                      StridedBatch<const T>{{a(), m_, k_, ld(m_)}, m_ * k_, count_},
                      StridedBatch<const T>{{a(), k_, n_, ld(k_)}, k_ * n_, count_}, beta_,
                      StridedBatch<T>{{c, m_, n_, ld(m_)}, m_ * n_, count_});
    });
    call("pointer", count_, [&](T* c) {
      const auto cs = addresses(c);
      gemm_batched<T>(context_, Op::none, Op::none, alpha_,
                      PointerBatch<const T>{as(), m_, k_, ld(m_), count_},
                      PointerBatch<const T>{as(), k_, n_, ld(k_), count_}, beta_,
                      PointerBatch<T>{cs.data(), m_, n_, ld(m_), count_});
    });
    for (const std::int64_t block : {count_, std::max<std::int64_t>(1, count_ / 2)})
      call("interleaved", count_, [&](T* c) {
        gemm_batched<T>(context_, Op::none, Op::none, alpha_,
                        InterleavedBatch<const T>{a(), m_, k_, ld(m_), block, count_},
                        InterleavedBatch<const T>{a(), k_, n_, ld(k_), block, count_}, beta_,
                        InterleavedBatch<T>{c, m_, n_, ld(m_), block, count_});
      });
    call("grouped", count_, [&](T* c) {
      const auto cs = addresses(c);
      GemmGroup<T> group;
      group.m = m_, group.n = n_, group.k = k_, group.alpha = alpha_, group.beta = beta_;
      group.a = as(), group.b = as(), group.c = cs.data(), group.count = count_;
      group.lda = ld(m_), group.ldb = ld(k_), group.ldc = ld(m_);
      const GemmGroup<T> groups[] = {group};
      gemm_grouped<T>(context_, std::span<const GemmGroup<T>>(groups));
      gemm_grouped<T>(context_, std::span<const GemmGroup<T>>());
    });
    call("variable", count_, [&](T* c) {
      std::vector<GemmItem<T>> items;
      for (T* each : addresses(c))
        items.push_back(
            {Op::none, Op::none, m_, n_, k_, alpha_, a(), ld(m_), a(), ld(k_), beta_, each, ld(m_)});
      gemm_variable<T>(context_, std::span<const GemmItem<T>>(items));
    });
    check_sums();
  }

 private:
  static std::int64_t ld(std::int64_t rows) { return std::max<std::int64_t>(1, rows); }
  const T* a() const { return read_.data(); }
  const T* const* as() const { return as_.data(); }
  std::vector<T*> addresses(T* c) const {
    std::vector<T*> all;
    for (std::int64_t i = 0; i < count_; ++i) all.push_back(c + i * m_ * n_);
    return all;
  }

  void check_sums() {
    call("reduce, strided", 1, [&](T* c) {
      gemm_batch_reduce<T>(context_, Op::none, Op::none, alpha_,
                           StridedBatch<const T>{{a(), m_, k_, ld(m_)}, m_ * k_, count_},
                           StridedBatch<const T>{{a(), k_, n_, ld(k_)}, k_ * n_, count_}, beta_,
                           MatrixView<T>{c, m_, n_, ld(m_)});
    });
    call("reduce, pointer", 1, [&](T* c) {
      gemm_batch_reduce<T>(
          context_, Op::none, Op::none, alpha_, PointerBatch<const T>{as(), m_, k_, ld(m_), count_},
          PointerBatch<const T>{as(), k_, n_, ld(k_), count_}, beta_, MatrixView<T>{c, m_, n_, ld(m_)});
    });
    call("stack", count_, [&](T* c) {
      std::vector<StackPointers<T>> list;
      for (T* each : addresses(c)) list.push_back({a(), a(), each}), list.push_back({a(), a(), each});
      const GemmStack<T> stack(Op::none, Op::none, alpha_, {nullptr, m_, k_, ld(m_)},
                               {nullptr, k_, n_, ld(k_)}, {nullptr, m_, n_, ld(m_)},
                               std::span<const StackPointers<T>>(list));
      gemm_stack<T>(context_, std::span<const GemmStack<T>>(&stack, 1), beta_);
    });
  }

  // f writes `written` matrices at its argument.
  template <class F>
  void call(const char* what, std::int64_t written, F&& f) {
    SCOPED_TRACE(what);
    std::vector<T> c(std::size_t(m_ * n_ * written) + 1, T(2));
    f(c.data());
    EXPECT_EQ(c.back(), T(2)) << "written behind C";
    c.pop_back();
    EXPECT_EQ(c, std::vector<T>(c.size(), beta_ * T(2)));
  }

  Context& context_;
  std::int64_t m_, n_, k_, count_;
  T alpha_, beta_;
  std::vector<T> read_ = std::vector<T>(4096, T(NAN));
  std::vector<const T*> as_ = std::vector<const T*>(16, read_.data());
};

TEST_F(EmptyProblems, OfCalls) {
  struct Size {
    std::int64_t m, n, k, count;
    int alpha;
  };
  constexpr Size sizes[] = {{0, 3, 4, 6, 1},    {3, 0, 4, 6, 1}, {3, 4, 0, 6, 1}, {0, 0, 0, 6, 1},
                            {3, 4, 5, 0, 1},    {0, 3, 4, 0, 1}, {3, 4, 0, 0, 1}, {3, 4, 5, 6, 0},
                            {0, 100, 70, 4, 1}, {70, 2, 0, 4, 1}};
  for (const DType dtype : dtypes)
    for (const Size& s : sizes)
      for (const int beta : {0, 1, 3})
        dispatch(dtype, [&]<class T>() {
          SCOPED_TRACE(fmt::format("{} {}x{}x{} count {} alpha {} beta {}", to_string(dtype), s.m, s.n, s.k,
                                   s.count, s.alpha, beta));
          Calls<T>(context_, s.m, s.n, s.k, s.count, T(s.alpha), T(beta)).check();
        });
}

TEST_F(EmptyProblems, OfChains) {
  for (const char* sizes : {"m=0,n=3,k=4", "m=3,n=0,k=4", "m=3,n=4,k=0"})
    for (const std::int64_t count : {0, 6}) {
      const GemmProblem p =
          parse_problem(fmt::format("gemm_batched:f64:nn:{}:strided:batch={}:beta=general", sizes, count));
      SCOPED_TRACE(to_string(p));
      const GemmPlan made = plan(context_, p);
      EmptyOperands<double> x(p);
      const ChainPass<double> pass{&made,         1.0, x.read.data(),
                                   x.read.data(), 3.0, x.c.empty() ? x.read.data() : x.c.data()};
      const std::span<const ChainPass<double>> passes(&pass, 1);
      EXPECT_NE(explain_chain<double>(count, passes), "");
      run_chain<double>(count, passes);
      EXPECT_EQ(x.c, x.expected());
    }
}

TEST_F(EmptyProblems, OfConversions) {
  for (const auto& [rows, cols, count] : {std::tuple(0, 3, 5), {3, 0, 5}, {3, 4, 0}, {0, 0, 0}})
    for (const int block : {1, 4}) {
      double plain[1] = {7}, blocks[1] = {7};
      const double* const from[8] = {};
      double* const to[8] = {};
      const std::int64_t ld = std::max(1, rows), stride = rows * cols;
      interleave<double>(StridedBatch<const double>{{plain, rows, cols, ld}, stride, count},
                         InterleavedBatch<double>{blocks, rows, cols, ld, block, count});
      interleave<double>(PointerBatch<const double>{from, rows, cols, ld, count},
                         InterleavedBatch<double>{blocks, rows, cols, ld, block, count});
      deinterleave<double>(InterleavedBatch<const double>{blocks, rows, cols, ld, block, count},
                           StridedBatch<double>{{plain, rows, cols, ld}, stride, count});
      deinterleave<double>(InterleavedBatch<const double>{blocks, rows, cols, ld, block, count},
                           PointerBatch<double>{to, rows, cols, ld, count});
      EXPECT_EQ(plain[0], 7);
      EXPECT_EQ(blocks[0], 7);
    }
}

template <class T>
void check_lu(Context& context, const char* candidate) {
  LuOptions options;
  options.candidate = candidate;
  T a[1] = {T(7)}, b[1] = {T(7)}, x[1] = {T(7)};
  std::int64_t pivots[1] = {1};
  for (const auto& [m, n] : {std::pair(0, 0), {0, 5}, {5, 0}}) {
    EXPECT_EQ(lu_factor<T>(context, m, n, a, std::max(1, m), pivots, options).info, 0);
    (void)explain_lu(context, {dtype_of<T>, m, n, std::max(1, m)}, options);
  }
  for (const Op op : {Op::none, Op::trans, Op::conj_trans})
    for (const auto& [n, nrhs] : {std::pair(0, 0), {0, 3}, {1, 0}}) {
      lu_solve<T>(context, op, n, nrhs, a, 1, pivots, b, 1, options);
      const LuRefinement refined =
          lu_refine<T>(context, op, n, nrhs, a, 1, a, 1, pivots, b, 1, x, 1, options);
      EXPECT_EQ(refined.backward_errors.size(), std::size_t(nrhs));
      EXPECT_EQ(refined.backward_error, 0);
    }
  EXPECT_EQ(lu_inverse<T>(context, 0, a, 1, pivots, options).info, 0);
  for (const T value : {a[0], b[0], x[0]}) EXPECT_EQ(value, T(7));
}

TEST_F(EmptyProblems, OfLu) {
  for (const DType dtype : dtypes)
    for (const char* candidate : {"", "reference", "blocked"})
      dispatch(dtype, [&]<class T>() {
        SCOPED_TRACE(to_string(dtype) + " " + candidate);
        check_lu<T>(context_, candidate);
      });
}

}  // namespace
}  // namespace tilewright::testing
