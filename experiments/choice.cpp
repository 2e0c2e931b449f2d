// Measures the choice on a GPU: random problems that nobody tuned, by the plan's own choice and by each of
// its offers in turn, with operands from memory, and how far the truth was from what the offers said.
//
//     bench_choice large|thin|small --count 60 --seed 1 --json FILE
//
// large: sides log-uniform from 32 to 20,000; thin: one long side and two up to 64; small: batches of
// rectangles from 2 to 64, where the plan is compared with its rule of thumb. Rows of large and thin products
// are what bench_gemm_large_forecast fits.
#include <cmath>
#include <random>

#include "core/dispatch.hpp"
#include "core/estimate.hpp"
#include "experiment.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "measure/buffers.hpp"

namespace tilewright::bench {
namespace {

constexpr double most_flops_per_byte = 500;  // of a problem, per byte of the pool
constexpr int rounds = 9;

class Draw {
 public:
  Draw(unsigned seed, double pool_bytes) : random_(seed), most_bytes_(pool_bytes / 2) {}

  GemmProblem problem(const std::string& part, DType dtype) {
    while (true) {
      GemmProblem p;
      p.dtype = dtype, p.location = Location::device;
      p.op_a = below(2) == 0 ? Op::none : Op::trans, p.op_b = below(2) == 0 ? Op::none : Op::trans;
      p.beta = below(2) == 0 ? Scalar::zero : Scalar::one;
      if (part == "small") {
        p.layout = Layout::strided;
        p.m = 2 + below(63), p.n = 2 + below(63), p.k = 2 + below(63);
        p.batch_count = std::max<std::int64_t>(1, std::int64_t(most_bytes_ / 2 / bytes(packed(p))));
      } else if (part == "thin") {
        p.m = log_uniform(1e4, 2e6), p.n = 2 + below(63), p.k = 2 + below(63);
        if (below(2) == 0) std::swap(p.m, p.n);
      } else {
        p.m = log_uniform(32, 2e4), p.n = log_uniform(32, 2e4), p.k = log_uniform(32, 2e4);
      }
      p = packed(p);
      if (bytes(p) <= most_bytes_ && flops(p) <= 2 * most_flops_per_byte * most_bytes_) return p;
    }
  }

 private:
  int below(int n) { return int(random_() % unsigned(n)); }
  std::int64_t log_uniform(double low, double high) {
    return std::int64_t(std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random_)));
  }
  std::mt19937 random_;
  double most_bytes_;
};

// A way to run a problem; the plan's own choice is one of those of its implementations.
struct Offered {
  std::string name;
  GemmPlan plan;
  std::vector<double> seconds{};
  double median_s() const { return estimate(seconds).centre; }
};

class Choice {
 public:
  Choice(std::string part, const std::string& file, std::size_t pool_bytes)
      : part_(std::move(part)), stream_(gpu_), pool_(gpu_, pool_bytes), log_(file, {"json", "command"}) {
    const auto pattern = std::int64_t(std::min<std::size_t>(pool_bytes, 16 << 20));
    AlignedBuffer numbers(pattern);
    fill(numbers.data(), pattern / 8, DType::f64, Data::uniform, 1);
    pool_.write(numbers.data(), std::size_t(pattern));
    pool_.repeat(std::size_t(pattern));
    log_.write({{"command", command_line()}});
  }

  // Compiles what the problems need, on all cores.
  void prepare(const std::vector<GemmProblem>& problems) {
    for (const std::string& name : names())
      parallel_each(allowed_threads(0), std::int64_t(problems.size()),
                    [&](std::int64_t i) { (void)plan_of(context_, problems[std::size_t(i)], name); });
  }

  void measure(const GemmProblem& p) {
    std::vector<Offered> offers;
    for (const std::string& name : names())
      if (auto made = plan_of(context_, p, name)) offers.push_back({name, std::move(*made)});
    if (part_ == "small") offers.push_back({"default", *plan_of(without_wisdom_, p, "")});
    for (int round = 0; round < rounds; ++round)
      for (Offered& one : offers) one.seconds.push_back(sample(p, one.plan));
    keep(p, offers);
  }

  void summarise() const {
    for (const auto& [dtype, values] : over_best_) {
      std::printf("%s %s: %zu problems; plan over the best of its offers %.3f, least %.3f", part_.c_str(),
                  to_string(dtype).c_str(), values.size(), geometric_mean(values),
                  *std::min_element(values.begin(), values.end()));
      if (const auto vendor = over_cublas_.find(dtype); vendor != over_cublas_.end())
        std::printf("; over cuBLAS %.3f, least %.3f", geometric_mean(vendor->second),
                    *std::min_element(vendor->second.begin(), vendor->second.end()));
      if (const auto within = within_.find(dtype); within != within_.end())
        std::printf("; %.0f %% of %d times within one deviation",
                    100.0 * within->second.first / within->second.second, within->second.second);
      std::printf("\n");
    }
  }

 private:
  // The plan's own choice first.
  std::vector<std::string> names() const {
    if (part_ == "small") return {""};
    return part_ == "thin" ? std::vector<std::string>{"", "gpu_thin", "gpu_large", "cublas"}
                           : std::vector<std::string>{"", "gpu_large", "cublas"};
  }

  static std::optional<GemmPlan> plan_of(Context& context, const GemmProblem& p, const std::string& name) {
    GemmOptions options;
    options.candidate = name;
    try {
      return plan(context, p, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return std::nullopt;
    }
  }

  // Runs sets of operands in turn, so that no cache holds them, for about two milliseconds.
  double sample(const GemmProblem& p, const GemmPlan& plan) {
    return dispatch(p.dtype, [&]<class T>() {
      const auto place = [](std::int64_t elements) {
        return (std::size_t(elements) * sizeof(T) + 255) / 256 * 256;
      };
      const auto extent = [&](std::int64_t ld, std::int64_t cols, std::int64_t stride) {
        return p.layout == Layout::single ? ld * cols : stride * p.batch_count;
      };
      const std::size_t a = place(extent(p.lda, p.a_cols(), p.stride_a)),
                        b = place(extent(p.ldb, p.b_cols(), p.stride_b)),
                        c = place(extent(p.ldc, p.n, p.stride_c));
      const std::size_t sets = std::max<std::size_t>(1, pool_.bytes() / (a + b + c));
      const auto run = [&](int count) {
        return GpuTimer(gpu_, stream_.get()).seconds([&] {
          for (int i = 0; i < count; ++i) {
            const std::size_t at = next_set_++ % sets * (a + b + c);
            plan.run<T>(T(1), pool_.as<T>(at), pool_.as<T>(at + a), T(p.beta == Scalar::one),
                        pool_.as<T>(at + a + b), stream_.get());
          }
        });
      };
      constexpr double sample_s = 2e-3;
      const int count = int(std::clamp(sample_s / run(1), 1.0, 200.0));
      return run(count) / count;
    });
  }

  // A row of the choice, and one of each implementation.
  void keep(const GemmProblem& p, const std::vector<Offered>& offers) {
    const GemmPlan::Impl& plan = Access::impl(offers.front().plan);
    double plan_s = offers.front().median_s(), best_s = plan_s;
    for (const Offered& one : offers) {
      if (one.name == plan.candidate)
        plan_s = std::min(plan_s, one.median_s());  // the same kernel, timed twice
      best_s = std::min(best_s, one.median_s());
    }
    nlohmann::json row = {{"phase", "choice"},           {"part", part_},
                          {"dtype", to_string(p.dtype)}, {"problem", to_string(p)},
                          {"plan", plan.candidate},      {"wisdom_match", to_string(plan.known.match)},
                          {"plan_seconds", plan_s},      {"over_best", best_s / plan_s}};
    over_best_[p.dtype].push_back(best_s / plan_s);
    for (const Offered& one : offers)
      if (one.name == "cublas") over_cublas_[p.dtype].push_back(one.median_s() / plan_s);
    log_.write(row);
    for (const Offered& one : offers)
      if (!one.name.empty()) keep(p, one, plan.decisions);
  }
  void keep(const GemmProblem& p, const Offered& one, const std::vector<Decision>& said) {
    nlohmann::json row = {{"problem", to_string(p)},
                          {"dtype", to_string(p.dtype)},
                          {"impl", one.name == "gpu_large" ? "tilewright" : one.name},
                          {"config", Access::impl(one.plan).runner->config()},
                          {"device", gpu_.limits().name},
                          {"residency", "cold"},
                          {"seconds", one.median_s()}};
    for (const Decision& decision : said) {
      if (decision.candidate != one.name || !decision.seconds || !(decision.error > 0)) continue;
      row["predicted_s"] = *decision.seconds, row["predicted_error"] = decision.error;
      auto& [within, count] = within_[p.dtype];
      within += std::abs(std::log(one.median_s() / *decision.seconds)) <= decision.error ? 1 : 0, ++count;
    }
    log_.write(row);
  }

  const std::string part_;
  Gpu gpu_{0};
  Gpu::Current current_{gpu_};
  GpuStream stream_;
  GpuBuffer pool_;
  LineLog log_;
  // Nothing that the user has recorded decides.
  Context context_{
      {.wisdom = (std::filesystem::temp_directory_path() / "bench_choice_records.sqlite").string()}};
  Context without_wisdom_{{.use_wisdom = false}};
  std::size_t next_set_ = 0;
  std::map<DType, std::vector<double>> over_best_, over_cublas_;
  std::map<DType, std::pair<int, int>> within_;
};

int run(int argc, char** argv) {
  std::string part, file;
  std::vector<std::string> dtypes = {"f64", "f32"};
  int count = 60;
  unsigned seed = 1;
  double seconds = 1e9, gigabytes = 8;
  CLI::App app("Random problems by the plan's choice and by each of its offers.");
  app.option_defaults()->always_capture_default();
  app.add_option("part", part, "large, thin or small")
      ->required()
      ->check(CLI::IsMember({"large", "thin", "small"}));
  app.add_option("--dtype", dtypes, "of both")->delimiter(',');
  app.add_option("--count", count, "problems of each type")->check(CLI::Range(1, 100000));
  app.add_option("--seed", seed, "of the draws");
  app.add_option("--seconds", seconds, "after which nothing new is begun");
  app.add_option("--gigabytes", gigabytes, "of operands, through which the calls rotate")
      ->check(from_to(0.001, 64));
  app.add_option("--json", file, "a row for each problem and implementation")->required();
  return parse_and_run(app, argc, argv, [&] {
    const auto begin = std::chrono::steady_clock::now();
    Choice choice(part, file, std::size_t(gigabytes * 1e9));
    Draw draw(seed, gigabytes * 1e9);
    std::vector<GemmProblem> problems;
    for (int i = 0; i < count; ++i)
      for (const std::string& dtype : dtypes)
        problems.push_back(draw.problem(part, enum_from_string<DType>(dtype, "--dtype")));
    choice.prepare(problems);
    for (const GemmProblem& p : problems) {
      if (std::chrono::steady_clock::now() - begin >= std::chrono::duration<double>(seconds)) break;
      choice.measure(p);
    }
    choice.summarise();
    return 0;
  });
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_choice", [&] { return tilewright::bench::run(argc, argv); });
}
