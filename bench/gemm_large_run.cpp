// The parts that all phases of the large GEMM bench use.
#include "gemm_large_run.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdio>
#include <ctime>
#include <thread>

#include "core/dispatch.hpp"
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

LargeBench::LargeBench(const LargeFlags& flags)
    : flags_(flags),
      gpu_(0),
      current_(gpu_),
      compiler_(flags.share, flags.cache),
      stream_(gpu_),
      start_(gpu_),
      stop_(gpu_),
      nvml_(gpu_.limits().uuid),
      workspace_(gpu_),
      arena_(gpu_, 1 << 20),
      json_(flags.json, std::ios::app) {
  blas_.set_stream(stream_.get());
  write({{"command", flags.command}, {"device", gpu_.limits().name}, {"device_uuid", gpu_.limits().uuid}});
}

bool LargeBench::late(const std::string& left_out) {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (elapsed < flags_.seconds) return false;
  std::printf("LATE after %.0f s: %s left out\n", elapsed, left_out.c_str());
  return true;
}

void LargeBench::write(const nlohmann::json& row) {
  json_ << row.dump() << std::endl;
  if (!json_) throw Error(ErrorCode::io, "json", fmt::format("'{}' cannot be written", flags_.json));
}

std::vector<LargeTrial> LargeBench::compile(const GemmLargeShape& shape, DType dtype,
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
        trials[i].report = stencil_report(binaries[i].log);
        trials[i].fault = gemm_large_refusal(binaries[i], configs[i], gpu_.limits());
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
    if (trials[i].fault.empty()) try {
        trials[i].kernel = std::make_shared<GemmLargeKernel>(gpu_, binaries[i], shape, configs[i], dtype);
      } catch (const Error& error) {
        trials[i].fault = error.what();
      }
    if (!trials[i].fault.empty())
      std::printf("REFUSED %s: %s\n", describe(configs[i]).c_str(), trials[i].fault.substr(0, 300).c_str());
    compiled_[key(configs[i])] = trials[i];
  }
  std::erase_if(trials, [](const LargeTrial& trial) { return !trial.fault.empty(); });
  return trials;
}

void LargeBench::prepare(const GemmProblem& p) {
  arena_.reserve(gpu_operand_bytes(p));
  arena_.fill(p.dtype);
}

std::function<void()> LargeBench::ours(const GemmProblem& p, const LargeTrial& trial) {
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

std::function<void()> LargeBench::cublas(const GemmProblem& p) {
  return [this, p] {
    dispatch(p.dtype, [&]<class T>() {
      const T alpha(1), beta(p.beta == Scalar::zero ? 0 : 1);
      blas_.multiply(p, {arena_.a(), arena_.b(), arena_.c(), &alpha, &beta});
    });
  };
}

double LargeBench::time(const std::function<void()>& launch, int count) {
  launch();  // while it runs the host queues the others, so that its own time is not taken for the device's
  start_.record(stream_.get());
  for (int i = 0; i < count; ++i) launch();
  stop_.record(stream_.get());
  stop_.synchronize();
  return stop_.seconds_since(start_) / count;
}

// A small problem with edges through `kernel`, every element.
GpuCheckResult LargeBench::check_small(const GpuCheck& check, const GemmLargeKernel& kernel) {
  return check.check([&](const Operands& o) {
    GemmLargeOperands operands{o.a, o.b, o.c, o.alpha, o.beta};
    workspace_.provide(kernel, check.problem(), operands);
    kernel.launch(check.problem(), operands, nullptr);
  });
}

void LargeBench::check(const GemmProblem& p, std::vector<LargeTrial>& trials) {
  const GpuSample sample(arena_, p, 1, p.beta == Scalar::zero ? 0 : 1);
  for (LargeTrial& trial : trials) {
    try {
      const GpuCheckResult small = check_small(
          GpuCheck(gpu_, gemm_large_edges(p, trial.kernel->shape(), trial.config)), *trial.kernel);
      trial.error = small.error;
      trial.fault = small.fault;
      if (trial.fault.empty()) {
        const Accuracy large = sample.check(ours(p, trial));
        trial.error = std::max(trial.error, large.error);
        if (!large.passed()) trial.fault = fmt::format("error {:.3g} times its bound", large.error);
      }
    } catch (const Error& error) {
      trial.fault = error.what();
    }
    if (!trial.fault.empty())
      std::printf("WRONG %s | %s: %s\n", to_string(p).c_str(), describe(trial.config).c_str(),
                  trial.fault.c_str());
  }
  std::erase_if(trials, [](const LargeTrial& trial) { return !trial.fault.empty(); });
}

void LargeBench::screen(const GemmProblem& p, std::vector<LargeTrial>& trials) {
  const double guess = flops(p) / 40e12;
  const int count = std::max(1, static_cast<int>(0.002 / guess));
  for (LargeTrial& trial : trials) {
    const auto launch = ours(p, trial);
    time(launch, 1);
    trial.seconds = std::min(time(launch, count), time(launch, count));
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [](const LargeTrial& x, const LargeTrial& y) { return x.seconds < y.seconds; });
}

GpuEnergyWindow LargeBench::energy(const std::function<void()>& launch, double seconds) {
  return gpu_energy_window(
      gpu_, stream_, [&] { return nvml_.energy_j(); }, launch, time(launch, 2), seconds);
}

nlohmann::json LargeBench::metrics(const GemmProblem& p, const LargeTrial* trial) {
  nlohmann::json metrics = nlohmann::json::object();
  const GpuReadings readings = nvml_.read();
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
    metrics["registers"] = trial->report.registers;
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

nlohmann::json LargeBench::row(const GemmProblem& p, const char* impl, const LargeTrial* trial,
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
                        {"driver", nvml_.driver_version()},
                        {"time", now}};
  if (trial == nullptr) {
    row["impl_version"] = blas_.version();
  } else {
    row["config"] = to_json(trial->config);
    row["source_hash"] = current_source_hash("gemm");
    row["compiler"] = "nvrtc " + compiler_.nvrtc().version();
    row["error"] = trial->error;
    row["error_bound"] = 1;
    if (!trial->name.empty()) row["step"] = trial->name;
  }
  row["metrics"] = metrics(p, trial);
  return row;
}

void LargeBench::add_times(nlohmann::json& row, const GemmProblem& p, std::vector<double> samples) {
  const Estimate e = estimate(std::move(samples));
  row["seconds"] = e.centre;
  row["seconds_low"] = e.low;
  row["seconds_high"] = e.high;
  row["samples"] = e.samples;
  row["gflops"] = flops(p) / e.centre * 1e-9;
}

}  // namespace tilewright::bench
