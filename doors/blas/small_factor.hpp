// Computes batches of small factorizations and solves in place, whatever memory there is: problems that the
// library did not reach are computed by plain loops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "blas/calls.hpp"
#include "tilewright/factor.hpp"

namespace tilewright::blas {

// Returns the argument that the library refuses, before anything is written, or "". infos receives the info
// of each problem; `plainly(p)` computes problem p and returns its info. Without memory for the infos the
// caller must not call this.
template <class T, class Plainly>
std::string compute_each(Context* context, detail::FactorCall<T> call, const FactorOptions& options,
                         std::vector<int>& infos, Plainly&& plainly) noexcept {
  constexpr int unreached = std::numeric_limits<int>::min();
  std::ranges::fill(infos, unreached);
  call.info = {InfoMode::all, infos.data()};
  if (context != nullptr) {
    try {
      const Inside scope;
      detail::factor<T>(*context, call, options);
      return "";
    } catch (const Error& error) {
      if (error.code() == ErrorCode::invalid_argument) return error.argument();
    } catch (...) {
    }
  }
  for (std::size_t p = 0; p < infos.size(); ++p)
    if (infos[p] == unreached) infos[p] = plainly(std::int64_t(p));
  return "";
}

// The threads of a call, as many as the program's BLAS would use if it has the routine.
inline FactorOptions small_factor_options(const Found& found) {
  FactorOptions options;
  if (found.routine != nullptr) options.threads = threads_of_program();
  return options;
}

}  // namespace tilewright::blas
