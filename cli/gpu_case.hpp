// One case of a bench on the GPU in device memory: batches that are walked in turn through operands of at
// least 1 GiB, arrays of pointers where the layout has them, the bytes that must move, and the check of what
// an implementation wrote.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench_cases.hpp"
#include "core/problem.hpp"
#include "gemm/device_traffic.hpp"
#include "measure/gpu/check.hpp"
#include "measure/gpu/pointers.hpp"
#include "measure/gpu/ring.hpp"

namespace tilewright::cli {

class GpuCase {
 public:
  // A large problem makes the arena grow. Throws Error naming the flag where its operands do not fit.
  GpuCase(GpuArena& arena, const BenchCase& bench_case);

  const GemmProblem& problem() const { return case_.problem; }
  std::int64_t batches() const { return ring_->batches(); }
  // Addresses of one batch; the arrays of pointers for a pointer batch.
  Operands batch(std::int64_t index) const {
    return case_.problem.layout == Layout::pointer ? pointers_->at(index) : in_place(index);
  }
  // The same batch at its base addresses, and as arrays of pointers, for peers that take nothing else.
  Operands in_place(std::int64_t index) const { return ring_->at(index); }
  Operands pointers_to(std::int64_t index);

  // Runs it once on the first batch; the error of some problems, the first and the last among them, or of
  // some elements of large ones. Throws what `run` throws.
  Accuracy check(const std::function<void()>& run) const { return check_->check(run); }

 private:
  GpuArena& arena_;
  BenchCase case_;
  std::optional<GpuRing> ring_;
  std::optional<SampledCheck> check_;
  std::optional<GpuPointers> pointers_;
  std::vector<std::int64_t> order_;
};

}  // namespace tilewright::cli
