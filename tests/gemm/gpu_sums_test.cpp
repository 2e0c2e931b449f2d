// Sums of products into one C in device memory: calls with lists there, stacks that are sorted once and run
// many times, batches that are reduced; what is refused, what is captured, and that bits repeat.
#include <cstring>

#include "device/gpu/gpu.hpp"
#include "support/gpu_fixture.hpp"
#include "support/stacks.hpp"
#include "tilewright/tilewright.h"

namespace tilewright::testing {
namespace {

// The buffers and lists of stacks, copied to a device.
template <class T>
class GpuStacks {
 public:
  GpuStacks(const Gpu& gpu, Stacks<T>& host)
      : host_(host), a_(upload(gpu, host.a())), b_(upload(gpu, host.b())), c_(upload(gpu, host.c())) {
    for (std::size_t s = 0; s < host.count(); ++s) {
      offsets_.push_back(upload(gpu, host.list(s)));
      pointers_.push_back(addresses(s));
      device_pointers_.push_back(upload(gpu, pointers_.back()));
    }
  }

  // With lists in device memory, or on the host.
  std::vector<GemmStack<T, Location::device>> stacks(Location lists) {
    return made(std::span<const StackFields<T, Location::device>>(fields(lists)));
  }
  std::vector<StackFields<T, Location::device>> fields(Location lists) {
    std::vector<StackFields<T, Location::device>> all;
    for (std::size_t s = 0; s < host_.count(); ++s) {
      const StackFields<T>& x = host_.stack(s);
      StackFields<T, Location::device> stack;
      stack.op_a = x.op_a, stack.op_b = x.op_b, stack.m = x.m, stack.n = x.n, stack.k = x.k;
      stack.alpha = x.alpha, stack.lda = x.lda, stack.ldb = x.ldb, stack.ldc = x.ldc, stack.count = x.count;
      const bool there = lists == Location::device;
      if (host_.by_pointers(s)) {
        stack.pointers = there ? device_pointers_[s].template as<StackPointers<T>>() : pointers_[s].data();
      } else {
        stack.a = a_.template as<T>(), stack.b = b_.template as<T>(), stack.c = c_.template as<T>();
        stack.offsets = there ? offsets_[s].template as<StackOffsets>() : host_.list(s).data();
      }
      all.push_back(stack);
    }
    return all;
  }

  void reset() { c_.write(host_.c().data(), host_.c().size() * sizeof(T)); }
  std::vector<T> c() const {
    std::vector<T> all(host_.c().size());
    c_.read(all.data(), all.size() * sizeof(T));
    return all;
  }

 private:
  template <class X>
  static GpuBuffer upload(const Gpu& gpu, const std::vector<X>& from) {
    GpuBuffer buffer(gpu, std::max<std::size_t>(1, from.size()) * sizeof(X));
    if (!from.empty()) buffer.write(from.data(), from.size() * sizeof(X));
    return buffer;
  }
  std::vector<StackPointers<T>> addresses(std::size_t s) const {
    std::vector<StackPointers<T>> all;
    for (const StackOffsets& x : host_.list(s))
      all.push_back({a_.template as<T>() + x.a, b_.template as<T>() + x.b, c_.template as<T>() + x.c});
    return all;
  }

  Stacks<T>& host_;
  GpuBuffer a_, b_, c_;
  std::vector<GpuBuffer> offsets_, device_pointers_;
  std::vector<std::vector<StackPointers<T>>> pointers_;
};

template <class T>
bool equal(const std::vector<T>& x, const std::vector<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !(x[i] != x[i] && y[i] != y[i])) return false;
  return x.size() == y.size();
}

template <class T>
class GpuSums : public GpuTest {
 protected:
  // Through the call, as it stands and again.
  void expect_right(Context& context, Stacks<T>& stacks, T beta) {
    GpuStacks<T> there(*gpu_, stacks);
    const auto lists = there.stacks(Location::device);
    gemm_stack<T, Location::device>(context, lists, beta, options_);
    gpu_->synchronize();
    EXPECT_TRUE(equal(there.c(), stacks.expected(beta)));
  }
};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(GpuSums, Types);

const StackShape shapes[] = {{1, 1, 1},
                             {5, 5, 5, Op::none, Op::trans, 1},
                             {8, 8, 8},
                             {13, 5, 23},
                             {9, 20, 7, Op::trans, Op::none, 3},
                             {32, 32, 32},
                             {17, 9, 33, Op::conj_trans, Op::conj_trans},
                             {64, 64, 64}};

TYPED_TEST(GpuSums, ListsInRuns) {
  using T = TypeParam;
  Context context;
  unsigned seed = 1;
  for (const StackShape& shape : shapes)
    for (const T beta : {T(1), T(0), T(-2)})
      for (const std::int64_t longest : {1, 7, 50}) {
        if (longest == 50 && shape.m > 32) continue;
        SCOPED_TRACE(std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k));
        Stacks<T> stacks(++seed, 11);
        stacks.add(shape, Order::one_run, 11, longest, seed % 3 == 0 ? T(2) : T(1), seed % 2 == 0);
        if (beta == T(0)) stacks.fill_c(T(std::numeric_limits<float>::quiet_NaN()));
        this->expect_right(context, stacks, beta);
      }
}

TYPED_TEST(GpuSums, StacksOneBehindTheOther) {
  using T = TypeParam;
  Context context;
  Stacks<T> stacks(5, 7);
  for (const std::int64_t k : {5, 13, 23}) stacks.add({5, 13, k}, Order::one_run, 7, 4, T(1), k == 13);
  stacks.add({5, 13, 0}, Order::one_run, 3, 2);
  stacks.add({5, 13, 4}, Order::one_run, 3, 2, T(0));
  stacks.add({5, 13, 3}, Order::one_run, 0, 1);
  this->expect_right(context, stacks, T(1));
}

TYPED_TEST(GpuSums, NothingToMultiplyScalesEachCOnce) {
  using T = TypeParam;
  Context context;
  for (const T alpha : {T(0), T(1)}) {
    Stacks<T> stacks(6, 7);
    stacks.add({5, 13, alpha == T(0) ? 4 : 0}, Order::one_run, 6, 3, alpha);
    this->expect_right(context, stacks, T(2));
  }
}

TYPED_TEST(GpuSums, SortedOnceAndRunManyTimes) {
  using T = TypeParam;
  Context context;
  for (const Location lists : {Location::host, Location::device})
    for (const bool several : {false, true}) {
      Stacks<T> stacks(9, 6);
      stacks.add({5, 13, 5}, Order::shuffled, 20, 4, T(2));
      if (several)
        for (const std::int64_t k : {23, 5}) stacks.add({5, 13, k}, Order::shuffled, 8, 4, T(1), k == 5);
      GpuStacks<T> there(*this->gpu_, stacks);
      const auto named = there.stacks(lists);
      const StackPlan plan = plan_stacks<T>(context, named, lists, this->options_);
      EXPECT_NE(plan.explain().find("stack 0: "), std::string::npos) << plan.explain();
      for (const T beta : {T(1), T(0), T(3)}) {
        if (beta == T(0)) stacks.fill_c(T(std::numeric_limits<float>::quiet_NaN()));
        there.reset();
        plan.run<T>(beta);
        this->gpu_->synchronize();
        EXPECT_TRUE(equal(there.c(), stacks.expected(beta))) << several;
      }
    }
}

TYPED_TEST(GpuSums, TheSameBitsEachTime) {
  using T = TypeParam;
  Context context;
  Stacks<T> stacks(3, 61, false);
  stacks.add({13, 13, 13}, Order::one_run, 61, 50, T(0.25));
  GpuStacks<T> there(*this->gpu_, stacks);
  std::vector<T> first;
  for (int turn = 0; turn < 3; ++turn) {
    there.reset();
    const auto lists = there.stacks(Location::device);
    gemm_stack<T, Location::device>(context, lists, T(0.5), this->options_);
    this->gpu_->synchronize();
    const std::vector<T> c = there.c();
    if (turn == 0) first = c;
    EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(T)), 0) << turn;
  }
}

// A batch and its C in device memory, with what must come out.
template <class T>
struct Reduction {
  Reduction(const Gpu& gpu, const StackShape& s, std::int64_t count, T alpha, T beta)
      : a_values(100000), b_values(100000) {
    std::mt19937_64 random(5);
    for (T& x : a_values) x = whole_number<T>(random);
    for (T& x : b_values) x = whole_number<T>(random);
    p.dtype = dtype_of<T>;
    p.op_a = s.op_a, p.op_b = s.op_b, p.m = s.m, p.n = s.n, p.k = s.k;
    p.lda = p.a_rows() + s.gap, p.ldb = p.b_rows(), p.ldc = s.m + s.gap;
    p.layout = Layout::strided;
    p.sums = Sums::batch_reduce;
    p.batch_count = count;
    p.stride_a = count > 100 ? 1 : p.lda * p.a_cols(), p.stride_b = count % 2 == 0 ? 3 : 0;
    p.alpha = p.beta = Scalar::general;
    c_values.assign(std::size_t(p.ldc * s.n), T(beta == T(0) ? NAN : 4));
    expected = c_values;
    GemmProblem same = p;
    if (count == 0) same.k = 0, same.batch_count = 1;
    Operands o;
    o.a = a_values.data(), o.b = b_values.data(), o.c = expected.data(), o.alpha = &alpha, o.beta = &beta;
    gemm_reference(same, o);
    for (auto* x : {&a_values, &b_values, &c_values}) {
      buffers.emplace_back(gpu, x->size() * sizeof(T));
      buffers.back().write(x->data(), x->size() * sizeof(T));
    }
    for (std::int64_t i = 0; i < std::max<std::int64_t>(1, count); ++i) {
      as.push_back(a() + i * p.stride_a), bs.push_back(b() + i * p.stride_b);
      cs.push_back(c());
    }
    for (void* x :
         {static_cast<void*>(as.data()), static_cast<void*>(bs.data()), static_cast<void*>(cs.data())}) {
      buffers.emplace_back(gpu, as.size() * sizeof(void*));
      buffers.back().write(x, as.size() * sizeof(void*));
    }
  }
  const T* a() const { return buffers[0].template as<T>(); }
  const T* b() const { return buffers[1].template as<T>(); }
  T* c() const { return buffers[2].template as<T>(); }
  template <class X>
  X* addresses(std::size_t operand) const {
    return buffers[3 + operand].template as<X>();
  }
  void reset() { buffers[2].write(c_values.data(), c_values.size() * sizeof(T)); }
  std::vector<T> result() const {
    std::vector<T> all(c_values.size());
    buffers[2].read(all.data(), all.size() * sizeof(T));
    return all;
  }

  GemmProblem p;
  std::vector<T> a_values, b_values, c_values, expected;
  std::vector<const T*> as, bs;
  std::vector<T*> cs;
  std::vector<GpuBuffer> buffers;
};

TYPED_TEST(GpuSums, ABatchIsReducedIntoOneC) {
  using T = TypeParam;
  using Strided = StridedBatch<const T, Location::device>;
  using Pointers = PointerBatch<const T, Location::device>;
  Context context;
  for (const StackShape& s : shapes)
    for (const std::int64_t count : {0, 1, 2, 21, 5000})
      for (const T beta : {T(1), T(0), T(-1)}) {
        if (count == 5000 && s.m > 8) continue;
        const T alpha = count == 2 ? T(2) : T(1);
        Reduction<T> r(*this->gpu_, s, count, alpha, beta);
        const GemmProblem& p = r.p;
        const MatrixView<T, Location::device> c{r.c(), p.m, p.n, p.ldc};
        gemm_batch_reduce<T, Location::device>(
            context, p.op_a, p.op_b, alpha,
            Strided{{r.a(), p.a_rows(), p.a_cols(), p.lda}, p.stride_a, count},
            Strided{{r.b(), p.b_rows(), p.b_cols(), p.ldb}, p.stride_b, count}, beta, c, this->options_);
        this->gpu_->synchronize();
        EXPECT_TRUE(equal(r.result(), r.expected)) << to_string(p);
        r.reset();
        gemm_batch_reduce<T, Location::device>(
            context, p.op_a, p.op_b, alpha,
            Pointers{r.template addresses<const T* const>(0), p.a_rows(), p.a_cols(), p.lda, count},
            Pointers{r.template addresses<const T* const>(1), p.b_rows(), p.b_cols(), p.ldb, count}, beta, c,
            this->options_);
        this->gpu_->synchronize();
        EXPECT_TRUE(equal(r.result(), r.expected)) << to_string(p);
      }
}

// Plans name C of a pointer batch as they name A and B.
TYPED_TEST(GpuSums, PlansOfReductions) {
  using T = TypeParam;
  Context context;
  Reduction<T> r(*this->gpu_, {9, 7, 5}, 30, T(2), T(3));
  for (const Layout layout : {Layout::strided, Layout::pointer}) {
    GemmProblem p = r.p;
    p.location = Location::device;
    p.layout = layout;
    if (layout == Layout::pointer) p.stride_a = p.stride_b = 0;
    const GemmPlan made = plan(context, p, this->options_);
    EXPECT_EQ(made.candidate(), "gpu_small");
    r.reset();
    if (layout == Layout::pointer)
      made.run<T>(T(2), r.template addresses<const T* const>(0), r.template addresses<const T* const>(1),
                  T(3), r.template addresses<T* const>(2));
    else
      made.run<T>(T(2), r.a(), r.b(), T(3), r.c());
    this->gpu_->synchronize();
    EXPECT_TRUE(equal(r.result(), r.expected));
  }
}

class GpuSumsCalls : public GpuTest {};

TEST_F(GpuSumsCalls, NothingIsQueuedWhereSomethingIsWrong) {
  Context context;
  Stacks<double> stacks(4, 7);
  stacks.add({5, 5, 5}, Order::one_run, 7, 3);
  stacks.add({5, 5, 5}, Order::one_run, 7, 3, 1.0, true);
  GpuStacks<double> there(*gpu_, stacks);
  const auto refused = [&](auto&& spoil, const std::string& argument, const std::string& part) {
    auto fields = there.fields(Location::device);
    spoil(fields[1]);
    const auto lists = made(std::span<const StackFields<double, Location::device>>(fields));
    try {
      gemm_stack<double, Location::device>(context, std::span(lists), 1.0, options_);
      ADD_FAILURE() << "not refused: " << argument;
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), argument) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    gpu_->synchronize();
    EXPECT_TRUE(equal(there.c(), stacks.c()));
  };
  refused([](auto& x) { x.lda = 4; }, "lda", "stack 1: lda = 4");
  refused([](auto& x) { x.pointers = nullptr; }, "offsets", "stack 1: neither offsets nor pointers");
  refused([](auto& x) { x.m = x.lda = x.ldc = 70; }, "problem", "size 70 exceeds the limit of 64");
}

TEST_F(GpuSumsCalls, SortingFindsWhatIsWrong) {
  Context context;
  Stacks<double> stacks(4, 7);
  stacks.add({5, 5, 5}, Order::shuffled, 7, 3);
  stacks.list(0)[2].a = -1;
  GpuStacks<double> there(*gpu_, stacks);
  for (const Location lists : {Location::host, Location::device}) try {
      (void)plan_stacks<double>(context, there.stacks(lists), lists, options_);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), "a") << error.what();
      EXPECT_EQ(error.problem_index(), 2);
    }
  const StackPlan none = plan_stacks<double>(context, {}, Location::host, options_);
  none.run<double>(1.0);
}

TEST_F(GpuSumsCalls, APlanIsCapturedInAGraph) {
  Context context;
  Stacks<double> stacks(8, 7);
  stacks.add({8, 8, 8}, Order::shuffled, 20, 5);
  GpuStacks<double> there(*gpu_, stacks);
  const StackPlan plan = plan_stacks<double>(context, there.stacks(Location::host), Location::host, options_);
  GpuStream stream(*gpu_);
  GpuGraph graph(*gpu_, stream.get(), [&] { plan.run<double>(2.0, stream.get()); });
  EXPECT_TRUE(equal(there.c(), stacks.c()));
  graph.launch(stream.get());
  gpu_->synchronize();
  EXPECT_TRUE(equal(there.c(), stacks.expected(2.0)));
}

}  // namespace
}  // namespace tilewright::testing
