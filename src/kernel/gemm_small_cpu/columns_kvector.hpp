// Several k steps side by side in a vector (config.k_per_vector), for short columns and long k: if a packed
// column of A has 16 or 32 bytes, a 512-bit load holds 2 or 4 steps, whose sums are added at the end. Real
// types, AVX-512, A and B as stored, alpha = 1, beta = 0 or 1.
#pragma once

#include <string>

#include "kernel/gemm_small_cpu/kernel.hpp"
#include "kernel/gemm_small_cpu/prefetch_stream.hpp"
#include "kernel/jit/x86.hpp"

namespace tilewright::columns {

// Returns the steps of k per vector, or 0 with the reason why the kernel cannot serve the problem.
int k_steps_per_vector(const GemmProblem& problem, Isa isa, std::string* reason = nullptr);

class KVectorGenerator : public JitCode {
 public:
  KVectorGenerator(const GemmProblem& problem, const GemmSmallCpuConfig& config);
  void generate();

 private:
  void prologue();
  void group(std::int64_t p, std::int64_t index, bool masked);
  void spread_lanes(const Xbyak::Zmm& to, const Xbyak::Address& from);
  void reduce_and_store();
  void prefetch();
  void constants();
  Xbyak::Zmm accumulator(std::int64_t set, std::int64_t col) const;
  bool f64() const { return problem_.dtype == DType::f64; }

  GemmProblem problem_;
  GemmSmallCpuConfig config_;
  std::int64_t real_bytes_, steps_, sets_;
  PrefetchStream streams_[3];
  std::int64_t fetched_[3] = {};
  Xbyak::Label control_data_;
};

}  // namespace tilewright::columns
