// A process grid, a process's part of a block-cyclic matrix, and the names of ScaLAPACK and its BLACS that
// are called here (Fortran's, integers of 32 bits). Needs MPI.
#pragma once

#include <cstddef>
#include <memory>

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* nb, const int* process, const int* first, const int* processes);
void descinit_(int* desc, const int* m, const int* n, const int* mb, const int* nb, const int* first_row,
               const int* first_column, const int* context, const int* lld, int* info);
void pdgemm_(const char* op_a, const char* op_b, const int* m, const int* n, const int* k,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desc_a,
             const double* b, const int* ib, const int* jb, const int* desc_b, const double* beta, double* c,
             const int* ic, const int* jc, const int* desc_c);
void pdgetrf_(const int* m, const int* n, double* a, const int* ia, const int* ja, const int* desc_a,
              int* pivots, int* info);
void pdgetrs_(const char* op, const int* n, const int* columns, const double* a, const int* ia, const int* ja,
              const int* desc_a, const int* pivots, double* b, const int* ib, const int* jb,
              const int* desc_b, int* info);
int pilaenv_(const int* context, const char* type);
}

namespace tilewright::distributed {

// A grid of processes by rows and columns, numbered along the rows. It holds the first rows x columns
// processes of the program.
class Grid {
 public:
  Grid(int rows, int columns) : rows_(rows), columns_(columns) {
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridinit(&context_, "Row", rows, columns);
    Cblacs_gridinfo(context_, &rows_, &columns_, &row_, &column_);
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  // All processes call this together, at the end.
  void leave() {
    if (takes_part()) Cblacs_gridexit(context_);
  }
  bool takes_part() const { return row_ >= 0; }
  int context() const { return context_; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int row() const { return row_; }
  int column() const { return column_; }

 private:
  int context_ = 0, rows_, columns_, row_ = -1, column_ = -1;
};

// This process's part of an m x n matrix in square blocks of nb, column by column.
class Part {
 public:
  Part(const Grid& grid, int m, int n, int nb) : grid_(grid), nb_(nb) {
    const int first = 0, row = grid.row(), column = grid.column(), rows = grid.rows(),
              columns = grid.columns(), context = grid.context();
    rows_ = numroc_(&m, &nb, &row, &first, &rows);
    columns_ = numroc_(&n, &nb, &column, &first, &columns);
    const int lld = rows_ > 1 ? rows_ : 1;
    int info = 0;
    descinit_(desc_, &m, &n, &nb, &nb, &first, &first, &context, &lld, &info);
    // The memory is left untouched: whichever thread fills it first decides where its pages lie.
    values_.reset(new double[std::size_t(lld) * std::size_t(columns_ > 1 ? columns_ : 1)]);
  }

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  // Return the place in the whole matrix, counted from 0.
  int row_of(int own) const { return whole(own, grid_.row(), grid_.rows()); }
  int column_of(int own) const { return whole(own, grid_.column(), grid_.columns()); }
  const int* desc() const { return desc_; }
  double* data() { return values_.get(); }
  const double* data() const { return values_.get(); }
  double* column(int own) { return values_.get() + std::size_t(own) * std::size_t(desc_[8]); }
  const double* column(int own) const { return values_.get() + std::size_t(own) * std::size_t(desc_[8]); }

 private:
  int whole(int own, int process, int processes) const {
    return (own / nb_ * processes + process) * nb_ + own % nb_;
  }

  const Grid& grid_;
  int nb_, rows_ = 0, columns_ = 0;
  int desc_[9] = {};
  std::unique_ptr<double[]> values_;
};

}  // namespace tilewright::distributed
