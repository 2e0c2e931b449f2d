// lu_factor: validates, chooses a candidate and lets it run.
#include <algorithm>
#include <complex>

#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "lu/validate.hpp"

namespace tilewright {

template <class T>
LuReport lu_factor(Context& context, std::int64_t m, std::int64_t n, T* a, std::int64_t lda,
                   std::int64_t* pivots, const LuOptions& options) {
  const LuProblem problem{dtype_of<T>, m, n, lda};
  validate(problem);
  validate(LuMatrix{"a", a, m, n, "lda", lda, dtype_of<T>});
  validate_host(options);
  if (std::min(m, n) == 0) return {};
  if (pivots == nullptr) throw Error(ErrorCode::invalid_argument, "pivots", "pivots is null");
  const LuChoice choice = decide_lu(context, problem, options);
  const LuCandidate& candidate = served_lu(choice.request, choice.decisions);
  LuReport report = candidate.factor(choice.request, a, pivots);
  if (report.candidate.empty()) report.candidate = candidate.name;
  return report;
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                    \
  template LuReport lu_factor(Context&, std::int64_t, std::int64_t, T*, std::int64_t, std::int64_t*, \
                              const LuOptions&);
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(std::complex<float>)
TILEWRIGHT_INSTANTIATE(std::complex<double>)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
