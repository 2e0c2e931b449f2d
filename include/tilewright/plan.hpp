/// @file
/// Plans: the decision about what runs a problem, made once and run many times, and the reasons for it.
/// gemm.hpp includes this header.
/// @par Memory The caller owns a plan, which may outlive its Context.
/// @par Threads A plan is immutable: any number of threads may use one at once, with different C. Any number
///   may make plans with one Context at once.
/// @par Errors All functions throw Error, invalid_argument naming the field or argument unless their comment
///   says more; nothing has been written or queued then. noexcept functions throw nothing.
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

/// The implementation that runs a problem, with its kernels and config. It keeps what it needs of its Context
/// alive.
class GemmPlan {
 public:
  /// Returns the planned problem with levels joined and its residency decided. It lives as long as the plan.
  const GemmProblem& problem() const noexcept;
  /// Returns the candidates in order with the reason each declined, the config, the wisdom match, the bound.
  std::string explain() const;
  /// Returns the name of the candidate that runs it, such as cpu_small, host_blas or hybrid. It lives as
  /// long as the plan.
  const std::string& candidate() const noexcept;
  /// Returns true if GPUs compute, alone or beside the CPU.
  bool uses_gpus() const noexcept;
  /// Returns the seconds of one run as the models of this machine predict them; nothing if no model can.
  std::optional<double> predicted_s() const;

  /// C = alpha * op(A) * op(B) + beta * C of the planned problem, for a single matrix or a strided or
  /// interleaved batch. On a GPU the work is queued on `stream` and nothing is waited for, allocated or
  /// compiled, so that it can be captured in a CUDA graph. A graph holds no kernels: the plan must outlive
  /// the last launch of the graph that captured it.
  /// @par Memory As gemm(). Values of alpha and beta per problem lie where the operands do; on a GPU the plan
  ///   must have been made for them (Scalar::per_problem).
  /// @throws Error invalid_argument for another element type, a class of alpha or beta that the plan was not
  ///   made for, a null address or an alignment that the plan does not allow.
  template <class T>
  void run(BatchScalar<Same<T>> alpha, const T* a, const T* b, BatchScalar<Same<T>> beta, T* c,
           CUstream_st* stream = nullptr) const;
  /// The same for a pointer batch: a, b and c are the arrays of pointers. Null arrays are refused; pointers
  /// within them are not checked here.
  /// @throws Error as the other run().
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

/// Decides what runs a problem, and compiles what it needs. The problem is a single product or a strided,
/// pointer or interleaved batch; on a GPU also a variable batch, whose plan gemm_variable() then finds.
/// @par Memory No operand is needed.
/// @throws Error invalid_argument naming the bad field, unsupported with the reason of every candidate,
///   out_of_memory.
GemmPlan plan(Context& context, const GemmProblem& problem, const GemmOptions& options = default_options());

/// Makes the plans of these problems, several at a time, and compiles what they need even if
/// ContextOptions::no_jit forbids it to calls. Calls and plans with the same description then find everything
/// made; plans that calls made under no_jit with lesser kernels are replaced. For operands on a GPU that is a
/// plan for each alignment that calls distinguish: 128 bytes, 16 bytes and the size of an element, unless
/// options.align_bytes promises more; with 128 there, only calls with such addresses are prepared. Prepared
/// plans stay until clear_plan_cache(), up to 4096 of them.
/// @par Threads It uses options.threads threads (0: OpenMP's default).
/// @throws Error the first of any problem, as plan(), naming the problem.
void prepare(Context& context, std::span<const GemmProblem> problems,
             const GemmOptions& options = default_options());

/// Returns what would run a problem, and why: the text of plan(...).explain(). For problems that no plan can
/// be made for, it gives the reasons instead of throwing.
/// @throws Error invalid_argument naming the bad field, unsupported for layouts that have no plan.
std::string explain(Context& context, const GemmProblem& problem,
                    const GemmOptions& options = default_options());

}  // namespace tilewright
