// Decides which calls are served here, and serves them by the library's public functions.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "blas/arguments.hpp"
#include "blas/counterpart.hpp"
#include "blas/observer.hpp"
#include "blas/settings.hpp"
#include "core/problem.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"

namespace tilewright::blas {

// Returns the Context that serves all calls, made by the first that needs it; null if none can be made, which
// is reported once. Large products on the CPU go to the BLAS that the program has. Null is also returned
// while memory is short.
Context* context() noexcept;

// The three that follow are the only mutable globals of the house: a BLAS name has no handle in which a
// caller could bring them, and every call reads them.

// The Context if it exists and serves small products by generated kernels; otherwise null. Every call reads
// it.
inline std::atomic<Context*> small_context{nullptr};
// True once small_context is decided.
inline std::atomic<bool> small_decided{false};

// Options of calls that may use threads or GPUs: as many threads as the program's BLAS would use, and the CPU
// takes over from a GPU that fails.
GemmOptions large_options();

// True inside a call that the library made for a call of this thread; such a call must not be served here
// again.
bool is_inside();
class Inside {
 public:
  Inside();
  ~Inside();
  Inside& operator=(Inside&&) = delete;
};

// Calls the counterpart with the arguments of the call at hand.
class Forward {
 public:
  template <class F>
  Forward(const F& f) : object_(&f), call_([](const void* object) { (*static_cast<const F*>(object))(); }) {}
  void operator()() const { call_(object_); }

 private:
  const void* object_;
  void (*call_)(const void*);
};

// Returns f(), or false if f throws, as all of this library does without memory. A call that threw has
// written nothing, so it can be forwarded.
template <class F>
bool succeeds(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return false;
  }
}

// Returns true if a call that is not on the quick path is served here. In auto mode, `wins` decides.
template <class Wins>
bool serves_here(const Found& found, Wins&& wins) noexcept {
  if (found.routine == nullptr) return true;
  return succeeds([&] {
    const Mode mode = settings().mode;
    if (mode == Mode::off || is_inside()) return false;
    return mode == Mode::all || wins();
  });
}

// Makes the plans and kernels of the observed small products whose shapes are new, so that no call's rate
// includes the time they take.
void make_plans(const Observed& observed) noexcept;

// Calls serve(), which returns true if it served the call, or forwards the call, and records the outcome if
// calls are observed. `describe` tells the observer the computation. If the call cannot be forwarded,
// `plainly` computes it without memory: the program must neither end here nor take an old C for a result.
template <class Serve, class Describe>
void serve_or_forward(const Counterpart& other, const Found& found, bool here, Serve&& serve,
                      Describe&& describe, Forward forward, Forward plainly) {
  std::optional<Observed> observed;
  const bool is_noted = succeeds([&] {
    if (!settings().observes()) return false;
    describe(observed.emplace(other, found));
    if (here) make_plans(*observed);
    observed->starts();
    return true;
  });
  if (!is_noted) observed.reset();
  if (here && succeeds(serve)) {
    if (observed) observed->served(Server::here);
  } else if (found.routine != nullptr) {
    if (observed) observed->served(Server::counterpart);
    forward();
  } else {
    if (observed) observed->served(Server::here);
    plainly();
  }
}

// --- small products on the CPU ---

// The least m n k at which generated kernels beat the program's BLAS, by DType; set with the Context. Batches
// win at every size. Measured: results/zen5-2core/blas_names-20261127.jsonl, docs/blas.md.
inline std::array<std::atomic<std::int64_t>, 4> least_win{};

// The largest size that generated kernels of the CPU have.
inline constexpr std::int64_t small_limit = 64;

template <class T>
bool is_small_win(const GemmArguments<T>& x) {
  const auto fits = [](std::int64_t size) { return std::uint64_t(size) - 1 < std::uint64_t(small_limit); };
  return fits(x.m) && fits(x.n) && fits(x.k) &&
         x.m * x.n * x.k >= least_win[std::size_t(dtype_of<T>)].load(std::memory_order_relaxed) &&
         (x.op_a | x.op_b) >= 0 && x.lda >= x.a_rows() && x.ldb >= x.b_rows() && x.ldc >= x.m &&
         x.alpha != T(0);
}

// Runs x by the library; returns false, with nothing written, if that fails.
template <class T>
bool serve(Context& context, const GemmArguments<T>& x, const GemmOptions& options) noexcept {
  try {
    const bool as_is_a = x.op_a == 0, as_is_b = x.op_b == 0;
    gemm<T>(context, Op(x.op_a), Op(x.op_b), x.alpha, {x.a, as_is_a ? x.m : x.k, as_is_a ? x.k : x.m, x.lda},
            {x.b, as_is_b ? x.k : x.n, as_is_b ? x.n : x.k, x.ldb}, x.beta, {x.c, x.m, x.n, x.ldc}, options);
    return true;
  } catch (...) {
    return false;
  }
}

// Returns the Context of small products and decides it if necessary.
inline Context* for_small() {
  if (small_decided.load(std::memory_order_acquire)) return small_context.load(std::memory_order_relaxed);
  context();
  return small_context.load(std::memory_order_acquire);
}

// --- large products ---

// GPUs are not considered for less work: the transfers take longer.
inline constexpr double least_gpu_flops = 1e7;

// True if the machine's models give the product to GPUs. The arguments must be valid.
template <class T>
bool gpus_win(const GemmArguments<T>& x);

GemmProblem described(DType dtype, std::int8_t op_a, std::int8_t op_b, std::int64_t m, std::int64_t n,
                      std::int64_t k, std::int64_t lda, std::int64_t ldb, std::int64_t ldc);
template <class T>
GemmProblem problem_of(const GemmArguments<T>& x) {
  GemmProblem p = described(dtype_of<T>, x.op_a, x.op_b, x.m, x.n, x.k, x.lda, x.ldb, x.ldc);
  p.alpha = scalar_class(x.alpha);
  p.beta = scalar_class(x.beta);
  return p;
}
// The same for a problem; does not check may_use_gpus().
bool gpus_win(const GemmProblem& problem) noexcept;
// True if there are GPUs, and the call is neither inside another one nor in a parallel region.
bool may_use_gpus() noexcept;

template <class T>
bool gpus_win(const GemmArguments<T>& x) {
  return flops_of(x) >= least_gpu_flops && may_use_gpus() && gpus_win(problem_of(x));
}

}  // namespace tilewright::blas
