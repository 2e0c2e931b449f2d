// The routines of ScaLAPACK, PBLAS, the BLACS and LAPACK that this library calls, by element type (LP64, as
// in Fortran). All are looked up in the program's libraries and none is linked, so that one build serves
// every MPI.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <string>

namespace tilewright::scalapack {

// Fields of the descriptor of a block-cyclic matrix (Blackford et al. 1997, section 4.3.2).
enum Descriptor : std::size_t {
  type_,
  context_,
  rows_,
  columns_,
  row_block_,
  column_block_,
  row_source_,
  column_source_,
  lld_
};

struct Place {
  int rows = 0, columns = 0, row = 0, column = 0;  // size of the grid, and this process's position
};

// Routines of the BLACS and tools, which have no element type.
struct Tools {
  void (*grid)(const int* context, int* rows, int* columns, int* row, int* column);
  void (*send)(const int* context, const char* scope, const char* topology, const int* m, const int* n,
               const int* values, const int* ld);
  void (*receive)(const int* context, const char* scope, const char* topology, const int* m, const int* n,
                  int* values, const int* ld, const int* row, const int* column);
  void (*least)(const int* context, const char* scope, const char* topology, const int* m, const int* n,
                int* values, const int* ld, int* row_of, int* column_of, const int* ld_of, const int* row,
                const int* column);
  void (*topology_of)(const int* context, const char* operation, const char* scope, char* topology,
                      std::size_t, std::size_t, std::size_t);
  void (*set_topology)(const int* context, const char* operation, const char* scope, const char* topology,
                       std::size_t, std::size_t, std::size_t);
  void (*check)(const int* m, const int* m_position, const int* n, const int* n_position, const int* ia,
                const int* ja, const int* desc, const int* desc_position, int* info);
  bool complete() const;
};
const Tools& tools();
Place place_in(int context);

template <class T>
using Gemm = void(const char* op_a, const char* op_b, const int* m, const int* n, const int* k,
                  const T* alpha, const T* a, const int* ia, const int* ja, const int* desc_a, const T* b,
                  const int* ib, const int* jb, const int* desc_b, const T* beta, T* c, const int* ic,
                  const int* jc, const int* desc_c);
template <class T>
using Trsm = void(const char* side, const char* uplo, const char* op, const char* diagonal, const int* m,
                  const int* n, const T* alpha, const T* a, const int* ia, const int* ja, const int* desc_a,
                  T* b, const int* ib, const int* jb, const int* desc_b);
template <class T>
using Factor = void(const int* m, const int* n, T* a, const int* ia, const int* ja, const int* desc,
                    int* pivots, int* info);
template <class T>
using Swap = void(const char* direction, const char* what, const int* n, T* a, const int* ia, const int* ja,
                  const int* desc, const int* k1, const int* k2, const int* pivots, std::size_t, std::size_t);
template <class T>
using LocalFactor = void(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
template <class T>
using LocalSwap = void(const int* n, T* a, const int* lda, const int* k1, const int* k2, const int* pivots,
                       const int* step);

template <class T>
struct Routines {
  Gemm<T>* gemm;  // the program's routines
  Trsm<T>* trsm;
  Factor<T>* panel;  // this library's or the program's routines
  Swap<T>* swap;
  Factor<T>* their_factor;  // ScaLAPACK's own routines of the names that this library defines too
  Factor<T>* their_panel;
  Swap<T>* their_swap;
  LocalFactor<T>* local_factor;
  LocalSwap<T>* local_swap;
  bool complete() const {
    return gemm != nullptr && trsm != nullptr && panel != nullptr && swap != nullptr && tools().complete();
  }
};
template <class T>
const Routines<T>& routines();

// Ends the program with a sentence: the program must not use a missing result.
[[noreturn]] void give_up(const char* routine);

// Returns how many of the columns (rows) before global column (row) j, counted from 1, this process has,
// which is the local index of the first of the others.
int own_columns_before(int j, const int* desc, const Place& place);
int own_rows_before(int i, const int* desc, const Place& place);

}  // namespace tilewright::scalapack
