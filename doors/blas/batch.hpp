// Converts batches of products to the library's groups, for all names that take several products at once.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "blas/calls.hpp"
#include "blas/plain.hpp"
#include "core/per_thread.hpp"

namespace tilewright::blas {

// Positions of arguments in a routine; 0 if the routine has no such argument. `of_gemm` is indexed by the
// argument numbers of xGEMM.
struct Positions {
  int of_gemm[14];
  int stride_a, stride_b, stride_c;

  // Returns the position of the argument that an Error names, or 0 if the caller has none of that name. By
  // rows, A and B have changed places.
  int named(const std::string& argument, bool by_rows) const;
};

// The calling thread keeps its groups for its next call: 10,000 of them are a megabyte, and new memory costs
// more than small products.
template <class T>
class GroupList {
 public:
  GroupList() : groups_(kept()) { groups_.clear(); }
  ~GroupList() {
    if (groups_.capacity() > most_kept) std::vector<GemmGroup<T>>().swap(groups_);
  }
  GroupList& operator=(GroupList&&) = delete;

  // Extends the last group if the new problems continue it with the same shape and scalars: groups of one are
  // then as fast as one group. Starts a new group if each group has a code of its own (`apart`).
  void add(const GemmArguments<T>& x, const T* const* a, const T* const* b, T* const* c, std::int64_t count,
           bool apart = false) {
    if (!apart && !groups_.empty() && goes_on(groups_.back(), x, a, b, c)) {
      groups_.back().count += count;
      return;
    }
    groups_.push_back(
        {Op(x.op_a), Op(x.op_b), x.m, x.n, x.k, x.alpha, a, x.lda, b, x.ldb, x.beta, c, x.ldc, count});
  }
  std::span<const GemmGroup<T>> all() const { return groups_; }
  bool are_small() const {
    for (const auto& g : groups_)
      if (std::max({g.m, g.n, g.k}) > small_limit) return false;
    return true;
  }
  // Describes one problem for each run of equal groups.
  void describe(Observed& observed) const {
    GemmProblem run;
    run.batch_count = 0;
    const auto end = [&] {
      if (run.batch_count > 0) observed.computes(run);
    };
    for (const auto& g : groups_) {
      GemmProblem p =
          problem_of(GemmArguments<T>{std::int8_t(g.op_a), std::int8_t(g.op_b), g.m, g.n, g.k, g.alpha,
                                      nullptr, g.lda, nullptr, g.ldb, g.beta, nullptr, g.ldc});
      p.layout = Layout::pointer;
      p.batch_count = run.batch_count;
      if (p == run) {
        run.batch_count += g.count;
        continue;
      }
      end();
      run = p;
      run.batch_count = g.count;
    }
    end();
  }

 private:
  static bool goes_on(const GemmGroup<T>& last, const GemmArguments<T>& x, const T* const* a,
                      const T* const* b, T* const* c) {
    return last.m == x.m && last.n == x.n && last.k == x.k && last.lda == x.lda && last.ldb == x.ldb &&
           last.ldc == x.ldc && last.op_a == Op(x.op_a) && last.op_b == Op(x.op_b) && last.alpha == x.alpha &&
           last.beta == x.beta && last.a + last.count == a && last.b + last.count == b &&
           last.c + last.count == c;
  }
  static constexpr std::size_t most_kept = std::size_t(1) << 16;
  static std::vector<GemmGroup<T>>& kept() { return PerThread<std::vector<GemmGroup<T>>>::own(); }
  std::vector<GemmGroup<T>>& groups_;
};

// Computes `count` problems of this shape whose addresses begin at a, b and c.
template <class T>
void multiply_plainly(GemmArguments<T> x, const T* const* a, const T* const* b, T* const* c,
                      std::int64_t count) {
  for (std::int64_t p = 0; p < count; ++p) {
    x.a = a[p], x.b = b[p], x.c = c[p];
    multiply_plainly(x);
  }
}

// If another BLAS has the routine, the call uses as many threads as that library would. Otherwise it uses
// OpenMP's number of threads.
inline GemmOptions batch_options(const Found& found) {
  if (found.routine != nullptr) return large_options();
  GemmOptions options;
  options.on_device_failure = OnDeviceFailure::redo;
  return options;
}

}  // namespace tilewright::blas
