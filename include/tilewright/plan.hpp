// Plans: what runs a problem, decided once and run many times, and why it was chosen. gemm.hpp includes this
// header.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tilewright/context.hpp"
#include "tilewright/options.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {
inline namespace v0_2 {

// The decision about what runs a problem, reused. A plan is immutable and may be run by several threads
// at once on different operands; it keeps what it needs of its Context alive.
class GemmPlan {
 public:
  const GemmProblem& problem() const noexcept;
  // The candidates in order with the reason each declined, the config, the wisdom match, the bound.
  std::string explain() const;
  // The name of the one that serves it, such as gemm_small_cpu, cblas or hybrid.
  const std::string& candidate() const noexcept;
  // True if GPUs compute, alone or beside the CPU.
  bool uses_gpus() const noexcept;
  // Seconds of one run by the models of this machine; none if they say nothing of it.
  std::optional<double> predicted_s() const;

  /// C = alpha * op(A) * op(B) + beta * C of the planned problem.
  /// Runs on operands with the plan's description: base addresses (single, strided, interleaved) ... On a GPU
  /// the work is queued on `stream` and nothing is waited for, allocated or compiled, so that it can be
  /// captured in a CUDA graph. A graph holds no kernels: the plan must outlive the last launch of the graph
  /// that captured it.
  /// @par Memory As gemm(). @par Threads Any number may run one plan at once, on different C.
  /// @throws Error invalid_argument for another element type, a null address or an alignment that the plan
  ///   does not allow, before anything is written or queued.
  template <class T>
  void run(BatchScalar<Same<T>> alpha, const T* a, const T* b, BatchScalar<Same<T>> beta, T* c,
           CUstream_st* stream = nullptr) const;
  // ... or arrays of pointers (pointer batch). Null base addresses are refused; single pointers are not
  // checked here. Values of alpha and beta per problem lie where the operands do; on a GPU the plan must have
  // been made for them (GemmOptions::alpha_varies).
  template <class T>
  void run(BatchScalar<Same<T>> alpha, const T* const* a, const T* const* b, BatchScalar<Same<T>> beta,
           T* const* c, CUstream_st* stream = nullptr) const;

  struct Impl;

 private:
  friend struct Access;
  explicit GemmPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace v0_2

/// Decides what runs a problem, and makes it ready: a single product or a strided, pointer or interleaved
/// batch; on a GPU also a variable batch, whose plan gemm_variable() then finds.
/// @par Memory No operand is needed. The plan is the caller's and may outlive the Context.
/// @par Threads Any number may make plans with one Context at once.
/// @throws Error invalid_argument naming the bad field, unsupported with the reason of every candidate.
GemmPlan plan(Context& context, const GemmProblem& problem, const GemmOptions& options = default_options());

// Makes the plans of these problems, several at a time (options.threads; 0: OpenMP's default), and compiles
// what they need even where the Context is told not to (ContextOptions::no_jit). Calls and plans with the
// same description then find everything made. Of operands on a GPU that is a plan for each alignment that
// calls tell apart: 128 bytes, 16 bytes and the size of an element, as far as options.align_bytes does not
// promise more; state 128 there and only calls with such addresses are prepared. What no_jit made calls take
// before gives way. Prepared plans stay until clear_plan_cache(), up to 4096 of them. Throws the first Error,
// naming the problem.
void prepare(Context& context, std::span<const GemmProblem> problems,
             const GemmOptions& options = default_options());

/// Says what would run a problem, and why: plan(...).explain(), and the same for problems that no plan can be
/// made for (the reasons instead).
std::string explain(Context& context, const GemmProblem& problem,
                    const GemmOptions& options = default_options());

}  // namespace tilewright
