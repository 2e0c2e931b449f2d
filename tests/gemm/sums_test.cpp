// gemm_batch_reduce and gemm_stack: sums of products into one C against plain loops, on every instruction
// set, with C anywhere in the lists; the same bits for every number of threads; and what is refused.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <random>

#include "gemm/context_impl.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/reference.hpp"
#include "support/isas.hpp"
#include "support/stacks.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::testing {
namespace {

ContextOptions for_isa(Isa isa) {
  ContextOptions options;
  options.cpu = to_string(isa);
  options.use_wisdom = options.notices = false;
  return options;
}

template <class T>
bool same(const std::vector<T>& x, const std::vector<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !(x[i] != x[i] && y[i] != y[i])) return false;
  return x.size() == y.size();
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

template <class T>
class Sums : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Sums, Types);

const StackShape shapes[] = {{1, 1, 1},
                             {2, 3, 4},
                             {5, 5, 5, Op::none, Op::trans, 1},
                             {8, 8, 8},
                             {13, 13, 13},
                             {13, 5, 23},
                             {9, 20, 7, Op::trans, Op::none, 3},
                             {23, 23, 23},
                             {16, 31, 12},
                             {17, 9, 33, Op::conj_trans, Op::conj_trans},
                             {40, 33, 25, Op::none, Op::none, 2}};

TYPED_TEST(Sums, StacksAreSummedUpWhereverTheirCStands) {
  using T = TypeParam;
  for (const Isa isa : runnable_isas()) {
    Context context(for_isa(isa));
    unsigned seed = 1;
    for (const StackShape& shape : shapes)
      for (const Order order : {Order::runs, Order::shuffled})
        for (const T beta : {T(1), T(0), T(-2)}) {
          Stacks<T> stacks(++seed, 7);
          stacks.add(shape, order, 9, 5, seed % 3 == 0 ? T(2) : T(1), seed % 2 == 0);
          if (beta == T(0)) stacks.fill_c(T(std::numeric_limits<float>::quiet_NaN()));
          EXPECT_TRUE(same(stacks.run(context, beta), stacks.expected(beta)))
              << to_string(isa) << " m=" << shape.m << " n=" << shape.n << " k=" << shape.k
              << " beta=" << std::abs(beta) << " shuffled=" << (order == Order::shuffled);
        }
  }
}

TYPED_TEST(Sums, RunsOfAllLengths) {
  using T = TypeParam;
  for (const Isa isa : runnable_isas()) {
    Context context(for_isa(isa));
    for (const std::int64_t length : {1, 2, 3, 7, 50, 479, 480, 481, 1500})
      for (const T beta : {T(1), T(3)}) {
        Stacks<T> stacks(unsigned(length), 3);
        stacks.add({5, 4, 3}, Order::runs, 2, 1);
        StackOffsets first = stacks.list(0).front(), last = first;
        last.c = first.c == 0 ? 70 * 75 : 0;
        stacks.list(0).assign(std::size_t(length), first);
        stacks.list(0).push_back(last);
        stacks.stack(0).count = length + 1;
        EXPECT_TRUE(same(stacks.run(context, beta), stacks.expected(beta)))
            << to_string(isa) << " " << length;
      }
  }
}

TYPED_TEST(Sums, StacksOfSeveralShapesMeetInOneC) {
  using T = TypeParam;
  for (const Isa isa : runnable_isas()) {
    Context context(for_isa(isa));
    for (const T beta : {T(1), T(0), T(2)}) {
      Stacks<T> stacks(17, 6);
      for (const std::int64_t k : {5, 13, 23, 5}) stacks.add({5, 13, k}, Order::shuffled, 8, 4);
      stacks.add({5, 13, 0}, Order::runs, 3, 2);
      stacks.add({5, 13, 4}, Order::runs, 3, 2, T(0));
      stacks.add({5, 13, 70}, Order::runs, 3, 2);  // beyond the kernels
      stacks.add({5, 13, 3, Op::trans, Op::trans, 0}, Order::runs, 0, 1);
      if (beta == T(0)) stacks.fill_c(T(std::numeric_limits<float>::quiet_NaN()));
      EXPECT_TRUE(same(stacks.run(context, beta), stacks.expected(beta))) << to_string(isa);
    }
  }
}

TYPED_TEST(Sums, TheSameBitsByAnyNumberOfThreads) {
  using T = TypeParam;
  Context context(for_isa(runnable_isas().back()));
  for (const bool mixed : {false, true})
    for (const T beta : {T(1), T(0.75)}) {
      Stacks<T> stacks(3, 60, false);
      stacks.add({13, 13, 13}, Order::shuffled, 100, 50, T(0.3));
      if (mixed) stacks.add({13, 13, 5}, Order::shuffled, 100, 50);
      GemmOptions options;
      options.threads = 1;
      const auto one = stacks.run(context, beta, options);
      for (const int threads : {2, 3, 4}) {
        options.threads = threads;
        EXPECT_TRUE(same_bits(stacks.run(context, beta, options), one)) << threads;
      }
    }
}

TYPED_TEST(Sums, ABatchIsReducedIntoOneC) {
  using T = TypeParam;
  for (const Isa isa : runnable_isas()) {
    Context context(for_isa(isa));
    std::mt19937_64 random(5);
    std::vector<T> a(200000), b(200000);
    for (T& x : a) x = whole_number<T>(random);
    for (T& x : b) x = whole_number<T>(random);
    const StackShape more[] = {{70, 5, 9}, {3, 80, 4}, {6, 7, 66, Op::trans, Op::trans}};
    std::vector<StackShape> all(std::begin(shapes), std::end(shapes));
    all.insert(all.end(), std::begin(more), std::end(more));
    for (const StackShape& s : all)
      for (const std::int64_t count : {0, 1, 2, 21})
        for (const T beta : {T(1), T(0), T(-1)}) {
          GemmProblem p;
          p.dtype = dtype_of<T>;
          p.op_a = s.op_a, p.op_b = s.op_b, p.m = s.m, p.n = s.n, p.k = s.k;
          p.lda = p.a_rows() + s.gap, p.ldb = p.b_rows(), p.ldc = s.m + s.gap;
          p.layout = Layout::strided;
          p.sums = tilewright::Sums::batch_reduce;
          p.batch_count = count;
          p.stride_a = p.lda * p.a_cols(), p.stride_b = count % 2 == 0 ? p.ldb * p.b_cols() + 1 : 0;
          p.alpha = p.beta = Scalar::general;
          const T alpha = count == 2 ? T(2) : T(1);
          std::vector<T> c(std::size_t(p.ldc * s.n), T(beta == T(0) ? NAN : 4)), pointed = c, expected = c;
          Operands o;
          o.a = a.data(), o.b = b.data(), o.c = expected.data(), o.alpha = &alpha, o.beta = &beta;
          if (count == 0) p.k = 0, p.batch_count = 1;
          gemm_reference(p, o);
          p.k = s.k;
          gemm_batch_reduce<T>(
              context, p.op_a, p.op_b, alpha,
              StridedBatch<const T>{{a.data(), p.a_rows(), p.a_cols(), p.lda}, p.stride_a, count},
              StridedBatch<const T>{{b.data(), p.b_rows(), p.b_cols(), p.ldb}, p.stride_b, count}, beta,
              MatrixView<T>{c.data(), p.m, p.n, p.ldc});
          EXPECT_TRUE(same(c, expected)) << to_string(isa) << " " << to_string(p);
          std::vector<const T*> as, bs;
          for (std::int64_t i = 0; i < count; ++i)
            as.push_back(a.data() + i * p.stride_a), bs.push_back(b.data() + i * p.stride_b);
          gemm_batch_reduce<T>(context, p.op_a, p.op_b, alpha,
                               PointerBatch<const T>{as.data(), p.a_rows(), p.a_cols(), p.lda, count},
                               PointerBatch<const T>{bs.data(), p.b_rows(), p.b_cols(), p.ldb, count}, beta,
                               MatrixView<T>{pointed.data(), p.m, p.n, p.ldc});
          EXPECT_TRUE(same(pointed, expected)) << to_string(isa) << " " << to_string(p);
        }
  }
}

TEST(SumsCalls, NothingIsNothing) {
  Context context(for_isa(runnable_isas().back()));
  gemm_stack<double>(context, {}, 2.0);
  const GemmStack<double> empty = StackFields<double>{.m = 3, .n = 3, .k = 3, .lda = 3, .ldb = 3, .ldc = 3};
  gemm_stack<double>(context, std::span(&empty, 1), 2.0);
  const GemmStack<double> none;
  gemm_stack<double>(context, std::span(&none, 1), 2.0);
}

TEST(SumsCalls, StacksOfViews) {
  double data[8] = {};
  const StackOffsets list[2] = {{0, 0, 0}, {4, 4, 4}};
  const MatrixView<double> x{data, 2, 2, 2}, wide{data, 2, 3, 2};
  EXPECT_THROW((void)stack_of(Op::none, Op::none, 1, x, wide, x, list), Error);
  const GemmStack<double> stack = stack_of(Op::none, Op::trans, 3, wide, wide, x, list);
  EXPECT_EQ(stack.k(), 3);
  EXPECT_EQ(stack.alpha(), 3);
  EXPECT_EQ(stack.count(), 2);
  EXPECT_EQ(stack.offsets(), list);
  EXPECT_EQ(stack.pointers(), nullptr);
}

TEST(SumsPlans, AreWrittenReadExplainedAndRun) {
  Context context(for_isa(runnable_isas().back()));
  for (const char* text : {"gemm_stack:f64:nn:m=13,n=13,k=13:batch=3000:run=10:beta=one",
                           "gemm_batch_reduce:f32:nt:m=5,n=6,k=7:pointer:batch=9:beta=general",
                           "gemm_batch_reduce:c64:nn:m=5,n=6,k=7:strided:batch=9:stride_a=0"}) {
    const GemmProblem p = parse_problem(text);
    EXPECT_EQ(to_string(p), text);
    const std::string words = explain(context, p);
    EXPECT_NE(words.find("cpu_small"), std::string::npos) << words;
    EXPECT_NE(words.find("does not sum products"), std::string::npos) << words;
  }
  EXPECT_THROW(parse_problem("gemm_stack:f64:nn:m=1,n=1,k=1:strided"), Error);
  EXPECT_THROW(parse_problem("gemm_batched:f64:nn:m=1,n=1,k=1:run=3"), Error);
  EXPECT_THROW(parse_problem("gemm_batch_reduce:f64:nn:m=1,n=1,k=1:interleaved"), Error);
  const double a[] = {1, 2, 3}, b[] = {4, 5, 6};
  double c[] = {7, 8};
  const double *as[] = {a, a + 1, a + 2}, *bs[] = {b, b + 1, b + 2};
  double* cs[] = {c, c + 1, c};
  const GemmPlan stack = plan(context, parse_problem("gemm_stack:f64:nn:m=1,n=1,k=1:batch=3:beta=general"));
  stack.run<double>(1.0, as, bs, 2.0, cs);
  EXPECT_EQ(c[0], 14 + 4 + 18);
  EXPECT_EQ(c[1], 16 + 10);
  c[0] = NAN;
  stack.run<double>(1.0, as, bs, 0.0, cs);
  EXPECT_EQ(c[0], 4 + 18);
  const GemmPlan reduce = plan(context, parse_problem("gemm_batch_reduce:f64:nn:m=1,n=1,k=1:batch=3"));
  reduce.run<double>(1.0, a, b, 0.0, c);
  EXPECT_EQ(c[0], 4 + 10 + 18);
}

}  // namespace
}  // namespace tilewright::testing
