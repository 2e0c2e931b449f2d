// xGETF2 of LAPACK in C++: the same order of operations, the same choice of pivots, NaN included.
#include "lu/reference.hpp"

#include "core/dispatch.hpp"
#include "lu/candidates.hpp"

namespace tilewright {
namespace {

// Returns the first of the largest. A NaN is never larger, so it is found only if it comes first.
template <class T>
std::int64_t find_pivot(std::int64_t count, const T* x) {
  std::int64_t found = 0;
  auto largest = magnitude_1(x[0]);
  for (std::int64_t i = 1; i < count; ++i)
    if (const auto size = magnitude_1(x[i]); size > largest) {
      largest = size;
      found = i;
    }
  return found;
}

template <class T>
void divide(std::int64_t count, T* x, T pivot) {
  if (has_reciprocal(pivot)) {
    const T reciprocal = T(1) / pivot;
    for (std::int64_t i = 0; i < count; ++i) x[i] *= reciprocal;
  } else {
    for (std::int64_t i = 0; i < count; ++i) x[i] /= pivot;
  }
}

// C -= column * row
template <class T>
void subtract_outer_product(std::int64_t m, std::int64_t n, const T* column, const T* row, T* c,
                            std::int64_t ld) {
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) c[j * ld + i] -= column[i] * row[j * ld];
}

class LuReferenceRunner : public LuRunner {
 public:
  using LuRunner::LuRunner;
  LuReport factor(void* a, std::int64_t* pivots) const override {
    const LuProblem& p = request().problem;
    LuReport report;
    dispatch(p.dtype,
             [&]<class T>() { report.info = factor_reference(p.m, p.n, static_cast<T*>(a), p.lda, pivots); });
    return report;
  }
  std::string describe() const override { return "plain loops, on one thread"; }
};

}  // namespace

constinit const LuCandidate reference_lu{"reference", Tier::any, why_not_on_cpu,
                                         one_runner<LuReferenceRunner>};

template <class T>
std::int64_t factor_reference(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, std::int64_t* pivots) {
  std::int64_t info = 0;
  for (std::int64_t j = 0; j < std::min(m, n); ++j) {
    T* const column = a + j * lda;
    const std::int64_t pivot = j + find_pivot(m - j, column + j);
    pivots[j] = pivot + 1;
    if (column[pivot] != T(0)) {
      if (pivot != j)
        for (std::int64_t k = 0; k < n; ++k) std::swap(a[k * lda + j], a[k * lda + pivot]);
      divide(m - j - 1, column + j + 1, column[j]);
    } else if (info == 0) {
      info = j + 1;
    }
    subtract_outer_product(m - j - 1, n - j - 1, column + j + 1, column + lda + j, column + lda + j + 1, lda);
  }
  return info;
}

#define TILEWRIGHT_INSTANTIATE(T) \
  template std::int64_t factor_reference(std::int64_t, std::int64_t, T*, std::int64_t, std::int64_t*);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
