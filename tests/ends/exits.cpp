// exit() while the library computes: the process must end.
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "ends.hpp"
#include "tilewright/gemm.hpp"

namespace {

using namespace tilewright;

constexpr int expected_code = 7;

// Computes on threads of the library for a few milliseconds.
void compute(Context& context) {
  const std::int64_t n = 8, count = 20000;
  static std::vector<double>& a = *new std::vector<double>(std::size_t(n * n * count), 1.0);
  static std::vector<double>& c = *new std::vector<double>(a);
  const StridedBatch<const double> batch{{a.data(), n, n, n}, n * n, count};
  gemm_batched<double>(context, Op::none, Op::none, 1.0, batch, batch, 0.0,
                       {{c.data(), n, n, n}, n * n, count}, {.threads = 4});
}

// Runs the host's BLAS, whose own end would come while it computes.
void compute_large(Context& context) {
  const std::int64_t n = 300;
  static std::vector<double>& a = *new std::vector<double>(std::size_t(n * n), 1.0);
  static std::vector<double>& c = *new std::vector<double>(a);
  gemm<double>(context, Op::none, Op::none, 1.0, {a.data(), n, n, n}, {a.data(), n, n, n}, 0.0,
               {c.data(), n, n, n}, {.threads = 2});
}

Context& shared() {
  static Context& context = *new Context;
  return context;
}

[[noreturn]] void compute_for_ever() {
  for (;;) compute(shared());
}

[[noreturn]] void exit_soon(int seed) {
  usleep(unsigned(1000 + seed * 137 % 5000));
  std::exit(expected_code);
}

[[noreturn]] void end_by(const std::string& how, int seed) {
  compute(shared());
  if (how == "handler") {
    std::atexit([] { compute(shared()); });
    std::exit(expected_code);
  }
  if (how == "other") {
    std::thread(exit_soon, seed).detach();
    compute_for_ever();
  }
  if (how == "blas") {
    std::thread(exit_soon, seed).detach();
    for (;;) compute_large(shared());
  }
  if (how == "computing") {
    std::thread(compute_for_ever).detach();
    exit_soon(seed);
  }
  // exit is not safe in a handler that interrupts malloc: the plans are made before.
  for (int call = 0; call < 3; ++call) compute(shared());
  signal(SIGALRM, [](int) { std::exit(expected_code); });
  itimerval at{};
  at.it_value.tv_usec = 1000 + seed * 137 % 9000;
  setitimer(ITIMER_REAL, &at, nullptr);
  compute_for_ever();
}

}  // namespace

int exits(const std::string& how, int count) {
  for (int seed = 0; seed < count; ++seed) {
    const pid_t child = fork();
    if (child == 0) {
      // A process that hangs is ended by its limit of CPU time or by its parent's timeout; SIGALRM is used by
      // the test.
      end_by(how, seed);
    }
    int status = 0, waited_ms = 0;
    constexpr int patience_ms = 300'000;
    while (waitpid(child, &status, WNOHANG) == 0 && waited_ms < patience_ms) usleep(1000), ++waited_ms;
    if (waited_ms == patience_ms) kill(child, SIGKILL), waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected_code) {
      std::printf("%s, process %d: status %x\n", how.c_str(), seed, unsigned(status));
      return 1;
    }
  }
  return 0;
}
