// Compiles configs of coming cases on all cores while the device works on earlier ones.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "gemm_small_cases.hpp"
#include "kernel/gemm_small/loader.hpp"
#include "measure/estimate.hpp"

namespace tilewright::bench {

struct Trial {
  GemmSmallConfig config;
  JitBinary binary;
  std::string fault;
  std::unique_ptr<GemmSmallKernel> kernel;
  double error = 0;
  Estimate screened = {};  // of one launch
};

// A case with its configs; `left` counts those that are not compiled.
struct Job {
  NamedCase named;
  GemmSmallShape shape;
  std::vector<Trial> trials;
  std::size_t left = 0;
  std::optional<GemmSmallConfig> base = {};  // that trials differ from in one axis
};

class CompilePool {
 public:
  // Jobs are compiled in their order. `ahead` bounds how many jobs wait compiled, which bounds memory.
  CompilePool(const StencilCompiler& compiler, int compute_capability, std::deque<Job>& jobs,
              std::size_t ahead);
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  // Waits until job `index` is compiled, and lets the pool go on to later ones.
  Job& take(std::size_t index);

 private:
  struct Piece {
    std::size_t job, trial;
  };
  void work();
  bool next(Piece& piece);

  const StencilCompiler& compiler_;
  int compute_capability_;
  std::deque<Job>& jobs_;
  std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t taken_ = 0, next_job_ = 0, next_trial_ = 0;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tilewright::bench
