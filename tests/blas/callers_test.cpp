// Four threads call concurrently, each on matrices of its own, from the first call on: every result must be
// exact. The thread sanitizer finds races (scripts/soak, with TILEWRIGHT_RECORD set).
#include <array>
#include <mutex>
#include <thread>

#include "blas/blas_cases.hpp"

namespace tilewright::blas_tests {
namespace {

constexpr int thread_count = 4, rounds = 150, batch_count = 3;

// Forwarded calls reach a BLAS that may be built for one thread at a time, like Debian's serial one.
std::unique_lock<std::mutex> alone_if_passed_on() {
  static std::mutex mutex;
  return all_are_ours() ? std::unique_lock<std::mutex>() : std::unique_lock(mutex);
}

struct Routines {
  void (*gemm)(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
               const int*, const double*, const int*, const double*, double*, const int*) = nullptr;
  void (*batch)(int, const int*, const int*, const int*, const int*, const int*, const double*,
                const double**, const int*, const double**, const int*, const double*, double**, const int*,
                int, const int*) = nullptr;
  void (*getrf)(const int*, const int*, double*, const int*, int*, int*) = nullptr;
};

Routines found() {
  Routines r;
  r.gemm = routine<std::remove_pointer_t<decltype(r.gemm)>>("dgemm_");
  r.batch = routine<std::remove_pointer_t<decltype(r.batch)>>("cblas_dgemm_batch");
  r.getrf = routine<std::remove_pointer_t<decltype(r.getrf)>>("dgetrf_");
  return r;
}

using Values = std::vector<double>;
bool all_are(const Values& x, double value) {
  return std::all_of(x.begin(), x.end(), [&](double element) { return element == value; });
}

// Multiplies ones by twos.
bool multiplies(const Routines& r, int n) {
  const Values a(std::size_t(n * n), 1), b(a.size(), 2);
  Values c(a.size(), 3);
  const double one = 1;
  const auto lock = alone_if_passed_on();
  r.gemm("N", "T", &n, &n, &n, &one, a.data(), &n, b.data(), &n, &one, c.data(), &n);
  return all_are(c, 2 * n + 3);
}

bool multiplies_a_group(const Routines& r, int n) {
  const Values a(std::size_t(n * n), 1), b(a.size(), 2);
  std::array<Values, batch_count> c;
  std::array<const double*, batch_count> as, bs;
  std::array<double*, batch_count> cs;
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i].assign(a.size(), double(i));
    as[i] = a.data(), bs[i] = b.data(), cs[i] = c[i].data();
  }
  const int as_it_is = 111, by_columns = 102, count = batch_count;
  const double one = 1;
  const auto lock = alone_if_passed_on();
  r.batch(by_columns, &as_it_is, &as_it_is, &n, &n, &n, &one, as.data(), &n, bs.data(), &n, &one, cs.data(),
          &n, 1, &count);
  for (std::size_t i = 0; i < c.size(); ++i)
    if (!all_are(c[i], 2 * n + double(i))) return false;
  return true;
}

// L has ones and 1/2 below them, U has twos and ones above them: no rows are swapped, and all numbers are
// exact.
bool factors(const Routines& r, int n) {
  Values a(std::size_t(n * n), 0), lu = a;
  const auto at = [n](int i, int j) { return std::size_t(j * n + i); };
  for (int i = 0; i < n; ++i) {
    a[at(i, i)] = i == 0 ? 2 : 2.5;
    lu[at(i, i)] = 2;
    if (i == 0) continue;
    a[at(i, i - 1)] = a[at(i - 1, i)] = lu[at(i - 1, i)] = 1;
    lu[at(i, i - 1)] = 0.5;
  }
  std::vector<int> pivots(std::size_t(n), 0);
  int info = -1;
  const auto lock = alone_if_passed_on();
  r.getrf(&n, &n, a.data(), &n, pivots.data(), &info);
  for (int i = 0; i < n; ++i)
    if (pivots[std::size_t(i)] != i + 1) return false;
  return info == 0 && a == lu;
}

TEST(Callers, FourThreadsAtOnce) {
  const Routines r = found();
  ASSERT_TRUE(r.gemm && r.batch && r.getrf);
  std::array<int, thread_count> wrong{};
  std::array<std::thread, thread_count> threads;
  for (std::size_t t = 0; t < threads.size(); ++t)
    threads[t] = std::thread([&, t] {
      for (int i = 0; i < rounds; ++i) {
        const int n = 2 + (i * 7 + int(t)) % 30;  // shapes recur in all threads
        wrong[t] += !multiplies(r, n) + !multiplies_a_group(r, n) + !factors(r, n);
      }
    });
  for (std::thread& one : threads) one.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace tilewright::blas_tests
