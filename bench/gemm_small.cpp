// Measures batched small GEMM on the GPU: checks the most promising configs of each case, times them, and
// then times the best beside cuBLAS and the streaming ceiling, interleaved in one run. Writes rows with the
// keys of docs and bench as JSON lines. A stand-alone program until `tilewright bench gemm_small` takes its
// place.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "core/dispatch.hpp"
#include "device/gpu_blas.hpp"
#include "device/nvml.hpp"
#include "gemm_small_check.hpp"
#include "measure/estimate.hpp"

namespace tilewright::bench {
namespace {

constexpr int device_alignment = 128;  // of the buffers that operands lie in, guards included

struct Flags {
  std::vector<DType> dtypes = {DType::f64, DType::f32};
  int first = 2, last = 32;
  std::vector<int> betas = {1, 0};
  std::size_t configs = 24;
  std::size_t bytes = std::size_t(1) << 30;  // per operand
  int repetitions = 11;
  std::string share = "src", cache, json = "gemm_small.jsonl", command;
  bool check_only = false;
  bool variety = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

Flags parse(int argc, char** argv) {
  Flags flags;
  for (int i = 0; i < argc; ++i) flags.command += (i == 0 ? "bench_gemm_small" : std::string(" ") + argv[i]);
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--check-only") {
      flags.check_only = true;
      continue;
    }
    if (++i == argc) throw Error(ErrorCode::invalid_argument, name, name + " needs a value");
    const std::string value = argv[i];
    if (name == "--variety") {
      flags.variety = value == "1";
    } else if (name == "--dtype") {
      flags.dtypes.clear();
      for (const auto& one : split(value)) flags.dtypes.push_back(enum_from_string<DType>(one, "dtype"));
    } else if (name == "--sizes") {
      flags.first = std::atoi(value.c_str());
      const auto colon = value.find(':');
      flags.last = colon == std::string::npos ? flags.first : std::atoi(value.c_str() + colon + 1);
    } else if (name == "--beta") {
      flags.betas.clear();
      for (const auto& one : split(value)) flags.betas.push_back(std::atoi(one.c_str()));
    } else if (name == "--configs") {
      flags.configs = static_cast<std::size_t>(std::atoi(value.c_str()));
    } else if (name == "--megabytes") {
      flags.bytes = static_cast<std::size_t>(std::atoi(value.c_str())) << 20;
    } else if (name == "--repetitions") {
      flags.repetitions = std::atoi(value.c_str());
    } else if (name == "--share") {
      flags.share = value;
    } else if (name == "--cache") {
      flags.cache = value;
    } else if (name == "--json") {
      flags.json = value;
    } else {
      throw Error(ErrorCode::invalid_argument, name, name + " is not a flag");
    }
  }
  return flags;
}

GemmProblem square(DType dtype, int n, int beta, std::int64_t count) {
  GemmProblem p;
  p.dtype = dtype;
  p.m = p.n = p.k = n;
  p.layout = Layout::strided;
  p.batch_count = count;
  p.beta = beta == 0 ? Scalar::zero : Scalar::one;
  p.residency = Residency::cold;
  p.location = Location::device;
  return packed(p);
}

struct Trial {
  GemmSmallConfig config;
  JitBinary binary;
  std::string fault;
  std::unique_ptr<GemmSmallKernel> kernel;
  double error = 0;
  double seconds = 1e9;
};

// All configs of a case, compiled on every core.
void compile_all(const StencilCompiler& compiler, const GemmSmallShape& shape, DType dtype, int capability,
                 std::vector<Trial>& trials) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::thread::hardware_concurrency(); ++t)
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < trials.size(); i = next++) try {
          trials[i].binary = compile_gemm_small(compiler, shape, trials[i].config, dtype, capability);
        } catch (const std::exception& error) {
          trials[i].fault = error.what();
        }
    });
  for (auto& thread : threads) thread.join();
}

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
        a_(gpu_, flags.bytes),
        b_(gpu_, flags.bytes),
        c_(gpu_, flags.bytes),
        json_(flags.json) {
    blas_.set_stream(stream_.get());
    json_ << nlohmann::json{{"command", flags.command}, {"device", gpu_.limits().name}}.dump() << '\n';
    load_streams();
  }

  void run() {
    if (flags_.variety) return run_variety();
    for (const DType dtype : flags_.dtypes)
      for (int n = flags_.first; n <= flags_.last; ++n) {
        std::vector<GemmSmallConfig> shortlist;
        for (const int beta : flags_.betas) run_case(dtype, n, beta, shortlist);
      }
  }

 private:
  // Fills the buffers with uniform values; a block of them is repeated, with a period that no matrix size
  // divides.
  template <class R>
  void fill_operands() {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<R> uniform(R(-0.5), R(0.5));
    std::vector<R> values((16u << 20) / sizeof(R) - 16);
    for (GpuBuffer* buffer : {&a_, &b_, &c_}) {
      for (R& value : values) value = uniform(random);
      const std::size_t bytes = std::min(buffer->bytes(), values.size() * sizeof(R));
      buffer->write(values.data(), bytes);
      buffer->repeat(bytes);
    }
  }

  struct Stream {
    std::string name;
    GpuModule module;
    GpuFunction function;
    GpuLaunch launch;
  };
  void load_stream(bool reads_c, const std::string& name, const std::string& expression, unsigned threads,
                   unsigned shared) {
    const JitBinary binary =
        compiler_.compile({"kernel/gpu_stream.cuh", expression, "", gpu_.limits().compute_capability});
    GpuModule module(gpu_, binary.code);
    GpuFunction function = module.function(binary.function, static_cast<int>(shared));
    const int fit = function.blocks_per_multiprocessor(static_cast<int>(threads), static_cast<int>(shared));
    const GpuLaunch launch{static_cast<unsigned>(gpu_.limits().multiprocessors * fit), threads, shared};
    streams_[reads_c].push_back({name, std::move(module), function, launch});
  }
  void load_streams() {
    for (const bool reads_c : {false, true}) {
      const char* text = reads_c ? "true" : "false";
      load_stream(reads_c, "plain", fmt::format("tilewright::gpu_stream_plain<{}>", text), 256, 0);
      for (const auto& [bytes, stages, threads] : {std::array{8192, 2, 128}, std::array{8192, 3, 128},
                                                   std::array{16384, 2, 256}, std::array{4096, 4, 64}})
        load_stream(reads_c, fmt::format("bulk {}x{}", bytes, stages),
                    fmt::format("tilewright::gpu_stream_bulk<{}, {}, {}, {}>", text, bytes, stages, threads),
                    static_cast<unsigned>(threads), static_cast<unsigned>(3 * bytes * stages + 8 * stages));
    }
  }

  template <class F>
  double time_once(F&& call) {
    start_.record(stream_.get());
    call();
    stop_.record(stream_.get());
    stop_.synchronize();
    return stop_.seconds_since(start_);
  }

  void launch(const Trial& trial, const GemmProblem& p) {
    dispatch(p.dtype, [&]<class T>() {
      const T alpha(1), beta(p.beta == Scalar::zero ? 0 : 1);
      trial.kernel->launch({a_.as<void>(), b_.as<void>(), c_.as<void>(), &alpha, &beta, p.batch_count},
                           stream_.get());
    });
  }
  void launch_blas(const GemmProblem& p) {
    dispatch(p.dtype, [&]<class T>() {
      const T alpha(1), beta(p.beta == Scalar::zero ? 0 : 1);
      GpuBlas::Batch batch{
          p.dtype,    p.op_a,        p.op_b,        int(p.m),   int(p.n),      int(p.k),
          &alpha,     a_.as<void>(), int(p.lda),    p.stride_a, b_.as<void>(), int(p.ldb),
          p.stride_b, &beta,         c_.as<void>(), int(p.ldc), p.stride_c,    int(p.batch_count)};
      blas_.gemm_strided(batch);
    });
  }
  void launch_stream(const Stream& stream) {
    struct {
      const double* a;
      const double* b;
      double* c;
      long long count;
    } args{a_.as<double>(), b_.as<double>(), c_.as<double>(), static_cast<long long>(c_.bytes() / 8)};
    stream.function.launch(stream.launch, &args, stream_.get());
  }

  std::vector<Trial> candidates(const GemmProblem& p, const std::vector<GemmSmallConfig>& shortlist) {
    const GemmSmallShape shape = gemm_small_shape(p, device_alignment);
    std::vector<Trial> trials;
    const auto configs =
        shortlist.empty() ? gemm_small_promising(shape, p.dtype, gpu_.limits(), flags_.configs) : shortlist;
    for (const auto& config : configs) trials.push_back({config, {}, {}, nullptr});
    compile_all(compiler_, shape, p.dtype, gpu_.limits().compute_capability, trials);
    SmallChecker checker(gpu_, p);
    for (Trial& trial : trials) {
      if (!trial.fault.empty()) continue;
      try {
        trial.kernel = std::make_unique<GemmSmallKernel>(gpu_, trial.binary, shape, trial.config, p.dtype);
        const CheckResult result = checker.check(*trial.kernel);
        trial.fault = result.fault;
        trial.error = result.error;
      } catch (const Error& error) {
        trial.fault = error.what();
      }
    }
    for (const Trial& trial : trials)
      if (!trial.fault.empty())
        std::printf("FAULT %s %s: %s\n", to_string(p).c_str(), describe(trial.config).c_str(),
                    trial.fault.substr(0, 600).c_str());
    std::erase_if(trials, [](const Trial& trial) { return !trial.fault.empty(); });
    return trials;
  }

  // Problems of every kind with configs drawn from the whole space: only checked, not timed.
  void run_variety() {
    std::mt19937 random(99);
    std::size_t right = 0, wrong = 0;
    for (const DType dtype : flags_.dtypes)
      for (int i = 0; i < flags_.repetitions; ++i) {
        const GemmProblem p = any_problem(dtype, random);
        const auto space = gemm_small_space(gemm_small_shape(p, device_alignment), dtype, gpu_.limits());
        auto configs = space.sample(flags_.configs, random);
        for (auto& config : configs) config.k_unroll = config.k_unroll == 0 ? 4 : config.k_unroll;
        const std::size_t asked = configs.size();
        const std::size_t passed = candidates(p, configs).size();
        right += passed;
        wrong += asked - passed;
      }
    std::printf("variety: %zu right, %zu wrong\n", right, wrong);
  }

  static GemmProblem any_problem(DType dtype, std::mt19937& random) {
    const auto below = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
    GemmProblem p;
    p.dtype = dtype;
    const std::int64_t most = below(4) == 0 ? 64 : 12;
    p.m = 1 + below(static_cast<unsigned>(most));
    p.n = 1 + below(static_cast<unsigned>(most));
    p.k = 1 + below(static_cast<unsigned>(most));
    p.op_a = static_cast<Op>(below(3));
    p.op_b = static_cast<Op>(below(3));
    p.layout = Layout::strided;
    p.batch_count = 100000;
    p.alpha = below(2) == 0 ? Scalar::one : Scalar::general;
    p.beta = static_cast<Scalar>(below(3));
    if (below(3) == 0) {
      p.lda = p.a_rows() + below(4);
      p.ldb = p.b_rows() + below(4);
      p.ldc = p.m + below(4);
    }
    p = packed(p);
    if (below(5) == 0) p.stride_b = 0;
    if (below(6) == 0) p.stride_a = 0;
    return p;
  }

  void run_case(DType dtype, int n, int beta, std::vector<GemmSmallConfig>& shortlist) {
    const std::int64_t count = static_cast<std::int64_t>(flags_.bytes) / (n * n * size_bytes(dtype));
    const GemmProblem p = square(dtype, n, beta, count);
    std::vector<Trial> trials = candidates(p, shortlist);
    if (trials.empty()) {
      std::printf("%s: nothing ran\n", to_string(p).c_str());
      return;
    }
    if (flags_.check_only) {
      std::printf("%s: %zu configs right\n", to_string(p).c_str(), trials.size());
      return;
    }
    if (filled_ != dtype) {
      size_bytes(dtype) / (is_complex(dtype) ? 2 : 1) == 4 ? fill_operands<float>() : fill_operands<double>();
      filled_ = dtype;
    }
    for (Trial& trial : trials) {  // screening
      launch(trial, p);
      std::vector<double> times;
      for (int r = 0; r < 3; ++r) times.push_back(time_once([&] { launch(trial, p); }));
      trial.seconds = estimate(times).centre;
    }
    std::stable_sort(trials.begin(), trials.end(),
                     [](const Trial& x, const Trial& y) { return x.seconds < y.seconds; });
    if (trials.size() > 3) {
      if (shortlist.empty())
        for (std::size_t i = 0; i < std::min<std::size_t>(8, trials.size()); ++i)
          shortlist.push_back(trials[i].config);
      trials.resize(3);
    }
    compare_case(p, trials);
  }

  // Ours, cuBLAS and the streaming loops in turn, in every repetition.
  void compare_case(const GemmProblem& p, std::vector<Trial>& trials) {
    const bool reads_c = p.beta != Scalar::zero;
    std::vector<std::vector<double>> ours(trials.size()), stream(streams_[reads_c].size());
    std::vector<double> peer;
    for (int r = -1; r < flags_.repetitions; ++r) {
      for (std::size_t i = 0; i < trials.size(); ++i)
        ours[i].push_back(time_once([&] { launch(trials[i], p); }));
      // The slowest peers (small n) take 200 times as long; a few samples of those say enough.
      if (r < 3 || peer.back() < 0.02) peer.push_back(time_once([&] { launch_blas(p); }));
      for (std::size_t i = 0; i < stream.size(); ++i)
        stream[i].push_back(time_once([&] { launch_stream(streams_[reads_c][i]); }));
    }
    const GpuReadings readings = nvml_.read();
    const auto centre = [](std::vector<double>& samples) {
      samples.erase(samples.begin());  // warm-up
      return estimate(samples);
    };
    double ceiling = 0;
    std::string ceiling_name;
    nlohmann::json ceilings = nlohmann::json::object();
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const double rate = (reads_c ? 4.0 : 3.0) * double(c_.bytes()) / centre(stream[i]).centre * 1e-9;
      ceilings[streams_[reads_c][i].name] = rate;
      if (rate > ceiling) {
        ceiling = rate;
        ceiling_name = streams_[reads_c][i].name;
      }
    }
    std::size_t best = 0;
    std::vector<Estimate> estimates;
    for (auto& samples : ours) estimates.push_back(centre(samples));
    for (std::size_t i = 0; i < estimates.size(); ++i)
      if (estimates[i].centre < estimates[best].centre) best = i;
    const Estimate peer_estimate = centre(peer);
    const double bound_s = bytes(p) / (ceiling * 1e9);
    write_row(p, "tilewright", estimates[best], &trials[best], bound_s, ceiling, ceilings, readings);
    write_row(p, "cublas_strided", peer_estimate, nullptr, bound_s, ceiling, ceilings, readings);
    std::printf(
        "%-4s n=%-2d beta=%d  %8.1f GF/s  share %.3f  cuBLAS %8.1f (%.3f)  ratio %6.2f  B %.0f (%s)  %s\n",
        to_string(p.dtype).c_str(), int(p.n), reads_c ? 1 : 0, flops(p) / estimates[best].centre * 1e-9,
        bound_s / estimates[best].centre, flops(p) / peer_estimate.centre * 1e-9,
        bound_s / peer_estimate.centre, peer_estimate.centre / estimates[best].centre, ceiling,
        ceiling_name.c_str(), describe(trials[best].config).c_str());
    std::fflush(stdout);
  }

  static void add_readings(const GpuReadings& readings, nlohmann::json& metrics) {
    if (readings.clock_mhz) metrics["clock_mhz"] = *readings.clock_mhz;
    if (readings.memory_clock_mhz) metrics["memory_clock_mhz"] = *readings.memory_clock_mhz;
    if (readings.temperature_c) metrics["temperature_c"] = *readings.temperature_c;
  }

  static nlohmann::json case_row(const GemmProblem& p, const char* impl) {
    return {{"family", "gemm_small"},
            {"problem", to_string(p)},
            {"dtype", to_string(p.dtype)},
            {"op", op_pair(p)},
            {"m", p.m},
            {"n", p.n},
            {"k", p.k},
            {"lda", p.lda},
            {"ldb", p.ldb},
            {"ldc", p.ldc},
            {"layout", "strided"},
            {"batch_count", p.batch_count},
            {"alpha", 1},
            {"beta", p.beta == Scalar::zero ? 0 : 1},
            {"residency", "cold"},
            {"location", "device"},
            {"memory", nullptr},
            {"pointer_order", nullptr},
            {"numa", nullptr},
            {"threads", nullptr},
            {"target", "gpu"},
            {"data", "uniform"},
            {"impl", impl}};
  }

  void write_row(const GemmProblem& p, const char* impl, const Estimate& e, const Trial* trial,
                 double bound_s, double ceiling, const nlohmann::json& ceilings,
                 const GpuReadings& readings) {
    nlohmann::json row = case_row(p, impl);
    row["seconds"] = e.centre;
    row["seconds_low"] = e.low;
    row["seconds_high"] = e.high;
    row["samples"] = e.samples;
    row["gflops"] = flops(p) / e.centre * 1e-9;
    row["bound_gflops"] = flops(p) / bound_s * 1e-9;
    row["bound_share"] = bound_s / e.centre;
    row["bound_kind"] = "memory";
    row["ceiling"] = ceiling;
    row["energy_j"] = row["watts"] = row["gflops_per_watt"] = nullptr;
    row["energy_note"] = "a case is shorter than the meter's update";
    nlohmann::json metrics = {{"streaming_gbs", ceilings}};
    add_readings(readings, metrics);
    if (trial != nullptr) {
      row["config"] = to_json(trial->config);
      row["error"] = trial->error;
      row["error_bound"] = 1;
      const StencilReport report = stencil_report(trial->binary.log);
      const GemmSmallCost cost = gemm_small_cost(gemm_small_shape(p), trial->config, p.dtype);
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
  Gpu gpu_;
  Gpu::Current current_;
  StencilCompiler compiler_;
  GpuBlas blas_;
  GpuStream stream_;
  GpuEvent start_, stop_;
  Nvml nvml_;
  GpuBuffer a_, b_, c_;
  std::ofstream json_;
  std::vector<Stream> streams_[2];
  std::optional<DType> filled_;
};

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  try {
    tilewright::bench::Bench(tilewright::bench::parse(argc, argv)).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gemm_small: %s\n", error.what());
    return 1;
  }
  return 0;
}
