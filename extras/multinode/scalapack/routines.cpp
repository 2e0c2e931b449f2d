// Looks up symbols in the program's global scope; those that this library defines too, in the library that
// has PBLAS.
#include "scalapack/routines.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "core/host/fork_gate.hpp"
#include "core/host/tell.hpp"
#include "local_columns.hpp"

namespace tilewright::scalapack {
namespace {

template <class F>
void find(F*& function, const std::string& name) {
  function = reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name.c_str()));
}

// Returns a handle of the library that the program's PBLAS is in; null if there is none.
void* scalapack() {
  static constinit Once<void* const> once;
  return once.get([] {
    Dl_info info{};
    void* address = dlsym(RTLD_DEFAULT, "pdgemm_");
    if (address == nullptr || dladdr(address, &info) == 0) return static_cast<void*>(nullptr);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  });
}

template <class F>
void find_theirs(F*& function, const std::string& name) {
  void* handle = scalapack();
  function = handle == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(handle, name.c_str()));
}

int own_before(int count, int nb, int source, int process, int processes) {
  return int(local_columns(count, nb, (processes + process - source) % processes, processes));
}

template <class T>
constexpr char letter_of = 'd';
template <>
constexpr char letter_of<float> = 's';
template <>
constexpr char letter_of<std::complex<float>> = 'c';
template <>
constexpr char letter_of<std::complex<double>> = 'z';

}  // namespace

bool Tools::complete() const {
  return grid != nullptr && send != nullptr && receive != nullptr && least != nullptr &&
         topology_of != nullptr && set_topology != nullptr && check != nullptr;
}

const Tools& tools() {
  static constinit Once<const Tools> once;
  return once.get([] {
    Tools t{};
    find(t.grid, "blacs_gridinfo_");
    find(t.send, "igebs2d_");
    find(t.receive, "igebr2d_");
    find(t.least, "igamn2d_");
    find(t.topology_of, "pb_topget_");
    find(t.set_topology, "pb_topset_");
    find(t.check, "chk1mat_");
    return t;
  });
}

Place place_in(int context) {
  Place place;
  tools().grid(&context, &place.rows, &place.columns, &place.row, &place.column);
  return place;
}

template <class T>
const Routines<T>& routines() {
  static constinit Once<const Routines<T>> once;
  return once.get([] {
    const std::string letter(1, letter_of<T>), p = "p" + letter;
    Routines<T> r{};
    find(r.gemm, p + "gemm_");
    find(r.trsm, p + "trsm_");
    find(r.panel, p + "getf2_");
    find(r.swap, p + "laswp_");
    find_theirs(r.their_factor, p + "getrf_");
    find_theirs(r.their_panel, p + "getf2_");
    find_theirs(r.their_swap, p + "laswp_");
    find(r.local_factor, letter + "getrf_");
    find(r.local_swap, letter + "laswp_");
    return r;
  });
}
template const Routines<float>& routines();
template const Routines<double>& routines();
template const Routines<std::complex<float>>& routines();
template const Routines<std::complex<double>>& routines();

void give_up(const char* routine) {
  tell("tilewright: " + std::string(routine) +
       " cannot be served: the program has no ScaLAPACK of its own\n");
  std::abort();
}

int own_columns_before(int j, const int* desc, const Place& place) {
  return own_before(j - 1, desc[column_block_], desc[column_source_], place.column, place.columns);
}
int own_rows_before(int i, const int* desc, const Place& place) {
  return own_before(i - 1, desc[row_block_], desc[row_source_], place.row, place.rows);
}

}  // namespace tilewright::scalapack
