// Children of fork while other threads compute: does each child compute, and end? Every child is given
// minutes, which only one that hangs needs.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ends.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"
#include "tilewright/tilewright.h"

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
            const int*, const double*, const int*, const double*, double*, const int*);
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
            const int*, const float*, const int*, const float*, float*, const int*);
void dgemm_batch_strided_(const char*, const char*, const int*, const int*, const int*, const double*,
                          const double*, const int*, const int*, const double*, const int*, const int*,
                          const double*, double*, const int*, const int*, const int*);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
}

namespace {

using namespace tilewright;

constexpr unsigned minutes_s = 300;

// All elements of A and B are 1, so that those of C are n.
struct Square {
  int n;
  std::vector<double> a = std::vector<double>(std::size_t(n) * n, 1.0), b = a, c = a;
  explicit Square(int size) : n(size) {}
  bool is_right() const {
    for (const double x : c)
      if (x != n) return false;
    return true;
  }
};

bool by_blas(int seed) {
  Square x(seed % 2 == 0 ? 4 + seed % 40 : 70 + seed % 30);
  const double one = 1, zero = 0;
  dgemm_("N", "T", &x.n, &x.n, &x.n, &one, x.a.data(), &x.n, x.b.data(), &x.n, &zero, x.c.data(), &x.n);
  if (!x.is_right()) return false;
  if (seed % 3 == 0) {
    const int n = 8, count = 200, stride = n * n;
    std::vector<double> a(std::size_t(stride) * count, 1.0), c(a);
    dgemm_batch_strided_("N", "N", &n, &n, &n, &one, a.data(), &n, &stride, a.data(), &n, &stride, &zero,
                         c.data(), &n, &stride, &count);
    for (const double value : c)
      if (value != n) return false;
  }
  if (seed % 5 == 0) {
    double a[4] = {2, 0, 0, 2}, b[2] = {2, 4};
    int pivots[2], info = -1;
    const int n = 2, columns = 1;
    dgesv_(&n, &columns, a, &n, pivots, b, &n, &info);
    return info == 0 && b[0] == 1 && b[1] == 2;
  }
  return true;
}

bool by_context(Context& context, int seed) {
  Square x(4 + seed % 90);
  const std::int64_t n = x.n;
  gemm<double>(context, seed % 4 == 0 ? Op::trans : Op::none, Op::none, 1.0, {x.a.data(), n, n, n},
               {x.b.data(), n, n, n}, 0.0, {x.c.data(), n, n, n});
  if (!x.is_right()) return false;
  if (seed % 3 != 0) return true;
  const std::int64_t m = 4 + seed % 7, count = 2000;
  std::vector<float> a(std::size_t(m * m * count), 1), c(a);
  const StridedBatch<const float> batch{{a.data(), m, m, m}, m * m, count};
  gemm_batched<float>(context, Op::none, Op::none, 1.0f, batch, batch, 0.0f,
                      {{c.data(), m, m, m}, m * m, count}, {.threads = 3});
  for (const float value : c)
    if (value != float(m)) return false;
  std::vector<double> square{2, 0, 0, 2};
  std::int64_t pivots[2];
  lu_factor<double>(context, {square.data(), 2, 2, 2}, pivots);
  return square[0] == 2 && square[3] == 2;
}

bool by_c(tilewright_context* context, int seed) {
  Square x(4 + seed % 90);
  const double one = 1, zero = 0;
  return tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, x.n, x.n, x.n, &one,
                         x.a.data(), x.n, x.b.data(), x.n, &zero, x.c.data(), x.n,
                         nullptr) == TILEWRIGHT_OK &&
         x.is_right();
}

using Call = std::function<bool(int seed)>;

// Returns one call of the interface, with the setup that a program makes before it has threads.
Call open_door(const std::string& name) {
  if (name == "blas") return by_blas;
  if (name == "context")
    return [context = std::make_shared<Context>()](int seed) { return by_context(*context, seed); };
  if (name == "contexts")
    return [](int seed) {
      Context own;
      return by_context(own, seed);
    };
  tilewright_context* context = nullptr;
  if (tilewright_create(nullptr, nullptr, &context) != TILEWRIGHT_OK) return {};
  return [context](int seed) { return by_c(context, seed); };
}

// Returns true if the child computes and ends, by exit() as programs end or by _exit().
bool child_computes(const Call& call, int seed) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(minutes_s);
    bool right = call(seed);
    std::thread([&] { right = call(seed + 1) && right; }).join();
    if (seed % 2 == 0) _exit(right ? 0 : 1);
    std::exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 0) return true;
  std::printf("child %d: %s %d\n", seed, WIFSIGNALED(status) ? "signal" : "exit code",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return false;
}

void sleep_ns(long ns) {
  const timespec moment{0, ns};
  nanosleep(&moment, nullptr);
}

// Starts a separate process that forks while one of its threads is within its first call, at varying moments.
bool forks_beside_a_first_call(const std::string& door, int seed) {
  const pid_t process = fork();
  if (process == 0) {
    alarm(2 * minutes_s);
    const Call call = open_door(door);
    std::atomic<bool> has_begun = false;
    bool right = true;
    std::thread other([&] {
      has_begun = true;
      right = call(seed);
    });
    while (!has_begun) std::this_thread::yield();
    sleep_ns(long(seed) * 7919 % 100 * 100'000 + long(seed) * 104729 % 1000 * 100);  // up to 10 ms
    const bool child_right = child_computes(call, seed + 1);
    other.join();
    _exit(right && child_right ? 0 : 1);
  }
  int status = 0;
  waitpid(process, &status, 0);
  return status == 0;
}

bool forks_beside_work(const Call& call, int forks) {
  std::atomic<bool> ends = false, right = true;
  std::vector<std::thread> workers;
  for (int w = 0; w < 3; ++w)
    workers.emplace_back([&, w] {
      for (int seed = w * 1000; !ends; ++seed)
        if (!call(seed)) right = false;
    });
  for (int i = 0; i < forks; ++i)
    if (!child_computes(call, i)) right = false;
  ends = true;
  for (std::thread& worker : workers) worker.join();
  return right;
}

}  // namespace

int forks(const std::string& door, const std::string& beside, int count) {
  bool right = true;
  if (beside == "busy")
    right = forks_beside_work(open_door(door), count);
  else
    for (int i = 0; i < count; ++i) right = forks_beside_a_first_call(door, i) && right;
  return right ? 0 : 1;
}
