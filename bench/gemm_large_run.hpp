// What the phases of the large GEMM bench share: the device, compiled kernels, launches of ours and of
// cuBLAS, timing by events, energy by the meter's edges, and rows of JSON.
#pragma once

#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/gpu_blas.hpp"
#include "device/nvml.hpp"
#include "gemm_large_check.hpp"
#include "measure/estimate.hpp"
#include "measure/gpu_energy.hpp"
#include "measure/gpu_ring.hpp"
#include "measure/gpu_sample.hpp"
#include "tune/gpu_check.hpp"
#include "tune/gpu_family_large.hpp"

namespace tilewright::bench {

struct LargeFlags {
  std::vector<std::string> phases = {"variety", "compare", "ladder", "energy"};
  std::vector<DType> dtypes = {DType::f64, DType::f32};
  std::vector<std::string> ops = {"nn", "nt", "tn", "tt"};
  std::vector<GemmProblem> shapes;  // sizes of `compare`, m, n and k alone
  std::size_t configs = 40;         // screened for each case
  std::size_t finalists = 3;        // of ours beside cuBLAS
  int rounds = 11;
  int problems = 40;        // of variety, for each type
  std::size_t sweep = 800;  // configs of the sweep
  double seconds = 540;     // after which nothing new is begun
  double energy_seconds = 8;
  double screen_seconds = 1.5;
  std::vector<std::string> own;  // configs as JSON that `repeat` takes besides the promising ones
  std::string share = "src", cache, json = "gemm_large.jsonl", command;
};
LargeFlags parse_large_flags(int argc, char** argv);

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

class LargeBench {
 public:
  explicit LargeBench(const LargeFlags& flags);
  void run();

 private:
  void run_variety();
  void variety_problem(DType dtype, unsigned seed, std::size_t& right, std::size_t& wrong);
  void run_repeat();
  void repeat_case(const GemmProblem& problem);
  void run_compare();
  void compare_case(const GemmProblem& problem, std::vector<GemmLargeConfig>& winners);
  void run_ladder();
  void run_energy();
  void energy_case(const GemmProblem& problem);
  void run_sweep();

  // Kernels of `configs` for a shape, compiled on all cores, refused where the compiler spilled.
  std::vector<LargeTrial> compile(const GemmLargeShape& shape, DType dtype,
                                  const std::vector<GemmLargeConfig>& configs);
  GpuCheckResult check_small(const GpuCheck& check, const GemmLargeKernel& kernel);
  // Drops trials that are wrong: on a small problem with edges, and at sampled elements of `problem`.
  void check(const GemmProblem& problem, std::vector<LargeTrial>& trials);
  // One or two launches of each, the fastest first.
  void screen(const GemmProblem& problem, std::vector<LargeTrial>& trials);

  void prepare(const GemmProblem& problem);
  std::function<void()> ours(const GemmProblem& problem, const LargeTrial& trial);
  std::function<void()> cublas(const GemmProblem& problem);
  // Seconds of one of `count` launches in a row.
  double time(const std::function<void()>& launch, int count);
  GpuEnergyWindow energy(const std::function<void()>& launch, double seconds);

  nlohmann::json row(const GemmProblem& problem, const char* impl, const LargeTrial* trial,
                     const char* phase);
  nlohmann::json metrics(const GemmProblem& problem, const LargeTrial* trial);
  void add_times(nlohmann::json& row, const GemmProblem& problem, std::vector<double> samples);
  void write(const nlohmann::json& row);
  bool late(const std::string& left_out);

  LargeFlags flags_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Gpu gpu_;
  Gpu::Current current_;
  StencilCompiler compiler_;
  GpuBlas blas_;
  GpuStream stream_;
  GpuEvent start_, stop_;
  Nvml nvml_;
  GemmLargeScratch workspace_;
  GpuArena arena_;
  std::map<std::string, LargeTrial> compiled_;
  std::ofstream json_;
};

// n x n x n, with the operation pair "nt" etc.
GemmProblem large_problem(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                          const std::string& ops);

}  // namespace tilewright::bench
