// The deterministic fuzz driver: endless random calls, kernels, bad arguments and problem texts, each
// iteration from a seed of its own. It stops at the first error and prints how to repeat it. scripts/soak
// runs it for hours; the tests of CI run it for moments.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <map>

#include "fuzz/fuzzers.hpp"
#include "support/random_call.hpp"

int main(int argc, char** argv) {
  using namespace tilewright::testing;
  const std::map<std::string, Fuzzer> fuzzers{{"calls", fuzz_calls},
                                              {"kernels", fuzz_kernels},
                                              {"arguments", fuzz_arguments},
                                              {"problems", fuzz_problems},
                                              {"threads", fuzz_threads}};
  std::vector<std::string> kinds;
  std::uint64_t seed = random_seed();
  double seconds = 60;
  std::uint64_t iterations = 0;
  CLI::App app{
      "Random inputs until something is wrong or the time is over. Example: fuzz_gemm problems --seconds 10"};
  app.add_option("kind", kinds, "calls, kernels, arguments, problems, threads; none: all in turn")
      ->check(CLI::IsMember(fuzzers));
  app.add_option("--seed", seed, "seed of the first iteration; each next one adds 1");
  app.add_option("--seconds", seconds, "stop after this time");
  app.add_option("--iterations", iterations, "stop after so many; 0: only by time");
  CLI11_PARSE(app, argc, argv);
  if (kinds.empty())
    for (const auto& [name, fuzzer] : fuzzers) kinds.push_back(name);

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::uint64_t done = 0;
  double next_report = 60;
  for (; elapsed() < seconds && (iterations == 0 || done < iterations); ++done) {
    const std::uint64_t here = seed + done;
    const std::string& kind = kinds[here % kinds.size()];
    const std::string wrong = fuzzers.at(kind)(here);
    if (!wrong.empty()) {
      std::printf("%s\nrepeat: fuzz_gemm %s --seed %llu --iterations 1\n", wrong.c_str(), kind.c_str(),
                  static_cast<unsigned long long>(here));
      return 1;
    }
    if (elapsed() < next_report) continue;
    std::printf("%.0f s, %llu iterations\n", elapsed(), static_cast<unsigned long long>(done));
    std::fflush(stdout);
    next_report += 60;
  }
  std::printf("%llu iterations in %.0f s, nothing wrong\n", static_cast<unsigned long long>(done), elapsed());
  return 0;
}
