// bench_small: gemm<n, n, n> of small.hpp beside the best plain compile-time loop at every n, data in L1, one
// thread. Entries of one case run interleaved, a slice of time each, so that a disturbance meets all of them;
// the clock is the thread's CPU time. It checks every entry against the definition before it times it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "small_cases.hpp"

namespace tilewright::bench {

namespace {

struct Options {
  int first = 2, last = 32;
  bool types[2] = {true, true};  // f64, f32
  bool betas[2] = {true, true};
  bool batches[2] = {true, true};  // one problem repeated; as many as fit 24 KiB
  int repetitions = 15;
  double slice_s = 100e-6;
  int shown = 1;  // variants of ours printed per line
  std::string json;
};

struct Timing {
  const SmallCase* entry = nullptr;
  std::vector<double> seconds;  // per problem, sorted
  double median() const { return seconds[seconds.size() / 2]; }
  double low() const { return seconds.front(); }
};

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};
// Operands of up to 24 KiB, a page apart in their low address bits from nothing in particular.
struct Operands {
  static constexpr std::size_t bytes = 1 << 15;
  std::unique_ptr<void, FreeDeleter> a{std::aligned_alloc(4096, bytes)};
  std::unique_ptr<void, FreeDeleter> b{std::aligned_alloc(4096, bytes)};
  std::unique_ptr<void, FreeDeleter> c{std::aligned_alloc(4096, bytes)};

  template <class T>
  void fill() {
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
      static_cast<T*>(a.get())[i] = static_cast<T>(i % 7) / 1024;
      static_cast<T*>(b.get())[i] = static_cast<T>(i % 5) / 1024;
      static_cast<T*>(c.get())[i] = 0;
    }
  }
};

// One product of whole numbers, exact in either type, with NaN in front of and behind C and in C where it is
// not read.
template <class T>
bool correct(const SmallCase& entry) {
  const auto n = static_cast<std::size_t>(entry.n);
  constexpr std::size_t guard = 32;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> a(n * n + guard, nan), b(n * n + guard, nan), c(n * n + 2 * guard, nan);
  for (std::size_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<T>(static_cast<int>(i * 7 % 13) - 6);
    b[i] = static_cast<T>(static_cast<int>(i * 5 % 11) - 5);
    if (entry.beta) c[guard + i] = static_cast<T>(static_cast<int>(i % 9) - 4);
  }
  std::vector<T> expected = c;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      T& x = expected[guard + i + j * n];
      T sum = entry.beta ? x : T(0);
      for (std::size_t k = 0; k < n; ++k) sum += a[i + k * n] * b[k + j * n];
      x = sum;
    }
  }
  entry.run(a.data(), b.data(), c.data() + guard, 1, 1);
  return std::equal(c.begin(), c.end(), expected.begin(),
                    [](T x, T y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

std::vector<Timing> time_all(const std::vector<const SmallCase*>& entries, Operands& data,
                             std::int64_t problem_count, const Options& options) {
  auto run = [&](const SmallCase& entry, std::int64_t passes) {
    const double start = thread_seconds();
    entry.run(data.a.get(), data.b.get(), data.c.get(), problem_count, passes);
    return thread_seconds() - start;
  };
  std::vector<Timing> timings;
  std::vector<std::int64_t> passes;
  for (const SmallCase* entry : entries) {
    std::int64_t trial = 1;
    double took = run(*entry, trial);
    while (took < options.slice_s / 4) took = run(*entry, trial *= 2);
    passes.push_back(std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(trial) * options.slice_s / took)));
    timings.push_back({entry, {}});
  }
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t e = (i + static_cast<std::size_t>(repetition) * 7) % entries.size();
      // Untimed first: the clock of the core needs a while to follow a change of vector width.
      run(*entries[e], passes[e] / 2 + 1);
      timings[e].seconds.push_back(run(*entries[e], passes[e]) /
                                   static_cast<double>(passes[e] * problem_count));
    }
  }
  for (Timing& timing : timings) std::sort(timing.seconds.begin(), timing.seconds.end());
  std::sort(timings.begin(), timings.end(),
            [](const Timing& x, const Timing& y) { return x.median() < y.median(); });
  return timings;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

struct Report {
  std::FILE* json = nullptr;
  std::string device = cpu_name();

  struct Group {  // one dtype, beta and batch
    double log_sum = 0;
    double least = std::numeric_limits<double>::infinity();
    int least_n = 0;
    int count = 0;
  };

  void line(const Timing& t, std::int64_t problem_count) const {
    if (!json) return;
    const SmallCase& e = *t.entry;
    const char* dtype = e.element_bytes == 8 ? "f64" : "f32";
    const double flop = 2.0 * e.n * e.n * e.n, count = static_cast<double>(problem_count);
    std::fprintf(
        json,
        "{\"family\": \"small\", \"problem\": \"gemm_batched:%s:nn:m=%d,n=%d,k=%d:strided:batch=%lld\", "
        "\"dtype\": \"%s\", \"op\": \"nn\", \"m\": %d, \"n\": %d, \"k\": %d, \"layout\": \"strided\", "
        "\"batch_count\": %lld, \"alpha\": 1, \"beta\": %d, \"residency\": \"l1\", \"threads\": 1, "
        "\"impl\": \"%s\", \"config\": \"%s\", \"seconds\": %.6e, \"seconds_low\": %.6e, \"seconds_high\": "
        "%.6e, "
        "\"samples\": %zu, \"gflops\": %.3f, \"device\": \"%s\", \"compiler\": \"%s\"}\n",
        dtype, e.n, e.n, e.n, static_cast<long long>(problem_count), dtype, e.n, e.n, e.n,
        static_cast<long long>(problem_count), e.beta, e.impl.c_str(), e.variant.c_str(), t.median() * count,
        t.low() * count, t.seconds.back() * count, t.seconds.size(), 1e-9 * flop / t.median(), device.c_str(),
        __VERSION__);
  }
  void summary(const Group& g, const char* dtype, int beta, bool batch) const {
    const double mean = std::exp(g.log_sum / g.count);
    std::printf("%s beta %d %s: ratio to the best plain loop: geometric mean %.3f, least %.3f at n = %d\n\n",
                dtype, beta, batch ? "24 KiB of problems" : "one problem repeated", mean, g.least, g.least_n);
    if (json)
      std::fprintf(json,
                   "{\"summary\": true, \"family\": \"small\", \"dtype\": \"%s\", \"op\": \"nn\", "
                   "\"layout\": \"strided\", "
                   "\"beta\": %d, \"residency\": \"l1\", \"threads\": 1, \"one_problem\": %s, "
                   "\"ratio_geomean\": %.4f, "
                   "\"ratio_min\": %.4f, \"ratio_min_case\": \"n=%d\"}\n",
                   dtype, beta, batch ? "false" : "true", mean, g.least, g.least_n);
  }
};

bool is_ours(const Timing& t) { return t.entry->impl.rfind("tilewright", 0) == 0; }

// One line: the best loop, ours, and the ratio of the medians. Returns false when an entry computes something
// wrong.
bool measure(const SmallCases& cases, int bytes, int n, int beta, bool batch, const Options& options,
             Operands& data, Report& report, Report::Group& group) {
  const std::int64_t problem_count = batch ? std::max(1, 24 * 1024 / (3 * n * n * bytes)) : 1;
  std::vector<const SmallCase*> entries;
  for (const SmallCase& entry : cases) {
    if (entry.element_bytes != bytes || entry.n != n || entry.beta != beta) continue;
    if (!(bytes == 8 ? correct<double>(entry) : correct<float>(entry))) {
      std::fprintf(stderr, "%s %s computes a wrong product at n = %d, beta = %d\n", entry.impl.c_str(),
                   entry.variant.c_str(), n, beta);
      return false;
    }
    entries.push_back(&entry);
  }
  if (bytes == 8)
    data.fill<double>();
  else
    data.fill<float>();
  const std::vector<Timing> timings = time_all(entries, data, problem_count, options);
  for (const Timing& t : timings) report.line(t, problem_count);
  const auto loop = std::find_if_not(timings.begin(), timings.end(), is_ours);
  const auto ours = std::find_if(timings.begin(), timings.end(), is_ours);
  if (loop == timings.end() || ours == timings.end()) return true;
  const double flop = 2.0 * n * n * n, ratio = loop->median() / ours->median();
  std::printf("%s b%d n %2d x %3lld  loop %6.1f (%s %s)  ratio %.2f (of best times %.2f) ",
              bytes == 8 ? "f64" : "f32", beta, n, static_cast<long long>(problem_count),
              1e-9 * flop / loop->median(), loop->entry->impl.c_str(), loop->entry->variant.c_str(), ratio,
              loop->low() / ours->low());
  int shown = 0;
  for (const Timing& t : timings)
    if (is_ours(t) && (shown++ < options.shown || t.entry->variant.empty()))
      std::printf(" | %6.1f %s", 1e-9 * flop / t.median(),
                  t.entry->variant.empty() ? "header" : t.entry->variant.c_str());
  std::printf("\n");
  std::fflush(stdout);
  group.log_sum += std::log(ratio);
  ++group.count;
  if (ratio < group.least) group.least = ratio, group.least_n = n;
  return true;
}

int run(const Options& options) {
  SmallCases cases;
  for (const auto& list : {small_header_f64(), small_header_f32(), small_loops_f64(), small_loops_f32(),
                           small_loops_f64_512(), small_loops_f32_512()})
    cases.insert(cases.end(), list.begin(), list.end());
  Report report;
  if (!options.json.empty()) {
    report.json = options.json == "-" ? stdout : std::fopen(options.json.c_str(), "w");
    if (!report.json) {
      std::fprintf(stderr, "--json = '%s' cannot be written\n", options.json.c_str());
      return 1;
    }
  }
  Operands data;
  for (int type = 0; type < 2; ++type) {
    for (int batch = 0; batch < 2; ++batch) {
      for (int beta = 0; beta < 2; ++beta) {
        if (!options.types[type] || !options.batches[batch] || !options.betas[beta]) continue;
        Report::Group group;
        for (int n = options.first; n <= options.last; ++n)
          if (!measure(cases, type == 0 ? 8 : 4, n, beta, batch == 1, options, data, report, group)) return 1;
        if (group.count > 0) report.summary(group, type == 0 ? "f64" : "f32", beta, batch == 1);
      }
    }
  }
  if (report.json && report.json != stdout) std::fclose(report.json);
  return 0;
}

constexpr const char* usage =
    "bench_small [--sizes 2:32] [--dtype f64,f32] [--beta 0,1] [--problems one,l1] [--repetitions N] "
    "[--slice SECONDS]\n"
    "            [--show N] [--json FILE]\n"
    "Example: bench_small --sizes 4:8 --dtype f64 --repetitions 51\n";

// Throws nothing: a bad argument is reported and answered with false.
bool parse(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    const std::string value = i + 1 < argc ? argv[++i] : "";
    auto has = [&](const char* word) { return value.find(word) != std::string::npos; };
    if (key == "--sizes" && !value.empty()) {
      o.first = std::atoi(value.c_str());
      const std::size_t colon = value.find(':');
      o.last = colon == std::string::npos ? o.first : std::atoi(value.c_str() + colon + 1);
    } else if (key == "--dtype" && (has("f64") || has("f32"))) {
      o.types[0] = has("f64"), o.types[1] = has("f32");
    } else if (key == "--beta" && (has("0") || has("1"))) {
      o.betas[0] = has("0"), o.betas[1] = has("1");
    } else if (key == "--problems" && (has("one") || has("l1"))) {
      o.batches[0] = has("one"), o.batches[1] = has("l1");
    } else if (key == "--repetitions" && std::atoi(value.c_str()) > 0) {
      o.repetitions = std::atoi(value.c_str());
    } else if (key == "--slice" && std::atof(value.c_str()) > 0) {
      o.slice_s = std::atof(value.c_str());
    } else if (key == "--show" && std::atoi(value.c_str()) > 0) {
      o.shown = std::atoi(value.c_str());
    } else if (key == "--json" && !value.empty()) {
      o.json = value;
    } else {
      std::fprintf(stderr, "%s = '%s' is not understood\n%s", key.c_str(), value.c_str(), usage);
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::printf("%s", tilewright::bench::usage);
    return 0;
  }
  tilewright::bench::Options options;
  if (!tilewright::bench::parse(argc, argv, options)) return 2;
  return tilewright::bench::run(options);
}
