// One case of `bench gemm_small` in device memory: batches that are walked in turn through operands of at
// least 1 GiB, arrays of pointers where the layout has them, the bytes that must move, and the check of what
// an implementation wrote.
#pragma once

#include <memory>
#include <vector>

#include "bench_cases.hpp"
#include "core/problem.hpp"
#include "kernel/gpu_stream.hpp"
#include "measure/accuracy.hpp"
#include "measure/gpu_arena.hpp"

namespace tilewright::cli {

// Bytes in whole sectors of 32 that the batch must touch, reads and writes, and its pointers; and what of it
// streams through A, B and C.
struct GpuTraffic {
  double bytes = 0;
  GpuStreamMix mix;
};
GpuTraffic gpu_traffic(const GemmProblem& problem);

class GpuCase {
 public:
  GpuCase(GpuArena& arena, const BenchCase& bench_case);

  const GemmProblem& problem() const { return case_.problem; }
  std::int64_t batches() const { return batches_; }
  // Addresses of one batch; the arrays of pointers for a pointer batch.
  Operands batch(std::int64_t index) const {
    return case_.problem.layout == Layout::pointer ? arrays(index) : in_place(index);
  }
  // The same batch at its base addresses, and as arrays of pointers, for peers that take nothing else.
  Operands in_place(std::int64_t index) const;
  Operands pointers_to(std::int64_t index);

  // Runs it once on the first batch; the error of some problems, the first and the last among them. Throws
  // what `run` throws.
  template <class F>
  Accuracy check(F&& run) {
    put_back();
    run();
    return compare();
  }

 private:
  void choose();
  void put_back();
  Accuracy compare();
  void make_pointers();
  Operands arrays(std::int64_t index) const;

  GpuArena& arena_;
  BenchCase case_;
  std::int64_t batches_ = 1;
  std::int64_t a_bytes_ = 0, b_bytes_ = 0, c_bytes_ = 0;  // of one batch
  bool has_pointers_ = false;
  std::vector<std::int64_t> chosen_, order_;
  GemmProblem sample_;  // the chosen problems on the host
  std::vector<std::byte> sample_a_, sample_b_, sample_c_, first_c_;
  std::unique_ptr<AccuracyCheck> accuracy_;
};

}  // namespace tilewright::cli
