// `bench gemm_small`: batched small GEMM on the GPU beside cuBLAS, with the streaming and multiply-add loops
// that bound it, all interleaved in one run and timed by the device's events. Builds without GPU sources
// refuse it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench_run.hpp"

namespace tilewright::cli {

// cublas_strided, cublas_pointer, cublas_grouped.
std::vector<std::string> gpu_peer_names();

// How many problems like this fit operands of so many bytes.
std::int64_t gpu_batch_count(const GemmProblem& problem, std::size_t operand_bytes);

class GpuBenchMachine {
 public:
  // Throws Error(unsupported) where there is no GPU, with the reason.
  explicit GpuBenchMachine(const BenchPlan& plan);
  ~GpuBenchMachine();

  // What is there and what is not, a line each.
  std::vector<std::string> describe() const;
  // Compiles what all of these need, on every core.
  void prepare(const std::vector<BenchCase>& cases);
  // Checks everybody, then times them; with `check_only` nothing is timed. Throws JobFailed when ours is
  // wrong.
  CaseResult run(const BenchCase& bench_case, bool check_only);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::cli
