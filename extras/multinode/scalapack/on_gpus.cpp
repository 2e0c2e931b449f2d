// Opens libtilewright when a factorization is large enough to use a GPU, from this library's folder or the
// program's search path.
#include "scalapack/on_gpus.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/dispatch.hpp"
#include "core/host/fork_gate.hpp"
#include "core/host/tell.hpp"
#include "scalapack/account.hpp"
#include "tilewright/tilewright_multinode.h"

namespace tilewright::scalapack {

double least_work_on_gpus = 2e10;

namespace {

constexpr int largest_block = 512;

struct Library {
  decltype(&tilewright_create) create = nullptr;
  decltype(&tilewright_lu_can_factor_cyclic) can_factor = nullptr;
  decltype(&tilewright_lu_factor_cyclic) factor = nullptr;
  decltype(&tilewright_last_error) last_error = nullptr;
  tilewright_context* context = nullptr;
};

template <class F>
bool find(void* handle, F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  return function != nullptr;
}

// Its context is null if libtilewright is missing.
const Library& library() {
  static constinit Once<const Library> once;
  return once.get([] {
    Library l;
    void* const handle = dlopen(TILEWRIGHT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr || !find(handle, l.create, "tilewright_create") ||
        !find(handle, l.can_factor, "tilewright_lu_can_factor_cyclic") ||
        !find(handle, l.factor, "tilewright_lu_factor_cyclic") ||
        !find(handle, l.last_error, "tilewright_last_error"))
      return Library();
    if (l.create(nullptr, nullptr, &l.context) != TILEWRIGHT_OK) l.context = nullptr;
    return l;
  });
}

template <class T>
constexpr tilewright_dtype dtype_of = TILEWRIGHT_F64;
template <>
constexpr tilewright_dtype dtype_of<float> = TILEWRIGHT_F32;
template <>
constexpr tilewright_dtype dtype_of<std::complex<float>> = TILEWRIGHT_C64;
template <>
constexpr tilewright_dtype dtype_of<std::complex<double>> = TILEWRIGHT_C128;

// Sends and receives within the grid's one row of processes, counted from the owner of the first block.
struct Row {
  int context = 0, first = 0, columns = 1;
};

int broadcast(void* user, void* data, std::int64_t bytes, int owner) {
  const Row& row = *static_cast<const Row*>(user);
  const int one = 1, count = int(bytes / 4), source_row = 0, source = (row.first + owner) % row.columns;
  char topology = ' ';
  tools().topology_of(&row.context, "Broadcast", "Rowwise", &topology, 9, 7, 1);
  int* const values = static_cast<int*>(data);
  if (place_in(row.context).column == source)
    tools().send(&row.context, "Rowwise", &topology, &count, &one, values, &count);
  else
    tools().receive(&row.context, "Rowwise", &topology, &count, &one, values, &count, &source_row, &source);
  return 0;
}

bool all_agree(int context, bool can) {
  const int one = 1, none = -1, all = -1;
  int least = can ? 1 : 0, unused = 0;
  tools().least(&context, "Rowwise", " ", &one, &one, &least, &one, &unused, &unused, &none, &none, &all);
  return least == 1;
}

}  // namespace

template <class T>
bool factor_on_gpus(int m, int n, T* a, int ia, int ja, const int* desc, int* pivots, int* info) {
  const Place place = place_in(desc[context_]);
  const int nb = desc[column_block_], square = std::min(m, n);
  if (place.rows != 1 || nb > largest_block || (ja - 1) % nb != 0 ||
      double(m) * n * square < least_work_on_gpus)
    return false;
  Row row{desc[context_], ((ja - 1) / nb + desc[column_source_]) % place.columns, place.columns};
  const int own = (place.column - row.first + row.columns) % row.columns;
  const tilewright_lu_team team{row.columns, own, broadcast, &row};
  const Library& l = library();
  const bool can =
      l.context != nullptr && l.can_factor(l.context, dtype_of<T>, m, n, nb, &team, nullptr) == TILEWRIGHT_OK;
  if (!all_agree(row.context, can)) return false;
  const Account::Span span(Part::on_gpus);
  T* const first = a + (ia - 1) + std::ptrdiff_t(own_columns_before(ja, desc, place)) * desc[lld_];
  std::vector<std::int64_t> found(static_cast<std::size_t>(square));
  std::int64_t zero = 0;
  if (l.factor(l.context, dtype_of<T>, m, n, nb, first, desc[lld_], found.data(), &zero, &team, nullptr) !=
      TILEWRIGHT_OK) {
    // The other processes wait for this one, and its columns may be lost.
    tell("tilewright: pxgetrf failed on a GPU: " + std::string(l.last_error(l.context)) + "\n");
    std::abort();
  }
  std::transform(found.begin(), found.end(), pivots + (ia - 1),
                 [&](std::int64_t pivot) { return int(pivot) + ia - 1; });
  *info = int(zero);
  return true;
}

#define TILEWRIGHT_ON_GPUS(T) template bool factor_on_gpus(int, int, T*, int, int, const int*, int*, int*);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_ON_GPUS)

}  // namespace tilewright::scalapack
