// Sums of products into one C in device memory, compared with the memory bound: stacks whose C stand in runs,
// and batches that are reduced into one C. Plans, and on request other configs, are timed alternately with
// streaming loops that move as much; A and B lie in any order, and nothing is in a cache.
//
//     bench_device_sums --json device_sums.jsonl
#include <fstream>

#include "core/dispatch.hpp"
#include "experiment.hpp"
#include "gemm/kept.hpp"
#include "gemm/plan.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "kernel/probe/loops.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/energy.hpp"
#include "tune/gpu/pool.hpp"

namespace tilewright::bench {
namespace {

struct SumsOptions {
  std::vector<std::string> dtypes{"f64", "f32"};
  std::vector<std::int64_t> sizes{8, 12, 13, 16, 20, 23, 24, 28, 32}, runs{1, 2, 5, 10, 20, 50};
  double megabytes = 4096;  // of A, and of B
  int rounds = 9, configs = 0, device = 0;
  bool reduces = false;
  std::string json;
};

struct SumsContender {
  nlohmann::json config;
  bool is_plan = false;  // the config that a call would choose
  GemmPlan plan;
  std::vector<double> seconds = {};
};

GemmProblem sums_problem(const GpuArena& arena, DType dtype, std::int64_t n, std::int64_t run, bool reduces) {
  GemmProblem p;
  p.dtype = dtype;
  p.m = p.n = p.k = n;
  p.layout = reduces ? Layout::strided : Layout::pointer;
  p.location = Location::device;
  p.sums = reduces ? Sums::batch_reduce : Sums::stack;
  p.run = run;
  p.beta = Scalar::one;
  const std::int64_t size = size_bytes(dtype);
  const std::int64_t each = reduces ? n * n : gpu_pointer_distance(n * n, size);
  p.batch_count = std::int64_t(arena.bytes().a) / (each * size);
  return packed(p);
}

class SumsCase {
 public:
  SumsCase(TuneGpu& gpu, const GemmProblem& problem)
      : gpu_(gpu),
        stream_(gpu.gpu()),
        timer_(gpu.gpu(), stream_.get()),
        problem_(problem),
        traffic_(gpu_traffic(problem)),
        ring_(gpu.arena(), gpu_operand_bytes(problem)) {
    gpu.arena().fill(problem.dtype);
    order_ = pointer_order(problem.batch_count, true);
    if (problem.layout == Layout::pointer)
      pointers_.emplace(
          gpu.gpu(), problem, 1, [&](std::int64_t i) { return ring_.at(i); }, order_);
  }

  // Returns a text of what is wrong with some elements of C after one run; "" if nothing is.
  template <class T>
  std::string check(const GemmPlan& plan) {
    const GemmProblem& p = problem_;
    const std::int64_t sums = count_of_c(p), run = products_per_c(p), size = size_bytes(p.dtype);
    const std::int64_t step_c = p.layout == Layout::pointer ? gpu_pointer_distance(p.ldc * p.n, size) : 0;
    const std::int64_t most = 2000;  // products of a checked sum
    for (const std::int64_t s : {std::int64_t(0), sums / 2, sums - 1}) {
      if (run > most) break;
      T before{}, after{};
      T* const c = static_cast<T*>(ring_.at(0).c) + s * step_c + 1 + p.ldc;
      gpu_.gpu().read(&before, c, sizeof(T));
      this->run<T>(plan);
      gpu_.gpu().synchronize();
      gpu_.gpu().read(&after, c, sizeof(T));
      double expected = double(before), scale = std::abs(expected);
      for (std::int64_t q = s * run; q < std::min(p.batch_count, (s + 1) * run); ++q)
        for (std::int64_t l = 0; l < p.k; ++l) {
          const double product = element(0, q, 1, l) * element(1, q, l, 1);
          expected += product, scale += std::abs(product);
        }
      const double allowed = scale * double(std::numeric_limits<T>::epsilon()) * double(p.k * run + 4);
      if (!(std::abs(double(after) - expected) <= allowed))
        return fmt::format("C of sum {} has {} where {} is right", s, double(after), expected);
    }
    return "";
  }

  void time(std::vector<SumsContender>& all, const GpuStreams& streams, int rounds) {
    for (int round = -1; round < rounds; ++round) {
      for (SumsContender& one : all) {
        const double seconds =
            timer_.seconds([&] { dispatch(problem_.dtype, [&]<class T>() { run<T>(one.plan); }); });
        if (round >= 0) one.seconds.push_back(seconds);
      }
      const GpuStreamMix mix = traffic_.mix.as_long_as(double(gpu_.arena().operand_bytes()));
      const auto& loops = streams.loops(traffic_.mix.reads_c);
      rates_.resize(loops.size());
      for (std::size_t i = 0; i < loops.size(); ++i) {
        double moved = 0;
        const double seconds = timer_.seconds([&] {
          moved = GpuStreams::launch(loops[i], mix, gpu_.arena().a(), gpu_.arena().b(),
                                     gpu_.arena().streamed_c(), stream_.get());
        });
        if (round >= 0) rates_[i].push_back(moved / seconds);
      }
    }
  }
  // Returns the bytes per second of the best loop.
  double ceiling() const {
    double best = 0;
    for (const auto& rates : rates_) best = std::max(best, median(rates));
    return best;
  }
  const GpuTraffic& traffic() const { return traffic_; }

 private:
  template <class T>
  void run(const GemmPlan& plan) {
    if (pointers_) {
      const Operands o = pointers_->at(0);
      plan.run<T>(T(1), static_cast<const T* const*>(o.a), static_cast<const T* const*>(o.b), T(1),
                  static_cast<T* const*>(o.c), stream_.get());
    } else {
      const Operands o = ring_.at(0);
      plan.run<T>(T(1), static_cast<const T*>(o.a), static_cast<const T*>(o.b), T(1), static_cast<T*>(o.c),
                  stream_.get());
    }
  }
  double element(int operand, std::int64_t q, std::int64_t i, std::int64_t j) const {
    const StoredOperand x = gpu_stored_operand(problem_, operand);
    return gpu_.arena().real_at(operand, x.at(pointers_ ? order_[std::size_t(q)] : q, i, j));
  }

  TuneGpu& gpu_;
  GpuStream stream_;
  GpuTimer timer_;
  GemmProblem problem_;
  GpuTraffic traffic_;
  GpuRing ring_;
  std::vector<std::int64_t> order_;
  std::optional<GpuPointers> pointers_;
  std::vector<std::vector<double>> rates_;
};

// Returns a call's first choice, and then the configs that the cost model ranks first.
std::vector<SumsContender> contenders(Context& context, TuneGpu& gpu, const GemmProblem& p,
                                      const SumsOptions& options) {
  GemmOptions one;
  one.queue.device = options.device;
  one.candidate = "gpu_small";
  one.align_bytes = int(size_bytes(p.dtype));
  std::vector<SumsContender> all;
  const auto add = [&](bool is_plan) {
    GemmPlan made = plan(context, p, one);
    all.push_back({Access::impl(made).runner->config(), is_plan, std::move(made)});
  };
  add(true);
  const GemmSmallShape shape = gemm_small_shape(p, one.align_bytes);
  if (options.configs > 0)
    for (const GemmSmallConfig& config :
         gemm_small_promising(shape, p.dtype, gpu.gpu().limits(), std::size_t(options.configs))) {
      one.config = to_json(config).dump();
      add(false);
    }
  return all;
}

int run_sums(const SumsOptions& options) {
  TuneGpu gpu(options.device, std::size_t(options.megabytes * (1 << 20)));
  const Gpu::Current current(gpu.gpu());
  const GpuStreams streams(gpu.gpu(), gpu.compiler());
  Context context;
  std::ofstream file(options.json);
  const auto tell = [&](const nlohmann::json& row) {
    fmt::print("{}\n", row.dump());
    std::fflush(stdout);
    if (!options.json.empty()) file << row.dump() << std::endl;
  };
  tell({{"command", command_line()}});
  bool right = true;
  const auto measure = [&](DType dtype, std::int64_t n, std::int64_t run) {
    const GemmProblem p = sums_problem(gpu.arena(), dtype, n, run, options.reduces);
    SumsCase one(gpu, p);
    std::vector<SumsContender> all = contenders(context, gpu, p, options);
    std::string fault;
    if (dtype == DType::f64) fault = one.check<double>(all.front().plan);
    if (dtype == DType::f32) fault = one.check<float>(all.front().plan);
    right &= fault.empty();
    one.time(all, streams, options.rounds);
    const double bound_s = one.traffic().bytes / one.ceiling();
    for (const SumsContender& x : all) {
      const double seconds = median(x.seconds);
      tell({{"bench", "device_sums"},
            {"problem", to_string(p)},
            {"dtype", to_string(dtype)},
            {"n", n},
            {"run", run},
            {"as_called", x.is_plan},
            {"seconds", seconds},
            {"bound_s", bound_s},
            {"bound_share", bound_s / seconds},
            {"ceiling_gb_s", one.ceiling() * 1e-9},
            {"gflops", flops(p) / seconds * 1e-9},
            {"config", x.config},
            {"fault", x.is_plan ? fault : ""},
            {"device", gpu.gpu().limits().name}});
    }
  };
  for (const std::string& dtype : options.dtypes)
    for (const std::int64_t n : options.sizes)
      for (const std::int64_t run : options.reduces ? std::vector<std::int64_t>{1} : options.runs)
        measure(enum_from_string<DType>(dtype, "--dtype"), n, run);
  return right ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  using namespace tilewright::bench;
  CLI::App app("bench_device_sums: sums of products into one C in device memory beside the bound");
  SumsOptions options;
  app.add_option("--dtype", options.dtypes, "f64, f32")->delimiter(',');
  app.add_option("--sizes", options.sizes, "n of n x n x n, at most 64")->delimiter(',');
  app.add_option("--runs", options.runs, "products that a C gets")->delimiter(',');
  app.add_option("--megabytes", options.megabytes, "of A, and of B")->check(from_to(0.01, 1 << 20));
  app.add_option("--rounds", options.rounds)->check(from_to(1, 1000));
  app.add_option("--configs", options.configs, "more of them, as the cost model orders them")
      ->check(from_to(0, 1000));
  app.add_option("--device", options.device)->check(from_to(0, 1023));
  app.add_flag("--reduce", options.reduces, "one C for the whole batch instead of runs");
  app.add_option("--json", options.json, "measurements, a line each");
  return parse_and_run(app, argc, argv,
                       [&] { return run_program("bench_device_sums", [&] { return run_sums(options); }); });
}
