// bench_small: gemm<n, n, n> of small.hpp beside the best of LIBXSMM, Eigen and OpenBLAS and the best plain
// compile-time loop at every n, data in L1, one thread. All contenders are checked against the definition,
// then alternate in the rounds of the bench engine, timed by the thread's CPU time.
#include <CLI/CLI.hpp>
#include <fstream>

#include "bench/contender.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "small_cases.hpp"

namespace tilewright::bench {
namespace {

#ifdef TILEWRIGHT_BENCH_AVX2
constexpr bool only_avx2 = true;
#else
constexpr bool only_avx2 = false;
#endif

struct Options {
  int first = 2, last = 32, rounds = 15;
  std::vector<std::string> dtypes = {"f64", "f32"};
  std::vector<int> betas = {0, 1};
  std::vector<std::string> problems = {"one", "l1"};  // one repeated; as many as fit 24 KiB
  double slice_s = 100e-6;
};

// Checks one product of whole numbers, exact in either type, with NaN in front of and behind C and in C if it
// is not read.
template <class T>
bool is_right(const SmallCase& entry) {
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
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) {
      T& x = expected[guard + i + j * n];
      T sum = entry.beta ? x : T(0);
      for (std::size_t k = 0; k < n; ++k) sum += a[i + k * n] * b[k + j * n];
      x = sum;
    }
  entry.run(a.data(), b.data(), c.data() + guard, 1, 1);
  return std::equal(c.begin(), c.end(), expected.begin(),
                    [](T x, T y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

class Small {
 public:
  Small(const Options& options, const std::string& path) : options_(options) {
    for (const auto& list :
         {small_header_f64(), small_header_f32(), small_loops_f64(), small_loops_f32(), small_loops_f64_512(),
          small_loops_f32_512(), small_eigen_f64(), small_eigen_f32(), small_peers(only_avx2)})
      entries_.insert(entries_.end(), list.begin(), list.end());
    if (!path.empty()) file_.open(path);
    file_ << nlohmann::json{{"command", command_line()}}.dump() << '\n';
  }

  // Measures the ratios of the best library's and of the best loop's time to tilewright's over the sizes.
  void run(const std::string& dtype, int beta, bool one_problem) {
    std::vector<double> to_library, to_loop;
    for (int n = options_.first; n <= options_.last; ++n) {
      const auto [library, loop] = measure(case_of(dtype, n, beta, one_problem));
      to_library.push_back(library), to_loop.push_back(loop);
    }
    nlohmann::json row{{"summary", true}, {"family", "small"},      {"dtype", dtype},
                       {"op", "nn"},      {"layout", "strided"},    {"beta", beta},
                       {"threads", 1},    {"residency", "l1"},      {"one_problem", one_problem},
                       {"isa", isa()},    {"compiler", __VERSION__}};
    fmt::print("{} beta {} {}: ", dtype, beta, one_problem ? "one problem repeated" : "24 KiB of problems");
    summarize(row, "ratio", "library", to_library);
    summarize(row, "loop_ratio", "plain loop", to_loop);
    fmt::print("\n\n");
    file_ << row.dump() << '\n';
  }

 private:
  static const char* isa() { return only_avx2 ? "avx2" : "native"; }

  void summarize(nlohmann::json& row, const std::string& key, const char* whom,
                 const std::vector<double>& ratios) const {
    const auto least = std::min_element(ratios.begin(), ratios.end());
    const auto least_n = options_.first + (least - ratios.begin());
    row[key + "_geomean"] = geometric_mean(ratios), row[key + "_min"] = *least;
    row[key + "_min_case"] = fmt::format("n={}", least_n);
    fmt::print("ratio to the best {}: geometric mean {:.3f}, least {:.3f} at n = {}; ", whom,
               geometric_mean(ratios), *least, least_n);
  }

  static Case case_of(const std::string& dtype, int n, int beta, bool one_problem) {
    Case c;
    c.family = "small", c.beta = beta;
    c.problem = parse_problem(
        fmt::format("gemm_batched:{}:nn:m={},n={},k={}:strided:batch=1:residency=l1", dtype, n, n, n));
    c.problem.beta = beta == 0 ? Scalar::zero : Scalar::one;
    if (!one_problem) c.problem.batch_count = default_batch_count(c.problem, Residency::l1);
    c.problem = packed(c.problem);
    return c;
  }

  // Returns the best library's and the best loop's time over tilewright's.
  std::pair<double, double> measure(const Case& c) {
    std::vector<Contender> all = contenders(c);
    hold_rounds(all, [this](Contender& one) { return turn(one); }, {.rounds = options_.rounds});
    const Contender *tested = nullptr, *library = nullptr, *loop = nullptr;
    for (const Contender& one : all) {
      const Contender*& best =
          one.role == Role::tested ? tested : (one.impl.starts_with("loop") ? loop : library);
      if (best == nullptr || one.seconds.centre < best->seconds.centre) best = &one;
    }
    const double to_library = library->seconds.centre / tested->seconds.centre;
    const double to_loop = loop->seconds.centre / tested->seconds.centre;
    for (const Contender& one : all) {
      if (one.role != Role::tested &&
          one.seconds.centre > 2 * std::min(library->seconds.centre, loop->seconds.centre))
        continue;
      nlohmann::json row = measured_row(c, one.impl, one.seconds);
      row["config"] = one.variant, row["compiler"] = __VERSION__, row["isa"] = isa();
      row["gflops"] = flops(c.problem) / one.seconds.centre * 1e-9;
      if (one.role == Role::tested) row["ratio"] = to_library, row["loop_ratio"] = to_loop;
      file_ << row.dump() << '\n';
    }
    fmt::print("{:<56} {:6.1f} GFLOP/s, {:6.1f} ({} {}) ratio {:.2f}, {:6.1f} ({} {}) ratio {:.2f}\n",
               problem_text(c), flops(c.problem) / tested->seconds.centre * 1e-9,
               flops(c.problem) / library->seconds.centre * 1e-9, library->impl, library->variant, to_library,
               flops(c.problem) / loop->seconds.centre * 1e-9, loop->impl, loop->variant, to_loop);
    return {to_library, to_loop};
  }

  // Returns the contenders of this case, each checked.
  std::vector<Contender> contenders(const Case& c) {
    const GemmProblem& p = c.problem;
    std::vector<Contender> all;
    arena_.prepare(1 << 16, 1 << 16, p.dtype, Data::uniform);
    for (const SmallCase& entry : entries_) {
      if (entry.element_bytes != int(size_bytes(p.dtype)) || entry.n != p.n || entry.beta != int(c.beta))
        continue;
      if (!(p.dtype == DType::f64 ? is_right<double>(entry) : is_right<float>(entry)))
        throw Error(
            ErrorCode::internal, entry.impl,
            fmt::format("{} {} computes a wrong product of {}", entry.impl, entry.variant, problem_text(c)));
      const bool tested = entry.impl.rfind("tilewright", 0) == 0;
      all.push_back(
          {.role = tested ? Role::tested : Role::peer, .impl = entry.impl, .variant = entry.variant});
      all.back().run = [this, &entry, count = p.batch_count](std::int64_t passes) {
        entry.run(arena_.inputs(), arena_.inputs() + (1 << 15), arena_.outputs(), count, passes);
      };
    }
    return all;
  }

  // Returns the seconds of one pass over the batch. An untimed pass goes first: a core's clock needs a while
  // to follow a change of vector width.
  double turn(Contender& one) const {
    const auto seconds_of = [&](std::int64_t passes) {
      const double begin = thread_cpu_seconds();
      one.run(passes);
      return thread_cpu_seconds() - begin;
    };
    if (one.runs == 0) {
      std::int64_t passes = 1;
      double took = seconds_of(passes);
      while (took < options_.slice_s / 4) took = seconds_of(passes *= 2);
      one.runs = std::max<std::int64_t>(1, std::int64_t(double(passes) * options_.slice_s / took));
    }
    one.run(one.runs / 2 + 1);
    return seconds_of(one.runs) / double(one.runs);
  }

  Options options_;
  SmallCases entries_;
  std::ofstream file_;
  Arena arena_;
};

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  using namespace tilewright::bench;
  Options o;
  std::string sizes = "2:32", json;
  CLI::App app(
      "small.hpp beside libraries and compile-time loops. Example: bench_small --sizes 4:8 --dtype f64 "
      "--repetitions 51");
  app.option_defaults()->always_capture_default();
  app.add_option("--sizes", sizes, "n, or first:last");
  app.add_option("--dtype", o.dtypes)->delimiter(',')->check(CLI::IsMember({"f64", "f32"}));
  app.add_option("--beta", o.betas)->delimiter(',')->check(CLI::Range(0, 1));
  app.add_option("--problems", o.problems)->delimiter(',')->check(CLI::IsMember({"one", "l1"}));
  app.add_option("--repetitions", o.rounds)->check(CLI::PositiveNumber);
  app.add_option("--slice", o.slice_s, "seconds of one turn")->check(CLI::PositiveNumber);
  app.add_option("--json", json, "a file of rows");
  CLI11_PARSE(app, argc, argv);
  o.first = std::atoi(sizes.c_str());
  o.last = sizes.find(':') == std::string::npos ? o.first : std::atoi(sizes.c_str() + sizes.find(':') + 1);
  try {
    Small small(o, json);
    for (const std::string& dtype : o.dtypes)
      for (const std::string& problems : o.problems)
        for (const int beta : o.betas) small.run(dtype, beta, problems == "one");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_small: {}\n", error.what());
    return 1;
  }
  return 0;
}
