// Every step is a call of PBLAS or ScaLAPACK, so any grid works.
#include "scalapack/factor.hpp"

#include <algorithm>
#include <vector>

#include "core/dispatch.hpp"
#include "scalapack/account.hpp"
#include "scalapack/on_gpus.hpp"

namespace tilewright::scalapack {
namespace {

// Sets the BLACS topologies during a factorization, as ScaLAPACK's own routine does.
class Topologies {
 public:
  explicit Topologies(int context) : context_(context) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      tools().topology_of(&context_, kinds[i].operation, kinds[i].scope, &before_[i], 9, 10, 1);
      tools().set_topology(&context_, kinds[i].operation, kinds[i].scope, kinds[i].wanted, 9, 10, 1);
    }
  }
  ~Topologies() {
    for (std::size_t i = 0; i < kinds.size(); ++i)
      tools().set_topology(&context_, kinds[i].operation, kinds[i].scope, &before_[i], 9, 10, 1);
  }
  Topologies& operator=(Topologies&&) = delete;

 private:
  struct Kind {
    const char *operation, *scope, *wanted;
  };
  static constexpr std::array<Kind, 3> kinds{
      {{"Broadcast", "Rowwise   ", "S"}, {"Broadcast", "Columnwise", " "}, {"Combine  ", "Columnwise", " "}}};
  int context_;
  std::array<char, 3> before_{};
};

template <class T>
class Halves {
 public:
  // `rows`: the last row that takes part.
  Halves(T* a, const int* desc, int* pivots, int first_column, int rows)
      : a_(a),
        desc_(desc),
        pivots_(pivots),
        first_column_(first_column),
        nb_(desc[column_block_]),
        place_(place_in(desc[context_])),
        all_pivots_(std::size_t(rows)),
        block_pivots_(std::size_t(own_rows_before(rows + 1, desc, place_) + nb_)) {}

  // Factors rows i.. and columns j..; m >= n.
  void factor(int m, int n, int i, int j) {
    if (n <= nb_) return panel(m, n, i, j);
    const int left = half(n), right = n - left;
    factor(m, left, i, j);
    swap_rows(right, j + left, i, i + left - 1);
    solve(left, right, i, j, j + left);
    if (m > left) subtract(m - left, right, left, i + left, j, i, j + left);
    factor(m - left, right, i + left, j + left);
    swap_rows(left, j, i + left, i + n - 1);
  }
  // Updates the columns to the right of a finished square.
  void finish_right(int m, int columns, int i, int j) {
    swap_rows(columns, j + m, i, i + m - 1);
    solve(m, columns, i, j, j + m);
  }
  int info() const { return info_; }

 private:
  // Returns half of n in whole blocks, so that both halves begin with a block.
  int half(int n) const { return std::max(1, n / nb_ / 2) * nb_; }
  void panel(int m, int n, int i, int j) {
    const Account::Span span(Part::panels);
    int info = 0;
    routines<T>().panel(&m, &n, a_, &i, &j, desc_, pivots_, &info);
    if (info_ == 0 && info > 0) info_ = info + j - first_column_;
    std::copy_n(pivots_ + own_rows_before(i, desc_, place_), std::min(m, n), all_pivots_.begin() + (i - 1));
  }
  // Swaps block by block: a panel leaves its pivots on every process at the positions of the process's next
  // own rows, and the pivots of the process's own blocks overwrite them later.
  void swap_rows(int columns, int j, int first, int last) {
    const Account::Span span(Part::swaps);
    for (int end; first <= last; first = end + 1) {
      end = std::min(last, first + nb_ - 1);
      std::copy(all_pivots_.begin() + (first - 1), all_pivots_.begin() + end,
                block_pivots_.begin() + own_rows_before(first, desc_, place_));
      routines<T>().swap("Forward", "Rows", &columns, a_, &first, &j, desc_, &first, &end,
                         block_pivots_.data(), 7, 4);
    }
  }
  // Computes A := A - L U with A at (i, j2), m x n, L at (i, j1) and U at (i2, j2), k deep.
  void subtract(int m, int n, int k, int i, int j1, int i2, int j2) {
    const Account::Span span(Part::products);
    const T minus_one(-1), one(1);
    routines<T>().gemm("N", "N", &m, &n, &k, &minus_one, a_, &i, &j1, desc_, a_, &i2, &j2, desc_, &one, a_,
                       &i, &j2, desc_);
  }
  // Solves with the unit lower triangle at (i, j), m x m, for n columns from j2 on, also by halves.
  void solve(int m, int n, int i, int j, int j2) {
    if (m > nb_) {
      const int top = half(m);
      solve(top, n, i, j, j2);
      subtract(m - top, n, top, i + top, j, i, j2);
      return solve(m - top, n, i + top, j + top, j2);
    }
    const Account::Span span(Part::triangles);
    const T one(1);
    routines<T>().trsm("Left", "Lower", "No transpose", "Unit", &m, &n, &one, a_, &i, &j, desc_, a_, &i, &j2,
                       desc_);
  }

  T* a_;
  const int* desc_;
  int* pivots_;
  int first_column_, nb_, info_ = 0;
  Place place_;
  std::vector<int> all_pivots_;    // of the whole matrix, on every process
  std::vector<int> block_pivots_;  // of one block, where pxLASWP expects them
};

bool is_sound(int m, int n, int ia, int ja, const int* desc) {
  const Place place = place_in(desc[context_]);
  if (place.rows < 1 || m < 1 || n < 1 || desc[rows_] == 1) return false;
  const int m_position = 1, n_position = 2, desc_position = 6;
  int info = 0;
  tools().check(&m, &m_position, &n, &n_position, &ia, &ja, desc, &desc_position, &info);
  return info == 0 && desc[row_block_] == desc[column_block_] && (ia - 1) % desc[row_block_] == 0 &&
         (ja - 1) % desc[column_block_] == 0;
}

}  // namespace

template <class T>
void factor(const int* m, const int* n, T* a, const int* ia, const int* ja, const int* desc, int* pivots,
            int* info) {
  const Routines<T>& r = routines<T>();
  if (!r.complete() || !is_sound(*m, *n, *ia, *ja, desc)) {
    if (r.their_factor == nullptr) give_up("pxgetrf");
    return r.their_factor(m, n, a, ia, ja, desc, pivots, info);
  }
  Account::account().begin_factorization();
  const Topologies scope(desc[context_]);
  const int square = std::min(*m, *n);
  int found = 0;
  if (!factor_on_gpus(*m, *n, a, *ia, *ja, desc, pivots, &found)) {
    Halves<T> halves(a, desc, pivots, *ja, *ia + *m - 1);
    halves.factor(*m, square, *ia, *ja);
    if (*n > square) halves.finish_right(square, *n - square, *ia, *ja);
    found = halves.info();
  }
  // Find the first zero pivot of all process columns.
  const int one = 1, none = -1, column = place_in(desc[context_]).column, all = square + 1;
  int first = found == 0 ? all : found, unused = 0;
  tools().least(&desc[context_], "Rowwise", " ", &one, &one, &first, &one, &unused, &unused, &none, &none,
                &column);
  *info = first == all ? 0 : first;
}

#define TILEWRIGHT_FACTOR(T) \
  template void factor(const int*, const int*, T*, const int*, const int*, const int*, int*, int*);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_FACTOR)

}  // namespace tilewright::scalapack
