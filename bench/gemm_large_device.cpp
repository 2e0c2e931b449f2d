// The device's side of the large GEMM programs.
#include "gemm_large_device.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <thread>

#include "core/build_info.hpp"
#include "core/dispatch.hpp"
#include "core/env.hpp"
#include "measure/clock.hpp"
#include "measure/gpu_observer.hpp"
#include "measure/gpu_steady_load.hpp"
#include "wisdom/families.hpp"

namespace tilewright::bench {

GemmProblem large_problem(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                          const std::string& ops) {
  const auto op = [](char c) { return c == 'n' ? Op::none : c == 't' ? Op::trans : Op::conj_trans; };
  GemmProblem p;
  p.dtype = dtype;
  p.m = m;
  p.n = n;
  p.k = k;
  p.op_a = op(ops.at(0));
  p.op_b = op(ops.at(1));
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
      workspace_(gpu_) {
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
  trial.fault = gemm_large_refusal(binary);
  if (!trial.fault.empty()) return trial;
  try {
    trial.kernel = std::make_shared<GemmLargeKernel>(gpu_, binary, shape, config, dtype);
  } catch (const Error& error) {
    trial.fault = error.what();
  }
  return trial;
}

std::vector<LargeTrial> LargeDevice::compile(const GemmLargeShape& shape, DType dtype,
                                             const std::vector<GemmLargeConfig>& configs) {
  std::vector<LargeTrial> trials(configs.size());
  std::atomic<std::size_t> next = 0;
  std::vector<JitBinary> binaries(configs.size());
  const auto key = [&](const GemmLargeConfig& c) { return gemm_large_expression(shape, c, dtype); };
  const auto work = [&] {
    for (std::size_t i = next++; i < configs.size(); i = next++) {
      trials[i].config = configs[i];
      if (compiled_.count(key(configs[i])) != 0) continue;
      try {
        binaries[i] =
            compile_gemm_large(compiler_, shape, configs[i], dtype, gpu_.limits().compute_capability);
      } catch (const std::exception& error) {
        trials[i].fault = error.what();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto known = compiled_.find(key(configs[i]));
    if (known != compiled_.end()) {
      trials[i] = known->second;
      continue;
    }
    if (trials[i].fault.empty()) trials[i] = load(shape, dtype, configs[i], binaries[i]);
    if (!trials[i].fault.empty())
      std::printf("REFUSED %s: %s\n", describe(configs[i]).c_str(), trials[i].fault.substr(0, 300).c_str());
    compiled_[key(configs[i])] = trials[i];
  }
  std::erase_if(trials, [](const LargeTrial& trial) { return !trial.fault.empty(); });
  return trials;
}

void LargeDevice::prepare(const GemmProblem& p) {
  const auto bytes =
      static_cast<std::size_t>(std::max({p.lda * p.a_cols(), p.ldb * p.b_cols(), p.ldc * p.n})) *
      size_bytes(p.dtype);
  if (!pool_ || pool_->bytes_each() < bytes) {
    pool_.reset();
    pool_ = std::make_unique<LargeOperandPool>(gpu_, bytes);
    filled_.reset();
  }
  if (filled_ != p.dtype) pool_->fill(p.dtype);
  filled_ = p.dtype;
}

std::function<void()> LargeDevice::ours(const GemmProblem& p, const LargeTrial& trial) {
  GemmLargeOperands o = pool_->operands();
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
  const GemmLargeOperands o = pool_->operands();
  return [this, p, o] {
    dispatch(p.dtype, [&]<class T>() {
      const T alpha(1), beta(p.beta == Scalar::zero ? 0 : 1);
      blas_.gemm({p.dtype, p.op_a, p.op_b, int(p.m), int(p.n), int(p.k), &alpha, o.a, int(p.lda), 0, o.b,
                  int(p.ldb), 0, &beta, o.c, int(p.ldc), 0, 1});
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

void LargeDevice::check(const GemmProblem& p, LargeTrial& trial) {
  LargeCheck small, large;
  try {
    LargeChecker checker(gpu_, workspace_, edge_case(p, trial.kernel->shape(), trial.config), 5);
    small = checker.check(*trial.kernel);
    if (small.fault.empty()) {
      pool_->poison();
      ours(p, trial)();
      gpu_.synchronize();
      large = pool_->sample(p);
    }
  } catch (const Error& error) {
    large.fault = error.what();
  }
  trial.error = std::max(small.error, large.error);
  trial.fault = small.fault.empty() ? large.fault : small.fault;
}

namespace {

// The times of one launch in each batch, and all of them together.
void add_batches(const std::vector<double>& batches_s, int count, LargeLoad& load) {
  double sum = 0;
  for (const double seconds : batches_s) sum += seconds;
  load.launches = double(batches_s.size()) * count;
  load.mean_s = sum / double(batches_s.size());
  load.seconds = estimate(batches_s);
}

}  // namespace

LargeLoad LargeDevice::steady(const std::function<void()>& launch, const LargeWindow& window) {
  // Batches of some milliseconds, so that the host is asked often and the device never waits for it.
  const int count = std::clamp(static_cast<int>(0.005 / time(launch, 2)), 1, 256);
  GpuObserver observer(gpu_.limits().uuid);
  LargeLoad result;
  GpuSteadyLoad load(gpu_, stream_, launch, count);
  std::atomic<bool> warm = false;
  std::optional<EnergyPoll> poll(
      std::in_place, [this] { return nvml_ == nullptr ? std::nullopt : nvml_->energy_j(); },
      [&] {
        if (warm) observer.during();
      });
  for (const double begin = wall_seconds(); wall_seconds() - begin < window.heat_s;) load.step();
  observer.before();
  warm = true;
  const double begin = wall_seconds();
  // One more edge than the window has tenths of a second: it begins with the first.
  const double longest = 2 * window.window_s + 0.5;
  std::vector<double> batches_s;
  for (double last = begin;;) {
    load.step();
    const double now = wall_seconds();
    batches_s.push_back((now - last) / count);
    last = now;
    const EnergyWindow so_far = energy_between_edges(poll->seen(), begin, window.least_edges);
    const bool full = so_far.fault.empty() && so_far.seconds() >= window.window_s;
    const bool silent = now - begin >= window.window_s && poll->edges_since(begin) == 0;
    if (full || silent || now - begin >= longest) break;
  }
  result.energy = energy_between_edges(poll->seen(), begin, window.least_edges);
  poll.reset();  // its thread uses the observer
  if (nvml_ == nullptr) result.energy.fault = nvml_fault_;
  add_batches(batches_s, count, result);
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
    metrics["predicted_cycles"] = {{"multiply", cost.multiply}, {"issue", cost.issue},
                                   {"shared", cost.shared},     {"l2", cost.l2},
                                   {"memory", cost.memory},     {"fixed", cost.fixed}};
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
    row["compiler"] = compiler_.nvrtc().version();
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
