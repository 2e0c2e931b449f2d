// Four threads on one Context: calls of every layout, plans that evict others, tuning on a miss, a record
// that all of them write. Each iteration checks its results; the thread sanitizer finds races (preset
// thread).
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "core/record_log.hpp"
#include "fuzz/fuzzers.hpp"
#include "support/random_call.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/layout.hpp"

namespace tilewright::testing {
namespace {

constexpr int thread_count = 4, calls_each = 6, recurring_count = 2000;
constexpr std::int64_t longest_of_threads = 24;

// The library's tuner measures for seconds; the code around it is the same for a tuner that finds nothing.
Context& shared_context() {
  static Context context = [] {
    Context made({.use_wisdom = true, .wisdom = "/nonexistent/wisdom.sqlite", .notices = false});
    made.set_tuner([](const TuneRequest&) {});
    return made;
  }();
  return context;
}

std::string work_of(std::uint64_t seed, const std::string& log) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < calls_each; ++i) {
    Call call = random_call(random, longest_of_threads);
    call.options.threads = 1;  // the sanitizer does not know OpenMP's own barriers
    if (random() % 8 == 0) call.options.tune_on_miss_s = 1e-3;
    if (const std::string wrong = run_and_check(shared_context(), call); !wrong.empty())
      return fmt::format("{}\n    {}", to_string(call), wrong);
    record_run(log, call.parts[0].problem, 1e-6);
    if (random() % 16 == 0) shared_context().clear_plan_cache();
  }
  return {};
}

// Shapes recur, so that some get a kernel of their own, which all threads then find.
std::string recurring_calls(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < recurring_count; ++i) {
    const auto n = std::int64_t(2 + (seed + random() % 3) % 12);
    const std::vector<double> ones(std::size_t(n * n), 1.0);
    std::vector<double> c(ones.size());
    gemm<double>(shared_context(), Op::none, Op::none, 1.0, {ones.data(), n, n, n}, {ones.data(), n, n, n},
                 0.0, {c.data(), n, n, n});
    if (c.front() != double(n) || c.back() != double(n))
      return fmt::format("a product of {} x {} ones gives {} and {}", n, n, c.front(), c.back());
  }
  return {};
}

}  // namespace

std::string fuzz_threads(std::uint64_t seed) {
  const TempFolder folder;
  const std::string log = folder / "log.jsonl";
  std::array<std::string, thread_count> wrong;
  std::array<std::thread, thread_count> threads;
  for (std::size_t t = 0; t < threads.size(); ++t)
    threads[t] = std::thread([&, t] {
      wrong[t] = work_of(seed * thread_count + t, log);
      if (wrong[t].empty()) wrong[t] = recurring_calls(seed + t);
    });
  for (std::thread& one : threads) one.join();
  for (const std::string& text : wrong)
    if (!text.empty()) return text;
  std::ifstream lines(log);
  std::int64_t recorded = 0;
  for (std::string line; std::getline(lines, line);)
    recorded += nlohmann::json::parse(line).at("count").get<std::int64_t>();
  if (recorded != thread_count * calls_each)
    return fmt::format("{} runs are recorded of {}", recorded, thread_count * calls_each);
  return {};
}

}  // namespace tilewright::testing
