// Keys and values.
#include "gemm_small_rows.hpp"

#include <ctime>

#include "wisdom/families.hpp"

namespace tilewright::bench {
namespace {

nlohmann::json case_row(const NamedCase& named, const std::string& impl) {
  const GemmProblem& p = named.one.problem;
  const bool pointers = p.layout == Layout::pointer || p.layout == Layout::variable;
  nlohmann::json order = nullptr;
  if (pointers) order = "random";
  return {{"family", "gemm_small"},
          {"group", named.group},
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
          {"scalars_vary", named.one.scalars_vary},
          {"smallest", named.one.smallest},
          {"square", named.one.square},
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

std::string now() {
  char text[32];
  const std::time_t time = std::time(nullptr);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  return text;
}

// What is known of a loaded kernel, and what was expected of it.
nlohmann::json metrics_of(const Job& job, const Trial& trial, const GpuLimits& limits) {
  const GemmProblem& p = job.named.one.problem;
  const StencilReport report = stencil_report(trial.binary.log);
  const GemmSmallCost cost = gemm_small_cost(job.shape, trial.config, p.dtype);
  return {
      {"registers", report.registers},
      {"spill_bytes", report.spill_bytes},
      {"shared_bytes", trial.kernel->shared_bytes()},
      {"blocks_per_multiprocessor", trial.kernel->blocks_per_multiprocessor()},
      {"predicted_cycles", {{"shared", cost.shared}, {"issue", cost.issue}, {"multiply", cost.multiply}}},
      {"forecast", gemm_small_forecast(job.shape, trial.config, p.dtype, limits, cost, forecast_count(p))}};
}

}  // namespace

std::int64_t forecast_count(const GemmProblem& p) { return p.batch_count <= few ? p.batch_count : 0; }

nlohmann::json SmallRows::row(const Job& job, const std::string& impl, const Estimate& e) const {
  nlohmann::json row = case_row(job.named, impl);
  row["seconds"] = e.centre;
  row["seconds_low"] = e.low;
  row["seconds_high"] = e.high;
  row["samples"] = e.samples;
  row["energy_j"] = row["watts"] = row["gflops_per_watt"] = nullptr;
  row["energy_note"] = "a case is shorter than the meter's update";
  row["device"] = gpu_.limits().name;
  row["device_uuid"] = gpu_.limits().uuid;
  row["driver"] = nvml_.driver_version();
  row["time"] = now();
  return row;
}

nlohmann::json SmallRows::ours(const Job& job, const Trial& trial, const Estimate& e) const {
  nlohmann::json row = this->row(job, "tilewright", e);
  row["config"] = to_json(trial.config);
  row["source_hash"] = current_source_hash("gemm_small");
  row["compiler"] = "nvrtc " + compiler_.provenance();
  row["error"] = trial.error;
  row["error_bound"] = 1;
  row["metrics"] = metrics_of(job, trial, gpu_.limits());
  return row;
}

nlohmann::json SmallRows::peer(const Job& job, const std::string& name, const Estimate& e) const {
  nlohmann::json row = this->row(job, name, e);
  row["impl_version"] = blas_.version();
  return row;
}

void SmallRows::add_bound(nlohmann::json& row, const SmallBound& bound) {
  const double seconds = row.at("seconds");
  row["gflops"] = bound.flops / seconds * 1e-9;
  row["bound_gflops"] = bound.flops / bound.seconds() * 1e-9;
  row["bound_share"] = bound.seconds() / seconds;
  row["bound_kind"] = "memory";
  row["ceiling"] = bound.ceiling;
  if (bound.gather_s == 0) return;
  row["metrics"]["gather_gbs"] = bound.bytes / bound.gather_s * 1e-9;
  row["metrics"]["gather_share"] = bound.gather_s / seconds;
}

void SmallRows::add_ratio(nlohmann::json& row, const std::string& peer, const Estimate& ratio) {
  row["metrics"]["paired_ratio"] = {{"impl", peer},
                                    {"centre", ratio.centre},
                                    {"low", ratio.low},
                                    {"high", ratio.high},
                                    {"samples", ratio.samples}};
}

void SmallRows::add_state(nlohmann::json& row, const SmallBound& bound) const {
  nlohmann::json& metrics = row["metrics"];
  metrics["streaming_gbs"] = bound.ceilings;
  const GpuReadings readings = nvml_.read();
  if (readings.clock_mhz) metrics["clock_mhz"] = *readings.clock_mhz;
  if (readings.memory_clock_mhz) metrics["memory_clock_mhz"] = *readings.memory_clock_mhz;
  if (readings.temperature_c) metrics["temperature_c"] = *readings.temperature_c;
}

nlohmann::json SmallRows::fault(const Job& job, const Trial& trial) {
  return {{"fault", trial.fault},
          {"problem", to_string(job.named.one.problem)},
          {"shape", to_json(job.shape)},
          {"config", to_json(trial.config)}};
}

nlohmann::json SmallRows::launch(const Job& job, const std::string& impl, std::size_t position,
                                 double bound_bytes, const Trial* trial) {
  const GemmProblem& p = job.named.one.problem;
  nlohmann::json row{{"order", position},
                     {"impl", impl},
                     {"problem", to_string(p)},
                     {"dtype", to_string(p.dtype)},
                     {"layout", to_string(p.layout)},
                     {"n", p.n},
                     {"beta", p.beta == Scalar::zero ? 0 : 1},
                     {"bound_bytes", bound_bytes}};
  if (trial == nullptr) return row;
  const GpuLaunch launch = trial->kernel->geometry(p.batch_count);
  row["config"] = to_json(trial->config);
  row["blocks"] = launch.blocks;
  row["threads"] = launch.threads;
  return row;
}

}  // namespace tilewright::bench
