// Fills a database and looks up records in it.
#include "bench/wisdom_cost.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "measure/clock.hpp"
#include "tilewright/gemm.hpp"
#include "wisdom/store.hpp"

namespace tilewright::bench {
namespace {

constexpr int largest_size = 37;
constexpr int rounds = 5, lookups = 60, repetitions = 1000;

GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, Scalar beta = Scalar::zero) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k, p.beta = beta;
  p.layout = Layout::strided;
  p.residency = Residency::cold;
  p.batch_count = 1000;
  return packed(p);
}

WisdomRecord record_of(const GemmProblem& problem, int nr) {
  GemmSmallCpuConfig config;
  config.nr = nr;
  WisdomRecord record;
  record.family = "gemm_small_cpu";
  record.problem = to_string(problem);
  record.config = to_json(config);
  record.device = cpu_info().device;
  record.source_hash = gemm_small_cpu_source_hash;
  record.compiler = build_compiler;
  record.seconds = 1e-6, record.seconds_low = 0.9e-6, record.seconds_high = 1.1e-6;
  record.samples = 11;
  return record;
}

// Adds every shape from 2 up, with and without reading C.
void fill(const std::string& file, std::int64_t record_count) {
  WisdomStore store(file, sqlite::Mode::write);
  store.at_once([&] {
    std::int64_t made = 0;
    for (int m = 2; made < record_count; ++m)
      for (int n = 2; n <= largest_size; ++n)
        for (int k = 2; k <= largest_size && made < record_count; ++k)
          for (const Scalar beta : {Scalar::zero, Scalar::one})
            store.put(record_of(problem_of(m, n, k, beta), 1 + int(made++ % 30)));
  });
}

double time_of(const std::function<void()>& work) {
  const double begin = wall_seconds();
  work();
  return wall_seconds() - begin;
}

}  // namespace

std::vector<WisdomCost> measure_wisdom(std::int64_t record_count) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("tilewright_bench_{}", getpid());
  struct Removal {
    std::filesystem::path folder;
    ~Removal() { std::filesystem::remove_all(folder); }
  } const removal{folder};
  const std::string file = (folder / "wisdom.sqlite").string();
  fill(file, record_count);
  std::vector<double> opening, very_first, exact, near, inside, none, again;
  const ContextOptions options{.cpu = "portable", .wisdom = file, .notices = false};
  for (int round = 0; round < rounds; ++round) {
    opening.push_back(time_of([&] { Context context(options); }));
    const Wisdom wisdom({file}, cpu_info().device);
    const auto lookup = [&](const GemmProblem& problem, std::vector<double>& seconds) {
      seconds.push_back(time_of([&] {
        (void)wisdom.offer({"gemm_small_cpu", to_string(Isa::portable), problem},
                           [](const auto&) { return true; });
      }));
    };
    lookup(problem_of(9, 9, 9 + round), very_first);
    for (int i = 0; i < lookups; ++i) {
      const int spread = (i * 7 + round * 11) % 34;
      lookup(problem_of(3 + i % 34, 2 + spread, 2 + (spread * 5) % 35), exact);
      lookup(problem_of(2 + i % 36, largest_size + 1 + spread / 2, 2 + spread), near);
      GemmProblem pointers = problem_of(2 + i % 36, 2 + spread, 2 + (spread * 5) % 35);
      pointers.layout = Layout::pointer;
      pointers.stride_a = pointers.stride_b = pointers.stride_c = 0;
      lookup(pointers, inside);
      lookup(problem_of(2000, 3000, 2 + i), none);
    }
    Context context(options);
    const GemmProblem repeated = problem_of(8, 8, 8);
    (void)plan(context, repeated);
    again.push_back(time_of([&] {
                      for (int i = 0; i < repetitions; ++i) (void)plan(context, repeated);
                    }) /
                    repetitions);
  }
  const auto cost = [](const char* what, const std::vector<double>& seconds) {
    return WisdomCost{what, estimate(seconds), *std::min_element(seconds.begin(), seconds.end())};
  };
  return {cost("context_open", opening),   cost("wisdom_open", very_first),    cost("wisdom_exact", exact),
          cost("wisdom_near_shape", near), cost("wisdom_near_inside", inside), cost("wisdom_default", none),
          cost("plan_again", again)};
}

}  // namespace tilewright::bench
