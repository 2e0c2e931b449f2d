// The device's side of the large GEMM programs.
#include "gemm_large_device.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "core/build_info.hpp"
#include "core/dispatch.hpp"
#include "core/env.hpp"
#include "measure/gpu/observer.hpp"
#include "tune/family/gemm_large.hpp"
#include "wisdom/families.hpp"
#include "work_sharing.hpp"

namespace tilewright::bench {

GemmProblem large_problem(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                          const std::string& ops) {
  if (ops.size() != 2)
    throw Error(ErrorCode::invalid_argument, "--op",
                fmt::format("--op = '{}': two letters of n, t, c are wanted, such as nt", ops));
  GemmProblem p;
  p.dtype = dtype;
  p.m = m;
  p.n = n;
  p.k = k;
  p.op_a = enum_from_string<Op>(ops.substr(0, 1), "--op");
  p.op_b = enum_from_string<Op>(ops.substr(1), "--op");
  p.location = Location::device;
  return packed(p);
}

LargeDevice::LargeDevice(int device, const std::string& share, const std::string& cache)
    : gpu_(device),
      current_(gpu_),
      compiler_(share, cache, Environment::read().nvrtc),
      stream_(gpu_),
      start_(gpu_),
      stop_(gpu_),
      workspace_(gpu_),
      arena_(gpu_, 1 << 20) {
  blas_.set_stream(stream_.get());
  try {
    nvml_ = std::make_unique<Nvml>(gpu_.limits().uuid);
  } catch (const Error& error) {
    nvml_fault_ = error.what();
  }
}

LargeTrial LargeDevice::load(const GemmLargeShape& shape, DType dtype, const GemmLargeConfig& config,
                             const JitBinary& binary) const {
  LargeTrial trial;
  trial.config = config;
  trial.report = stencil_report(binary.log);
  trial.fault = gemm_large_refusal(binary, config, gpu_.limits());
  if (!trial.fault.empty()) return trial;
  try {
    trial.kernel = std::make_shared<GemmLargeKernel>(gpu_, binary, shape, config, dtype);
  } catch (const Error& error) {
    trial.fault = error.what();
  }
  return trial;
}

void LargeDevice::compile_missing(const GemmLargeShape& shape, DType dtype,
                                  const std::vector<GemmLargeConfig>& configs, unsigned threads) {
  std::vector<std::pair<GemmLargeConfig, Compiled*>> missing;
  for (const GemmLargeConfig& config : configs) {
    const std::string key = gemm_large_expression(shape, config, dtype);
    if (compiled_.count(key) != 0 || binaries_.count(key) != 0) continue;
    missing.emplace_back(config, &binaries_[key]);
  }
  share_work(missing.size(), threads, [&](std::size_t i) {
    const auto& [config, to] = missing[i];
    try {
      to->binary = compile_gemm_large(compiler_, shape, config, dtype, gpu_.limits().compute_capability);
    } catch (const std::exception& error) {
      to->fault = error.what();
    }
  });
}

void LargeDevice::compile_ahead(const GemmLargeShape& shape, DType dtype,
                                const std::vector<GemmLargeConfig>& configs) {
  if (ahead_.valid()) ahead_.get();
  // Two cores are left to whoever launches and measures meanwhile.
  const unsigned cores = all_cores(), threads = cores > 2 ? cores - 2 : 1;
  ahead_ = std::async(std::launch::async, [this, shape, dtype, configs, threads] {
    compile_missing(shape, dtype, configs, threads);
  });
}

std::vector<LargeTrial> LargeDevice::compile(const GemmLargeShape& shape, DType dtype,
                                             const std::vector<GemmLargeConfig>& configs) {
  if (ahead_.valid()) ahead_.get();
  compile_missing(shape, dtype, configs, all_cores());
  std::vector<LargeTrial> trials;
  for (const GemmLargeConfig& config : configs) {
    const std::string key = gemm_large_expression(shape, config, dtype);
    auto known = compiled_.find(key);
    if (known == compiled_.end()) {
      const auto made = binaries_.extract(key);
      LargeTrial trial;
      trial.config = config;
      trial.fault = made.mapped().fault;
      if (trial.fault.empty()) trial = load(shape, dtype, config, made.mapped().binary);
      if (!trial.fault.empty())
        std::printf("REFUSED %s: %s\n", describe(config).c_str(), trial.fault.substr(0, 300).c_str());
      known = compiled_.emplace(key, std::move(trial)).first;
    }
    if (known->second.fault.empty()) trials.push_back(known->second);
  }
  return trials;
}

void LargeDevice::prepare(const GemmProblem& p) {
  sampled_.clear();  // the arena may move
  arena_.reserve(gpu_operand_bytes(p));
  arena_.fill(p.dtype);
}

std::function<void()> LargeDevice::ours(const GemmProblem& p, const LargeTrial& trial) {
  GemmLargeOperands o{arena_.a(), arena_.b(), arena_.c()};
  workspace_.provide(*trial.kernel, p, o);
  return [this, p, o, kernel = trial.kernel.get()]() mutable {
    dispatch(p.dtype, [&]<class T>() {
      const T alpha(1), beta(p.beta == Scalar::zero ? 0 : 1);
      o.alpha = &alpha;
      o.beta = &beta;
      kernel->launch(p, o, stream_.get());
    });
  };
}

std::function<void()> LargeDevice::cublas(const GemmProblem& p) {
  return [this, p] {
    dispatch(p.dtype, [&]<class T>() {
      const T alpha(1), beta(p.beta == Scalar::zero ? 0 : 1);
      blas_.multiply(p, {arena_.a(), arena_.b(), arena_.c(), &alpha, &beta});
    });
  };
}

double LargeDevice::time(const std::function<void()>& launch, int count) {
  launch();  // while it runs the host queues the others, so that its own time is not taken for the device's
  start_.record(stream_.get());
  for (int i = 0; i < count; ++i) launch();
  stop_.record(stream_.get());
  stop_.synchronize();
  return stop_.seconds_since(start_) / count;
}

CheckResult LargeDevice::check_small(const SmallCheck& check, const GemmLargeKernel& kernel) {
  const GemmProblem& p = check.batch().one().problem;
  return check.run(GpuMemory(gpu_), [&](const Operands& o) {
    GemmLargeOperands operands{o.a, o.b, o.c, o.alpha, o.beta};
    workspace_.provide(kernel, p, operands);
    kernel.launch(p, operands, nullptr);
  });
}

void LargeDevice::check(const GemmProblem& p, LargeTrial& trial) {
  try {
    const SmallCheck edges(gemm_large_edges(p, trial.kernel->shape(), trial.config));
    const CheckResult small = check_small(edges, *trial.kernel);
    trial.error = small.accuracy.share();
    trial.fault = small.fault;
    if (!trial.fault.empty()) return;
    if (sampled_ != to_string(p)) {
      sample_ = std::make_unique<SampledCheck>(sampled_check(arena_, p, 1, p.beta == Scalar::zero ? 0 : 1));
      sampled_ = to_string(p);
    }
    const Accuracy large = sample_->check(ours(p, trial));
    trial.error = std::max(trial.error, large.share());
    if (!large.passed()) trial.fault = large.fault();
  } catch (const Error& error) {
    trial.fault = error.what();
  }
}

LargeLoad LargeDevice::steady(const std::function<void()>& launch, const GpuLoadWindow& window) {
  GpuObserver observer(gpu_.limits().uuid);
  const auto joules = [this] { return nvml_ == nullptr ? std::nullopt : nvml_->energy_j(); };
  const GpuLoad load = run_steadily(gpu_, stream_, launch, time(launch, 2), window, joules, &observer);
  LargeLoad result;
  result.seconds = estimate(load.batches_s);
  result.mean_s = load.mean_s;
  result.launches = load.launches;
  result.energy = load.energy;
  if (nvml_ == nullptr) result.energy.fault = nvml_fault_;
  observer.report(result.metrics);
  return result;
}

nlohmann::json LargeDevice::metrics(const GemmProblem& p, const LargeTrial* trial) {
  nlohmann::json metrics = nlohmann::json::object();
  const GpuReadings readings = nvml_ == nullptr ? GpuReadings{} : nvml_->read();
  const auto add = [&](const char* key, const auto& value) {
    if (value)
      metrics[key] = *value;
    else
      metrics[key] = nullptr;
  };
  add("clock_mhz", readings.clock_mhz);
  add("memory_clock_mhz", readings.memory_clock_mhz);
  add("power_w", readings.power_w);
  add("temperature_c", readings.temperature_c);
  if (trial != nullptr) {
    const GemmLargeCost cost = gemm_large_cost(p, trial->kernel->shape(), trial->config, gpu_.limits());
    metrics["registers"] = trial->kernel->function().registers();
    metrics["shared_bytes"] = trial->kernel->shared_bytes();
    metrics["blocks_per_multiprocessor"] = trial->kernel->blocks_per_multiprocessor();
    metrics["occupancy"] = double(trial->kernel->blocks_per_multiprocessor()) *
                           gemm_large_threads(trial->config) / gpu_.limits().threads_per_multiprocessor;
    metrics["workspace_bytes"] = trial->kernel->needs(p).workspace_bytes;
    metrics["predicted_cycles"] = {
        {"multiply", cost.multiply}, {"issue", cost.issue}, {"shared", cost.shared}, {"l2", cost.l2},
        {"memory", cost.memory},     {"fixed", cost.fixed}, {"total", cost.cycles()}};
  }
  return metrics;
}

nlohmann::json LargeDevice::row(const GemmProblem& p, const char* impl, const LargeTrial* trial,
                                const char* phase) {
  char now[32];
  const std::time_t time = std::time(nullptr);
  std::strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  nlohmann::json row = {{"family", "gemm"},
                        {"problem", to_string(p)},
                        {"phase", phase},
                        {"dtype", to_string(p.dtype)},
                        {"op", op_pair(p)},
                        {"m", p.m},
                        {"n", p.n},
                        {"k", p.k},
                        {"lda", p.lda},
                        {"ldb", p.ldb},
                        {"ldc", p.ldc},
                        {"layout", "single"},
                        {"batch_count", 1},
                        {"alpha", 1},
                        {"beta", p.beta == Scalar::zero ? 0 : 1},
                        {"residency", "cold"},
                        {"location", "device"},
                        {"target", "gpu"},
                        {"data", "uniform"},
                        {"impl", impl},
                        {"device", gpu_.limits().name},
                        {"device_uuid", gpu_.limits().uuid},
                        {"driver", gpu_.limits().driver_version},
                        {"time", now}};
  if (trial == nullptr) {
    row["impl_version"] = blas_.version();
  } else {
    row["config"] = to_json(trial->config);
    row["source_hash"] = current_source_hash("gemm");
    row["compiler"] = compiler_.provenance();
    row["commit"] = build_commit;
    row["error"] = trial->error;
    row["error_bound"] = 1;
    if (!trial->name.empty()) row["step"] = trial->name;
  }
  row["metrics"] = metrics(p, trial);
  return row;
}

void add_times(nlohmann::json& row, const GemmProblem& p, const Estimate& e) {
  row["seconds"] = e.centre;
  row["seconds_low"] = e.low;
  row["seconds_high"] = e.high;
  row["samples"] = e.samples;
  row["gflops"] = flops(p) / e.centre * 1e-9;
}

void add_energy(nlohmann::json& row, const GemmProblem& p, const LargeLoad& load) {
  const EnergyWindow& e = load.energy;
  auto& metrics = row["metrics"];
  metrics.update(load.metrics);
  metrics["mean_seconds"] = load.mean_s;
  metrics["launches"] = load.launches;
  metrics["energy_edges"] = e.edges;
  if (!e.fault.empty()) {
    row["energy_j"] = row["watts"] = row["gflops_per_watt"] = nullptr;
    row["energy_note"] = e.fault;
    return;
  }
  const double joules = e.watts() * load.mean_s;  // the load is steady: its power times the time of a launch
  row["energy_j"] = joules;
  row["watts"] = e.watts();
  row["gflops_per_watt"] = flops(p) / joules * 1e-9;
  row["window_s"] = e.seconds();
  metrics["energy_error_share"] = e.error_share;
  metrics["energy_unsteady"] = e.unsteady;
}

}  // namespace tilewright::bench
