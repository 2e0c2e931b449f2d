// Which calls are served here, and serving them by the library's public functions.
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

// The Context that serves all calls, made by the first that needs it; null where none can be made, which is
// said once. Large products on the CPU go to the BLAS that the program has. Also null where there is no
// memory to make it now.
Context* context() noexcept;

// The three that follow are the only mutable globals of the house: a BLAS name has no handle in which a
// caller could bring them, and every call reads them.

// The Context once it was made and serves small products by generated kernels; else null. Read by every call.
inline std::atomic<Context*> small_context{nullptr};
// Whether small_context is decided.
inline std::atomic<bool> small_decided{false};

// Options of calls that may use threads or GPUs: as many threads as the program's BLAS would use, and the CPU
// takes over from a GPU that fails.
GemmOptions large_options();

// True in a call that this thread's call of the library makes: it must not come back.
bool is_inside();
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
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

// What f() returns; false where it throws, as all of this library does without memory. What throws has served
// nothing, so that the call can go elsewhere.
template <class F>
bool succeeds(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return false;
  }
}

// Whether a call is served here that is none of the quick ones: `wins` is asked in auto.
template <class Wins>
bool serves_here(const Found& found, Wins&& wins) noexcept {
  if (found.routine == nullptr) return true;
  return succeeds([&] {
    const Mode mode = settings().mode;
    if (mode == Mode::off || is_inside()) return false;
    return mode == Mode::all || wins();
  });
}

// Makes the plans and kernels of its small products whose shapes are new: they are made once, and no call's
// rate.
void make_plans(const Observed& observed) noexcept;

// Serves the call by serve(), which tells whether it did, or forwards it, and notes what happened where calls
// are observed. `describe` tells the observer what is computed. Where there is nobody to forward it to,
// `plainly` computes it, which needs no memory: a program must neither end here nor take an old C for a
// result.
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

// The least m n k at which generated kernels win over the program's BLAS, by DType; found with the Context.
// Batches win at every size. Measured: results/zen5-2core/blas_names-20261127.jsonl, docs/blas.md.
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

// Runs it by the library; false where it could not, and then nothing was written.
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

// The Context of small products, decided where it was not yet.
inline Context* for_small() {
  if (small_decided.load(std::memory_order_acquire)) return small_context.load(std::memory_order_relaxed);
  context();
  return small_context.load(std::memory_order_acquire);
}

// --- large products ---

// Of less work no GPU is asked: the way there and back takes longer.
inline constexpr double least_gpu_flops = 1e7;

// Whether the models of the machine give the product to GPUs. `valid` arguments only.
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
// The same of a problem, which does not ask whether this call may use them.
bool gpus_win(const GemmProblem& problem) noexcept;
// Whether there are GPUs, and the call is neither inside another one nor in a parallel region.
bool may_use_gpus() noexcept;

template <class T>
bool gpus_win(const GemmArguments<T>& x) {
  return flops_of(x) >= least_gpu_flops && may_use_gpus() && gpus_win(problem_of(x));
}

}  // namespace tilewright::blas
