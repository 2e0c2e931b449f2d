// `bench gemm_small` and `bench gemm`: batches of small matrices and single large ones on the GPU beside
// cuBLAS, with the streaming and multiply-add loops that bound them, all interleaved in one run and timed by
// the device's events. Builds without GPU sources refuse them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench_run.hpp"

namespace tilewright::cli {

// cublas_strided, cublas_pointer and cublas_grouped of gemm_small; cublas of gemm.
std::vector<std::string> gpu_peer_names(const std::string& family);

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

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::cli
