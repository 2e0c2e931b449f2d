// A device with everything that programs measuring large GEMM need of it: compiled kernels, launches of ours
// and of cuBLAS on shared operands, checks, times by events, energy by the meter's edges, and rows of JSON.
// Which configs are measured, when and for how long is the programs' business.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/gpu/blas.hpp"
#include "device/gpu/nvml.hpp"
#include "gemm_large_check.hpp"
#include "measure/estimate.hpp"
#include "measure/gpu/check.hpp"
#include "measure/gpu/energy.hpp"
#include "measure/gpu/ring.hpp"

namespace tilewright::bench {

// A config with what became of it.
struct LargeTrial {
  GemmLargeConfig config;
  std::shared_ptr<GemmLargeKernel> kernel;
  StencilReport report;
  std::string fault;
  double error = 0;
  double seconds = 1e30;
  std::string name;  // of a step of the ladder
};

// What a steady load took.
struct LargeLoad {
  Estimate seconds;        // of one launch, from batches of some milliseconds
  double mean_s = 0;       // of one launch, all of the window
  double launches = 0;     // in the window
  EnergyWindow energy;     // with its fault where there is none
  nlohmann::json metrics;  // of the observers
};

class LargeDevice {
 public:
  LargeDevice(int device, const std::string& share, const std::string& cache);

  const Gpu& gpu() const { return gpu_; }
  const StencilCompiler& compiler() const { return compiler_; }
  // Null with the reason in nvml_fault() where NVML is missing.
  const Nvml* nvml() const { return nvml_.get(); }
  const std::string& nvml_fault() const { return nvml_fault_; }
  const GpuArena& arena() const { return arena_; }

  // Kernels of `configs` for a shape, compiled on all cores, refused where the compiler spilled.
  std::vector<LargeTrial> compile(const GemmLargeShape& shape, DType dtype,
                                  const std::vector<GemmLargeConfig>& configs);
  // Begins to compile what a later compile() asks for, on most of the cores while others measure.
  void compile_ahead(const GemmLargeShape& shape, DType dtype, const std::vector<GemmLargeConfig>& configs);
  // One kernel, which nothing here keeps; `fault` says why there is none.
  LargeTrial load(const GemmLargeShape& shape, DType dtype, const GemmLargeConfig& config,
                  const JitBinary& binary) const;
  // Every element of a small problem through `kernel`.
  CheckResult check_small(const SmallCheck& check, const GemmLargeKernel& kernel);
  // Sets `fault` of a trial that is wrong: on a small problem with edges, or at sampled elements of
  // `problem`.
  void check(const GemmProblem& problem, LargeTrial& trial);

  // Operands that are large enough for `problem`.
  void prepare(const GemmProblem& problem);
  std::function<void()> ours(const GemmProblem& problem, const LargeTrial& trial);
  std::function<void()> cublas(const GemmProblem& problem);
  // Seconds of one of `count` launches in a row.
  double time(const std::function<void()>& launch, int count);
  // Runs it without pauses until the window is full. Where the counter does not answer or stands still, the
  // window ends by the clock and has a time only.
  LargeLoad steady(const std::function<void()>& launch, const GpuLoadWindow& window);

  nlohmann::json row(const GemmProblem& problem, const char* impl, const LargeTrial* trial,
                     const char* phase);

 private:
  struct Compiled {
    JitBinary binary;
    std::string fault;
  };

  nlohmann::json metrics(const GemmProblem& problem, const LargeTrial* trial);
  // Those of `configs` that are not there yet, on so many threads.
  void compile_missing(const GemmLargeShape& shape, DType dtype, const std::vector<GemmLargeConfig>& configs,
                       unsigned threads);

  Gpu gpu_;
  Gpu::Current current_;
  StencilCompiler compiler_;
  GpuBlas blas_;
  GpuStream stream_;
  GpuEvent start_, stop_;
  std::unique_ptr<Nvml> nvml_;
  std::string nvml_fault_;
  GemmLargeScratch workspace_;
  GpuArena arena_;
  std::map<std::string, Compiled> binaries_;  // not loaded yet
  std::map<std::string, LargeTrial> compiled_;
  std::future<void> ahead_;               // who fills `binaries_`: until then both maps are its own
  std::unique_ptr<SampledCheck> sample_;  // of the problem that was checked last
  std::string sampled_;
};

void add_times(nlohmann::json& row, const GemmProblem& problem, const Estimate& seconds);
// `energy_j`, `watts`, `gflops_per_watt` and `window_s`, or null with `energy_note`.
void add_energy(nlohmann::json& row, const GemmProblem& problem, const LargeLoad& load);

// m x n x k with the operation pair "nt" etc.
GemmProblem large_problem(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                          const std::string& ops);

}  // namespace tilewright::bench
