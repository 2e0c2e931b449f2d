// Serves or forwards one product of the program. All names that compute one product share this code.
#pragma once

#include "blas/calls.hpp"
#include "blas/plain.hpp"

namespace tilewright::blas {

// Checks the arguments, decides, and serves or forwards a call that is not on the quick path. `report`
// reports a bad argument, by its number in xGEMM, if no other library does.
template <class T>
[[gnu::noinline]] void run_carefully(const Counterpart& other, const Found& found, const GemmArguments<T>& x,
                                     bool by_rows, void (*report)(const Counterpart&, int), Forward forward) {
  if (const int fault = gemm_fault(x, by_rows); fault != 0)
    return found.routine != nullptr ? forward() : report(other, fault);
  const bool small = is_small_win(x);
  const bool here = serves_here(found, [&] { return small ? for_small() != nullptr : gpus_win(x); });
  serve_or_forward(
      other, found, here,
      [&] {
        const Inside scope;
        Context* const own = context();
        return own != nullptr && serve(*own, x, small ? default_options() : large_options());
      },
      [&](Observed& observed) { observed.computes(problem_of(x)); }, forward, [&] { multiply_plainly(x); });
}

// `forward` keeps its type, so that it is inlined into the quick path.
template <class T, class F>
[[gnu::always_inline]] inline void run_gemm(Counterpart& other, const GemmArguments<T>& x, bool by_rows,
                                            void (*report)(const Counterpart&, int), const F& forward) {
  const Found& found = other.found();
  if (found.route == Route::quick) [[likely]] {
    if (is_small_win(x)) {
      Context* const small = for_small();
      if (small != nullptr && serve(*small, x, default_options())) return;
      return forward();
    }
    if (flops_of(x) < least_gpu_flops || !may_use_gpus()) return forward();
  } else if (found.route == Route::pass) {
    return forward();
  }
  run_carefully(other, found, x, by_rows, report, forward);
}

}  // namespace tilewright::blas
