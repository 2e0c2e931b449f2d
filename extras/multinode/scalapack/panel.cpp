// If one process has whole columns, LAPACK's routines do the work with all of its threads.
#include "scalapack/panel.hpp"

#include <algorithm>

#include "core/dispatch.hpp"

namespace tilewright::scalapack {
namespace {

// Sends the pivots to every process of the row.
void share_pivots(const int* desc, const Place& place, int owner, int* pivots, int count) {
  char topology = ' ';
  const int one = 1, row = place.row;
  tools().topology_of(&desc[context_], "Broadcast", "Rowwise", &topology, 9, 7, 1);
  if (place.column == owner)
    tools().send(&desc[context_], "Rowwise", &topology, &count, &one, pivots, &count);
  else
    tools().receive(&desc[context_], "Rowwise", &topology, &count, &one, pivots, &count, &row, &owner);
}

bool is_one_panel(int m, int n, int ia, int ja, const int* desc) {
  return m > 0 && n > 0 && ia > 0 && ja > 0 && desc[row_block_] == desc[column_block_] &&
         (ia - 1) % desc[row_block_] == 0 && n + (ja - 1) % desc[column_block_] <= desc[column_block_] &&
         ia + m - 1 <= desc[rows_] && ja + n - 1 <= desc[columns_];
}

}  // namespace

template <class T>
void factor_panel(const int* m, const int* n, T* a, const int* ia, const int* ja, const int* desc,
                  int* pivots, int* info) {
  const Routines<T>& r = routines<T>();
  const bool can = tools().complete() && r.local_factor != nullptr && is_one_panel(*m, *n, *ia, *ja, desc);
  const Place place = can ? place_in(desc[context_]) : Place();
  if (place.rows != 1) {
    if (r.their_panel == nullptr) give_up("pxgetf2");
    return r.their_panel(m, n, a, ia, ja, desc, pivots, info);
  }
  *info = 0;
  const int owner = ((*ja - 1) / desc[column_block_] + desc[column_source_]) % place.columns,
            count = std::min(*m, *n);
  int* const own = pivots + (*ia - 1);
  if (place.column == owner) {
    const std::ptrdiff_t first = *ia - 1 + std::ptrdiff_t(own_columns_before(*ja, desc, place)) * desc[lld_];
    r.local_factor(m, n, a + first, &desc[lld_], own, info);
    std::for_each_n(own, count, [&](int& pivot) { pivot += *ia - 1; });
  }
  share_pivots(desc, place, owner, own, count);
}

template <class T>
void swap(const char* direction, const char* what, const int* n, T* a, const int* ia, const int* ja,
          const int* desc, const int* k1, const int* k2, const int* pivots) {
  const Routines<T>& r = routines<T>();
  const bool rows = *what == 'R' || *what == 'r', forward = *direction == 'F' || *direction == 'f';
  const bool can = tools().complete() && r.local_swap != nullptr && rows && *n > 0;
  const Place place = can ? place_in(desc[context_]) : Place();
  if (place.rows != 1) {
    if (r.their_swap == nullptr) give_up("pxlaswp");
    return r.their_swap(direction, what, n, a, ia, ja, desc, k1, k2, pivots, 1, 1);
  }
  const int first = own_columns_before(*ja, desc, place),
            own = own_columns_before(*ja + *n, desc, place) - first;
  const int step = forward ? 1 : -1;
  if (own > 0) r.local_swap(&own, a + std::ptrdiff_t(first) * desc[lld_], &desc[lld_], k1, k2, pivots, &step);
}

#define TILEWRIGHT_PANEL(T)                                                                               \
  template void factor_panel(const int*, const int*, T*, const int*, const int*, const int*, int*, int*); \
  template void swap(const char*, const char*, const int*, T*, const int*, const int*, const int*,        \
                     const int*, const int*, const int*);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_PANEL)

}  // namespace tilewright::scalapack
