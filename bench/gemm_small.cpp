// Measures batched small GEMM on the GPU: checks the most promising configs of each case, times them, and
// then times the best beside cuBLAS and the streaming ceiling, interleaved in one run. Writes each case with
// the keys of docs and bench as a JSON line as soon as it is done. A stand-alone program beside `tilewright
// bench gemm_small`, for the searches that wisdom is made of.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "device/nvml.hpp"
#include "gemm_small_check.hpp"
#include "gemm_small_compile.hpp"
#include "gemm_small_flags.hpp"
#include "gemm_small_peers.hpp"
#include "gemm_small_seeds.hpp"
#include "kernel/gpu_stream.hpp"
#include "measure/estimate.hpp"
#include "wisdom/families.hpp"

namespace tilewright::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t few = 1000;  // batches up to this are judged and timed as small ones

// Ends the program when nothing has happened for a long time: a kernel that never returns must not cost the
// rows that were to follow in another run. Whatever was measured is on disk.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}
  ~Watchdog() {
    stops_ = true;
    thread_.join();
  }
  void begin(const std::string& what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
    since_ = Clock::now();
  }

 private:
  void watch() {
    constexpr std::chrono::seconds patience(60);
    while (!stops_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const std::lock_guard lock(mutex_);
      if (Clock::now() - since_ < patience) continue;
      std::printf("HANGS %s\n", what_.c_str());
      std::fflush(stdout);
      std::_Exit(3);
    }
  }

  std::mutex mutex_;
  std::string what_ = "start";
  Clock::time_point since_ = Clock::now();
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

class Bench {
 public:
  explicit Bench(const Flags& flags)
      : flags_(flags),
        gpu_(0),
        current_(gpu_),
        compiler_(flags.share, flags.cache),
        stream_(gpu_),
        start_(gpu_),
        stop_(gpu_),
        nvml_(gpu_.limits().uuid),
        json_(flags.json) {
    blas_.set_stream(stream_.get());
    json_ << nlohmann::json{{"command", flags.command}, {"device", gpu_.limits().name}}.dump() << std::endl;
  }

  // Returns the number of configs that were wrong.
  std::size_t run() {
    if (flags_.variety > 0) run_variety();
    if (!flags_.groups.empty()) run_cases();
    return wrong_;
  }

 private:
  bool out_of_time() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count() > flags_.deadline_s;
  }

  // Problems of every kind with configs drawn from the whole space: only checked, not timed.
  void run_variety() {
    std::mt19937 random(99);
    std::deque<Job> jobs;
    for (int i = 0; i < flags_.variety; ++i) {
      const DType dtype = flags_.cases.dtypes[static_cast<std::size_t>(i) % flags_.cases.dtypes.size()];
      Job job{{"variety", any_case(dtype, random)}, {}, {}, 0};
      job.shape = shape_of(job.named.one);
      const auto space = gemm_small_space(job.shape, dtype, gpu_.limits());
      for (auto config : space.sample(flags_.configs, random)) {
        if (config.k_unroll == 0) config.k_unroll = std::min(4, job.shape.k);
        const double work = double(config.matrices_per_block) * job.shape.m * job.shape.n * (job.shape.k + 1);
        if (space.contains(config) && work < 3e5) job.trials.push_back({config, {}, {}, nullptr});
      }
      jobs.push_back(std::move(job));
    }
    CompilePool pool(compiler_, gpu_.limits().compute_capability, jobs, 64);
    std::size_t right = 0;
    for (std::size_t i = 0; i < jobs.size() && !out_of_time(); ++i) {
      watchdog_.begin("compiling");
      Job& job = pool.take(i);
      check_trials(job);
      right += job.trials.size();
      job.trials.clear();
    }
    std::printf("variety: %zu right, %zu wrong\n", right, wrong_);
    json_ << nlohmann::json{{"variety_right", right}, {"variety_wrong", wrong_}}.dump() << std::endl;
  }

  static GemmSmallShape shape_of(const SmallCase& one) {
    return gemm_small_shape(one.problem, alignment_of(one), one.scalars_vary);
  }

  // The promising configs of a case, and those that were good before.
  std::vector<Trial> candidates(const Job& job, const Seeds& seeds) const {
    const GemmProblem& p = job.named.one.problem;
    const std::int64_t count = p.batch_count <= few ? p.batch_count : 0;
    std::vector<GemmSmallConfig> configs =
        gemm_small_promising(job.shape, p.dtype, gpu_.limits(), flags_.configs, count);
    const auto space = gemm_small_space(job.shape, p.dtype, gpu_.limits());
    for (const GemmSmallConfig& config : seeds.of(p))
      if (space.contains(config) && std::find(configs.begin(), configs.end(), config) == configs.end())
        configs.push_back(config);
    std::vector<Trial> trials;
    for (const GemmSmallConfig& config : configs) trials.push_back({config, {}, {}, nullptr});
    return trials;
  }

  void run_cases() {
    const Seeds seeds(flags_.seeds);
    std::deque<Job> jobs;
    std::size_t number = 0;
    for (const std::string& group : flags_.groups)
      for (NamedCase& named : cases_of(group, flags_.cases)) {
        if (number++ % flags_.shards != flags_.shard) continue;
        Job job{std::move(named), {}, {}, 0};
        job.shape = shape_of(job.named.one);
        jobs.push_back(std::move(job));
      }
    choose_candidates(jobs, seeds);
    streams_.emplace(gpu_, compiler_);
    CompilePool pool(compiler_, gpu_.limits().compute_capability, jobs, 16);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (out_of_time()) {
        std::printf("out of time after %zu of %zu cases\n", i, jobs.size());
        break;
      }
      watchdog_.begin("compiling");
      Job& job = pool.take(i);
      run_case(job);
      job.trials.clear();
    }
  }
  // The forecasts of hundreds of cases take seconds on one core.
  void choose_candidates(std::deque<Job>& jobs, const Seeds& seeds) const {
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
      threads.emplace_back([&] {
        for (std::size_t i = next++; i < jobs.size(); i = next++) jobs[i].trials = candidates(jobs[i], seeds);
      });
    for (std::thread& thread : threads) thread.join();
  }

  // Loads and checks; leaves the right ones.
  void check_trials(Job& job) {
    const GemmProblem& p = job.named.one.problem;
    for (Trial& trial : job.trials) {
      if (!trial.fault.empty()) continue;
      watchdog_.begin(to_string(p) + " " + describe(trial.config));
      try {
        trial.kernel =
            std::make_unique<GemmSmallKernel>(gpu_, trial.binary, job.shape, trial.config, p.dtype);
        const CheckResult result = check_small(gpu_, job.named.one, *trial.kernel);
        trial.fault = result.fault;
        trial.error = result.error;
      } catch (const Error& error) {
        trial.fault = error.what();
      }
    }
    for (const Trial& trial : job.trials) {
      if (trial.fault.empty()) continue;
      ++wrong_;
      const std::string text = trial.fault.substr(0, 600);
      std::printf("FAULT %s %s: %s\n", to_string(p).c_str(), describe(trial.config).c_str(), text.c_str());
      json_ << nlohmann::json{{"fault", text},
                              {"problem", to_string(p)},
                              {"shape", to_json(job.shape)},
                              {"config", to_json(trial.config)}}
                   .dump()
            << std::endl;
    }
    std::fflush(stdout);
    std::erase_if(job.trials, [](const Trial& trial) { return !trial.fault.empty(); });
  }

  // Fills the buffers with uniform values of the dtype's real type; a block of them is repeated, with a
  // period that no matrix size divides.
  template <class R>
  void fill_operands() {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<R> uniform(R(-0.5), R(0.5));
    std::vector<R> values((16u << 20) / sizeof(R) - 16);
    for (GpuBuffer& buffer : buffers_) {
      for (R& value : values) value = uniform(random);
      const std::size_t bytes = std::min(buffer.bytes(), values.size() * sizeof(R));
      buffer.write(values.data(), bytes);
      buffer.repeat(bytes);
    }
  }
  void prepare_buffers(DType dtype) {
    if (buffers_.empty())
      for (int i = 0; i < 3; ++i) buffers_.emplace_back(gpu_, flags_.cases.bytes);
    const bool single = dtype == DType::f32 || dtype == DType::c64;
    if (filled_ == single) return;
    single ? fill_operands<float>() : fill_operands<double>();
    filled_ = single;
  }

  template <class F>
  double time_once(F&& call, int times = 1) {
    start_.record(stream_.get());
    for (int i = 0; i < times; ++i) call();
    stop_.record(stream_.get());
    stop_.synchronize();
    return stop_.seconds_since(start_) / times;
  }

  void run_case(Job& job) {
    check_trials(job);
    const GemmProblem& p = job.named.one.problem;
    if (job.trials.empty()) {
      std::printf("%s: nothing ran\n", to_string(p).c_str());
      return;
    }
    if (flags_.check_only) {
      std::printf("%s: %zu configs right\n", to_string(p).c_str(), job.trials.size());
      return;
    }
    prepare_buffers(p.dtype);
    std::mt19937 random(5);
    const SmallBatch batch(job.named.one, p.batch_count, random);
    DeviceArrays arrays(gpu_, batch);
    arrays.set_all(buffers_[0].as<char>(), buffers_[1].as<char>(), buffers_[2].as<char>());
    GemmSmallOperands operands =
        arrays.operands(buffers_[0].as<void>(), buffers_[1].as<void>(), buffers_[2].as<void>());
    // Values of any type: one, or what the buffers hold.
    const auto scalars = dispatch(p.dtype, [&]<class T>() {
      const T pair[2] = {T(1), T(p.beta == Scalar::zero ? 0 : 1)};
      return std::string(reinterpret_cast<const char*>(pair), sizeof(pair));
    });
    operands.alpha = scalars.data();
    operands.beta = scalars.data() + size_bytes(p.dtype);
    operands.alphas = operands.betas = buffers_[0].as<void>();
    const int times = p.batch_count <= few ? 100 : 1;
    const auto ours = [&](const Trial& trial) { trial.kernel->launch(operands, stream_.get()); };
    for (Trial& trial : job.trials) {  // screening
      watchdog_.begin(to_string(p) + " " + describe(trial.config));
      ours(trial);
      std::vector<double> samples;
      for (int r = 0; r < 3; ++r) samples.push_back(time_once([&] { ours(trial); }, times));
      trial.seconds = estimate(samples).centre;
    }
    std::stable_sort(job.trials.begin(), job.trials.end(),
                     [](const Trial& x, const Trial& y) { return x.seconds < y.seconds; });
    if (job.trials.size() > 3) job.trials.resize(3);
    compare_case(job, batch, ours, times);
  }

  static Estimate centre(std::vector<double> samples) {
    samples.erase(samples.begin());  // warm-up
    return estimate(std::move(samples));
  }

  // Ours, cuBLAS and the streaming loops in turn, in every repetition.
  template <class Ours>
  void compare_case(Job& job, const SmallBatch& batch, const Ours& ours, int times) {
    const bool reads_c = job.shape.reads_c;
    const std::vector<GpuStreams::Loop>& loops = streams_->loops(reads_c);
    const double length = double(flags_.cases.bytes);
    const GpuStreamMix mix{length, length, length, reads_c};
    std::vector<double> moved(loops.size());
    BlasPeer peer(blas_, gpu_, batch, buffers_[0].as<void>(), buffers_[1].as<void>(), buffers_[2].as<void>());
    std::vector<std::vector<double>> own(job.trials.size()), stream(loops.size());
    std::vector<double> other;
    for (int r = -1; r < flags_.repetitions; ++r) {
      watchdog_.begin(to_string(job.named.one.problem));
      for (std::size_t i = 0; i < own.size(); ++i)
        own[i].push_back(time_once([&] { ours(job.trials[i]); }, times));
      // The slowest peers (small n) take 200 times as long; a few samples of those say enough.
      if (!peer.name().empty() && (r < 2 || other.back() < 0.02))
        other.push_back(time_once([&] { peer.launch(); }, times));
      for (std::size_t i = 0; i < loops.size(); ++i)
        stream[i].push_back(time_once([&] {
          moved[i] = GpuStreams::launch(loops[i], mix, buffers_[0].as<void>(), buffers_[1].as<void>(),
                                        buffers_[2].as<void>(), stream_.get());
        }));
    }
    Result result;
    result.ceilings = nlohmann::json::object();
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const double rate = moved[i] / centre(stream[i]).centre * 1e-9;
      result.ceilings[loops[i].name] = rate;
      result.ceiling = std::max(result.ceiling, rate);
    }
    result.bound_s = batch.bound_bytes() / (result.ceiling * 1e9);
    result.flops = batch.flop_count();
    std::vector<Estimate> estimates;
    for (const auto& samples : own) estimates.push_back(centre(samples));
    const auto best =
        std::min_element(estimates.begin(), estimates.end(),
                         [](const Estimate& x, const Estimate& y) { return x.centre < y.centre; });
    const Trial& winner = job.trials[static_cast<std::size_t>(best - estimates.begin())];
    write_row(job, "tilewright", *best, &winner, result);
    const Estimate theirs = other.empty() ? Estimate{} : centre(other);
    if (!other.empty()) write_row(job, peer.name(), theirs, nullptr, result);
    std::printf("%-11s %s  %8.1f GF/s  share %.3f  peer ratio %6.2f  B %.0f  %s\n", job.named.group.c_str(),
                to_string(job.named.one.problem).c_str(), result.flops / best->centre * 1e-9,
                result.bound_s / best->centre, theirs.centre / best->centre, result.ceiling,
                describe(winner.config).c_str());
    std::fflush(stdout);
  }

  struct Result {
    double bound_s = 0, ceiling = 0, flops = 0;
    nlohmann::json ceilings;
  };

  static nlohmann::json case_row(const Job& job, const std::string& impl) {
    const GemmProblem& p = job.named.one.problem;
    const bool pointers = p.layout == Layout::pointer || p.layout == Layout::variable;
    nlohmann::json order = nullptr;
    if (pointers) order = "random";
    return {{"family", "gemm_small"},
            {"group", job.named.group},
            {"problem", to_string(p)},
            {"dtype", to_string(p.dtype)},
            {"op", op_pair(p)},
            {"m", p.m},
            {"n", p.n},
            {"k", p.k},
            {"lda", p.lda},
            {"ldb", p.ldb},
            {"ldc", p.ldc},
            {"layout", to_string(p.layout)},
            {"block", p.block},
            {"batch_count", p.batch_count},
            {"alpha", 1},
            {"beta", p.beta == Scalar::zero ? 0 : 1},
            {"scalars_vary", job.named.one.scalars_vary},
            {"smallest", job.named.one.smallest},
            {"square", job.named.one.square},
            {"residency", to_string(p.residency)},
            {"location", "device"},
            {"memory", nullptr},
            {"pointer_order", order},
            {"numa", nullptr},
            {"threads", nullptr},
            {"target", "gpu"},
            {"data", "uniform"},
            {"impl", impl}};
  }

  void write_row(const Job& job, const std::string& impl, const Estimate& e, const Trial* trial,
                 const Result& result) {
    nlohmann::json row = case_row(job, impl);
    row["seconds"] = e.centre;
    row["seconds_low"] = e.low;
    row["seconds_high"] = e.high;
    row["samples"] = e.samples;
    row["gflops"] = result.flops / e.centre * 1e-9;
    row["bound_gflops"] = result.flops / result.bound_s * 1e-9;
    row["bound_share"] = result.bound_s / e.centre;
    row["bound_kind"] = "memory";
    row["ceiling"] = result.ceiling;
    row["energy_j"] = row["watts"] = row["gflops_per_watt"] = nullptr;
    row["energy_note"] = "a case is shorter than the meter's update";
    nlohmann::json metrics = {{"streaming_gbs", result.ceilings}};
    const GpuReadings readings = nvml_.read();
    if (readings.clock_mhz) metrics["clock_mhz"] = *readings.clock_mhz;
    if (readings.memory_clock_mhz) metrics["memory_clock_mhz"] = *readings.memory_clock_mhz;
    if (readings.temperature_c) metrics["temperature_c"] = *readings.temperature_c;
    if (trial != nullptr) {
      row["config"] = to_json(trial->config);
      row["source_hash"] = current_source_hash("gemm_small");
      row["compiler"] = "nvrtc " + compiler_.nvrtc().version();
      row["error"] = trial->error;
      row["error_bound"] = 1;
      const StencilReport report = stencil_report(trial->binary.log);
      const GemmSmallCost cost = gemm_small_cost(job.shape, trial->config, job.named.one.problem.dtype);
      metrics["registers"] = report.registers;
      metrics["spill_bytes"] = report.spill_bytes;
      metrics["shared_bytes"] = trial->kernel->shared_bytes();
      metrics["blocks_per_multiprocessor"] = trial->kernel->blocks_per_multiprocessor();
      metrics["predicted_cycles"] = {
          {"shared", cost.shared}, {"issue", cost.issue}, {"multiply", cost.multiply}};
    } else {
      row["impl_version"] = blas_.version();
    }
    row["metrics"] = metrics;
    row["device"] = gpu_.limits().name;
    row["device_uuid"] = gpu_.limits().uuid;
    row["driver"] = nvml_.driver_version();
    char time[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    row["time"] = time;
    json_ << row.dump() << std::endl;
  }

  Flags flags_;
  Clock::time_point begin_ = Clock::now();
  Gpu gpu_;
  Gpu::Current current_;
  StencilCompiler compiler_;
  GpuBlas blas_;
  GpuStream stream_;
  GpuEvent start_, stop_;
  Nvml nvml_;
  std::vector<GpuBuffer> buffers_;
  std::ofstream json_;
  std::optional<GpuStreams> streams_;
  std::optional<bool> filled_;
  std::size_t wrong_ = 0;
  Watchdog watchdog_;
};

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  try {
    return tilewright::bench::Bench(tilewright::bench::parse(argc, argv)).run() == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gemm_small: %s\n", error.what());
    return 1;
  }
}
