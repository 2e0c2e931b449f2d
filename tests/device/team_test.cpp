// Teams of threads in unusual processes or callers: children of fork, limits, a floating-point mode of the
// caller, threads with little stack.
#include "device/team.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <complex>
#include <cstdlib>
#include <functional>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/problem.hpp"
#include "device/workers.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/small.hpp"

namespace tilewright {
namespace {

constexpr int many = 4;  // threads, on any number of processors
constexpr std::int64_t edge = 8, batch = 20000;

struct Product {
  std::vector<double> a = std::vector<double>(edge * edge * batch, 1.0);
  std::vector<double> b = std::vector<double>(edge * edge * batch, 0.5);
  std::vector<double> c = std::vector<double>(edge * edge * batch, -1.0);

  void compute(Context& context, int threads) {
    const StridedBatch<const double> x{{a.data(), edge, edge, edge}, edge * edge, batch},
        y{{b.data(), edge, edge, edge}, edge * edge, batch};
    gemm_batched<double>(context, Op::none, Op::none, 1.0, x, y, 0.0,
                         {{c.data(), edge, edge, edge}, edge * edge, batch}, {.threads = threads});
  }
  bool is_right() const {
    for (const double x : c)
      if (x != edge / 2) return false;
    return true;
  }
};

// Returns the exit code of a child that runs `work`; it is given half a minute.
int in_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Team, ChildrenOfForkCompute) {
  Context context;
  Product product;
  product.compute(context, many);
  EXPECT_TRUE(product.is_right());
  EXPECT_EQ(in_child([&] {
              Product again;
              again.compute(context, many);
              Context own;
              again.c.assign(again.c.size(), -1);
              again.compute(own, 0);
              return again.is_right() && usable_threads(many) == 1;
            }),
            0);
  product.c.assign(product.c.size(), -1);
  product.compute(context, many);
  EXPECT_TRUE(product.is_right()) << "the parent goes on";
}

TEST(Team, ThreadsThatCannotBeHadAreNotAskedFor) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer wants more address space than there is here";
#endif
  EXPECT_EQ(usable_threads(1), 1);
  EXPECT_EQ(usable_threads(0), 0);
  // Runs in a separate process, whose limits and pool are its own.
  EXPECT_EQ(in_child([] {
              execl("/proc/self/exe", "library_test", "--gtest_also_run_disabled_tests",
                    "--gtest_filter=Team.DISABLED_LittleAddressSpace", nullptr);
              return false;
            }),
            0);
}

TEST(Team, DISABLED_LittleAddressSpace) {
  mallopt(M_ARENA_MAX, 1);  // otherwise threads that allocate concurrently take 64 MiB of addresses each
  Context context;
  Product product;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = rlim_t(1) << 30;
  if (setrlimit(RLIMIT_AS, &limit) != 0) GTEST_SKIP();
  const int usable = usable_threads(most_threads);
  EXPECT_LT(usable, most_threads);
  product.compute(context, most_threads);
  EXPECT_TRUE(product.is_right());
  const std::string text =
      explain(context, parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000"),
              {.threads = most_threads});
  EXPECT_NE(text.find("cannot have more"), std::string::npos) << text;
}

// The mode of the floating-point unit that kernels use.
TEST(Team, CallersModeHoldsOnAllThreads) {
  std::vector<double> seen(many, -1);
  volatile double one = 1, three = 3;
  const auto thirds = [&] {
    run_team(many, [&](int thread, int) { seen[std::size_t(thread)] = one / three; });
    seen.erase(std::remove(seen.begin(), seen.end(), -1.0), seen.end());
    const bool alike = std::adjacent_find(seen.begin(), seen.end(), std::not_equal_to<>()) == seen.end();
    const double first = alike ? seen[0] : -1;
    seen.assign(many, -1);
    return first;
  };
  const double near = thirds();
  std::fesetround(FE_UPWARD);
  const double above = thirds();
  std::fesetround(FE_TONEAREST);
  EXPECT_GT(near, 0);
  EXPECT_GT(above, near);
  EXPECT_EQ(thirds(), near);
}

// Each item of all works once, whoever does it: threads, or who waits for the work.
TEST(Workers, EveryItemIsDoneOnce) {
  for (const int threads : {0, 1, many}) {
    Workers workers(threads);
    std::array<Workers::Ticket, 3> tickets;
    std::array<std::array<std::atomic<int>, 100>, 3> times{};
    for (std::size_t i = 0; i < tickets.size(); ++i)
      workers.submit(
          100, std::int64_t(7 * i + 1),
          [&times, i](std::int64_t first, std::int64_t count) {
            for (std::int64_t item = first; item < first + count; ++item) ++times[i][std::size_t(item)];
          },
          tickets[i]);
    for (Workers::Ticket& ticket : tickets) {
      workers.finish(ticket);
      EXPECT_TRUE(workers.is_finished(ticket));
    }
    for (const auto& all : times)
      for (const auto& one : all) EXPECT_EQ(one, 1) << threads;
  }
}

// Pieces with a thread each may wait for one another.
TEST(Workers, PiecesThatMeet) {
  Workers workers;
  workers.grow(many);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> here = 0;
    Workers::Ticket ticket;
    workers.submit(
        many, 1,
        [&here](std::int64_t, std::int64_t) {
          ++here;
          here.notify_all();
          for (int now = here; now < many; now = here) here.wait(now);
        },
        ticket);
    workers.wait(ticket);
    EXPECT_EQ(here, many);
  }
}

// Threads that wake in time do their parts, and the caller does the parts of late ones; the split varies by
// chance.
TEST(ThreadPool, EveryPartIsDoneOnce) {
  ThreadPool pool;
  std::array<std::atomic<int>, many> times{};
  const auto work = [](void* what, int index) {
    ++(*static_cast<decltype(times)*>(what))[std::size_t(index)];
  };
  constexpr int rounds = 2000;
  for (int i = 0; i < rounds; ++i) pool.run(many, work, &times);
  EXPECT_EQ(pool.size(), many - 1);
  for (const auto& one : times) EXPECT_EQ(one, rounds);
}

// The caller waits for a thread that has begun, and wakes one that sleeps.
TEST(ThreadPool, WaitsForWhatThreadsHaveTaken) {
  ThreadPool pool;
  pool.run(
      2, [](void*, int) {}, nullptr);
  ASSERT_EQ(pool.size(), 1) << "else one index would wait for another in vain";
  struct Meeting {
    std::atomic<bool> taken = false, finished = false;
  };
  for (int i = 0; i < 3; ++i) {
    Meeting meeting;
    const auto work = [](void* what, int index) {
      auto& both = *static_cast<Meeting*>(what);
      if (index == 1) both.taken = true;
      if (index == 0)
        while (!both.taken) std::this_thread::yield();
      if (index == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than any thread stays awake
        both.finished = true;
      }
    };
    pool.run(2, work, &meeting);
    EXPECT_TRUE(meeting.finished);
  }
}

// Each calling thread has threads of its own, and they end with it.
TEST(ThreadPool, CallersDoNotShare) {
  std::array<int, 3> sums{};
  std::vector<std::thread> callers;
  for (int& sum : sums)
    callers.emplace_back([&sum] {
      std::atomic<int> total = 0;
      for (int i = 0; i < 200; ++i)
        ThreadPool::own().run(
            many, [](void* what, int index) { *static_cast<std::atomic<int>*>(what) += index; }, &total);
      sum = total;
    });
  for (std::thread& caller : callers) caller.join();
  for (const int sum : sums) EXPECT_EQ(sum, 200 * (0 + 1 + 2 + 3));
}

TEST(Team, IsOneThreadWithinATeam) {
  std::array<int, many> sizes{};
  EXPECT_FALSE(is_in_team());
  run_team(many, [&](int thread, int) {
    EXPECT_TRUE(is_in_team());
    run_team(many, [&](int, int inner) { sizes[std::size_t(thread)] = inner; });
  });
  EXPECT_FALSE(is_in_team());
  for (const int size : sizes) EXPECT_EQ(size, 1);
}

TEST(Team, FirstExceptionComesOutOnceAllAreDone) {
  std::atomic<int> count = 0;
  EXPECT_THROW(run_team(many,
                        [&](int, int) {
                          ++count;
                          throw std::runtime_error("each");
                        }),
               std::runtime_error);
  EXPECT_EQ(count, many);
}

// The environment, of separate processes, chooses whose threads are used.
TEST(Team, IsWhoseTheEnvironmentSays) {
  const auto run = [](const char* variable, const char* value, const char* tests) {
    return in_child([&] {
      setenv(variable, value, 1);
      execl("/proc/self/exe", "library_test", "--gtest_also_run_disabled_tests", tests, nullptr);
      return false;
    });
  };
  const auto are_own = [&](const char* variable, const char* value) {
    return run(variable, value, "--gtest_filter=Team.DISABLED_AreOwn") == 0;
  };
  EXPECT_TRUE(are_own("TILEWRIGHT_TEAM", "own"));
  EXPECT_FALSE(are_own("TILEWRIGHT_TEAM", "openmp"));
  EXPECT_FALSE(are_own("OMP_WAIT_POLICY", "passive"));
  for (const char* team : {"own", "openmp"})
    EXPECT_EQ(run("TILEWRIGHT_TEAM", team,
                  "--gtest_filter=Team.ChildrenOf*:Team.CallersMode*:Team.IsOne*:Team.First*"),
              0)
        << team;
  setenv("TILEWRIGHT_TEAM", "mine", 1);
  EXPECT_THROW(Context(), Error);
  unsetenv("TILEWRIGHT_TEAM");
}

// Run by the test above alone: a process's choice is permanent.
TEST(Team, DISABLED_AreOwn) {
  EXPECT_FALSE(openmp_runs_teams());
  run_team(many, [](int, int) { EXPECT_EQ(omp_in_parallel(), 0); });
  EXPECT_EQ(ThreadPool::own().size(), many - 1);
}

#if defined(__x86_64__) || defined(__aarch64__)
// Returns the mode before: flush to zero, denormals are zero.
std::uint64_t flush_denormals() {
#if defined(__x86_64__)
  const std::uint64_t before = _mm_getcsr();
  _mm_setcsr(unsigned(before) | 0x8040);
#else
  std::uint64_t before = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  __asm__ volatile("msr fpcr, %0" : : "r"(before | 1 << 24));
#endif
  return before;
}
void restore_mode(std::uint64_t before) {
#if defined(__x86_64__)
  _mm_setcsr(unsigned(before));
#else
  __asm__ volatile("msr fpcr, %0" : : "r"(before));
#endif
}

TEST(Team, DenormalsAreFlushedOnAllThreadsOrOnNone) {
  Context context;
  Product product;
  product.a.assign(product.a.size(), std::numeric_limits<double>::min());
  product.b.assign(product.b.size(), 1.0 / 16);
  const auto all_equal = [&](double value) {
    for (const double x : product.c)
      if (x != value) return false;
    return true;
  };
  product.compute(context, many);
  EXPECT_TRUE(all_equal(std::numeric_limits<double>::min() / 2));
  const std::uint64_t before = flush_denormals();
  product.compute(context, many);
  restore_mode(before);
  EXPECT_TRUE(all_equal(0));
}
#endif

// Kernels that need much stack are run by threads that have little of it; transposed A is packed.
struct SmallStack {
  std::vector<GemmPlan> plans;
  std::vector<double> a = std::vector<double>(2 * 3 * 64 * 64, 1.0), b = a, c = a;
};

void* run_plans(void* given) {
  auto& x = *static_cast<SmallStack*>(given);
  const auto as_complex = [](std::vector<double>& v) {
    return reinterpret_cast<std::complex<double>*>(v.data());
  };
  for (const GemmPlan& one : x.plans) {
    if (one.problem().dtype == DType::c128)
      one.run<std::complex<double>>(std::complex<double>(1), as_complex(x.a), as_complex(x.b),
                                    std::complex<double>(0), as_complex(x.c));
    else
      one.run<double>(1.0, x.a.data(), x.b.data(), 0.0, x.c.data());
  }
  return nullptr;
}

TEST(Team, SmallStacksSuffice) {
  constexpr std::size_t stack_bytes = 64 << 10;
  SmallStack x;
  for (const char* cpu : {"portable", ""}) {
    Context context({.cpu = cpu, .use_wisdom = false});
    for (const char* problem : {"gemm_batched:c128:cc:m=64,n=64,k=64:strided:batch=3",
                                "gemm_batched:c128:nn:m=64,n=64,k=64:strided:batch=3",
                                "gemm_batched:f64:tn:m=64,n=64,k=64:strided:batch=3",
                                "gemm_batched:c128:nn:m=9,n=7,k=9:interleaved:batch=37"})
      for (const char* config : {"", R"({"store": "non_temporal"})"}) try {
          x.plans.push_back(plan(context, parse_problem(problem),
                                 {.threads = 1, .candidate = "cpu_small", .config = config}));
        } catch (const Error& error) {
          EXPECT_STRNE(config, "") << error.what();  // not every kernel supports these stores
        }
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, run_plans, &x), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// Calls that find a recent kernel without a plan check the stack as well.
TEST(Team, SmallStacksSufficeForCalls) {
  struct Operands {
    Context context{{.use_wisdom = false}};
    std::vector<std::complex<double>> a = std::vector<std::complex<double>>(64 * 64, 1.0), b = a, c = a;
  } x;
  const GemmProblem problem = parse_problem("gemm:c128:cc:m=64,n=64,k=64");
  prepare(x.context, std::span(&problem, 1), {.threads = 1});
  const auto work = [](void* given) -> void* {
    auto& o = *static_cast<Operands*>(given);
    for (int i = 0; i < 3; ++i)
      gemm<std::complex<double>>(o.context, Op::conj_trans, Op::conj_trans, 1.0, {o.a.data(), 64, 64, 64},
                                 {o.b.data(), 64, 64, 64}, 0.0, {o.c.data(), 64, 64, 64}, {.threads = 1});
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, work, &x), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(x.c[0], 64.0);
}

// small.hpp copies a transposed A to the stack only if it is small.
TEST(Team, SmallStacksSufficeForSizesKnownAtCompileTime) {
  struct Operands {
    std::vector<std::complex<double>> a = std::vector<std::complex<double>>(96 * 96, 1.0), b = a, c = a;
  } x;
  const auto work = [](void* given) -> void* {
    auto& o = *static_cast<Operands*>(given);
    gemm<96, 4, 96, Op::trans>(std::complex<double>(1), o.a.data(), o.b.data(), std::complex<double>(0),
                               o.c.data());
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, work, &x), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(x.c[0], 96.0);
}

}  // namespace
}  // namespace tilewright
