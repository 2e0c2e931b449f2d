// The steps of a blocked, right-looking LU with partial pivoting (Bernabe 2014, section 5) on one GPU: panels
// by the kernels of kernel/lu_panel, moves of rows and inverses of triangles by those of kernel/lu_rows,
// products by cuBLAS. Each is queued on one of two streams without waiting. schedule.hpp decides their order.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "lu/device/tools.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {

struct LuShape {
  DType dtype = DType::f64;
  std::int64_t m = 0, n = 0, lda = 0;
  std::int64_t nb = 0;  // columns of a block; 0: by the heuristic of with_nb()
};

// The rough times of the parts of a factorization in device memory (docs/lu.md): per column of a panel
// kernel, and beside its columns with the launches that follow. The schedule is decided by them beforehand,
// so that equal calls queue the same work; results never depend on it.
struct LuPace {
  GemmTime product;  // with operands in the GPU's memory
  double column_s = 0.8e-6, column_row_s = 4e-11;
  double panel_start_s = 25e-6, block_start_s = 60e-6;

  double block_s(std::int64_t rows, std::int64_t columns, int width) const {
    const double panels = double((columns + width - 1) / width);
    return double(columns) * (column_s + column_row_s * double(rows)) + panels * panel_start_s +
           block_start_s;
  }
};

// One matrix and its results, all in device memory.
struct DeviceLuOperands {
  void* a = nullptr;
  long long* pivots = nullptr;  // min(m, n), counted from 1
  long long* info = nullptr;    // the first zero pivot, counted from 1; 0: there is none
  void* workspace = nullptr;    // workspace_bytes(), at a multiple of 256
};

// One block of columns with its updates.
struct LuStep {
  std::int64_t first = 0, columns = 0;  // of the block in the whole matrix
  std::int64_t column = 0;              // where it lies: another place where columns are shared out
  int index = 0;
  std::int64_t end() const { return first + columns; }
};

// A leading dimension that puts columns at multiples of 16 bytes.
std::int64_t device_ld(std::int64_t m, DType dtype);

// The shape with the heuristic nb if it has none.
LuShape with_nb(LuShape shape);

// The step of a shape with nb.
LuStep lu_step(const LuShape& shape, int index);

class LuEngine {
 public:
  // Compiles missing kernels. Throws Error(unsupported) naming a size, Error(invalid_argument) naming nb.
  LuEngine(std::shared_ptr<LuTools> tools, const LuShape& shape, const LuPace& pace);

  LuTools& tools() const { return *tools_; }
  const Gpu& gpu() const { return tools_->gpu(); }
  const LuShape& shape() const { return shape_; }
  int steps() const { return int((least() + shape_.nb - 1) / shape_.nb); }
  LuStep step_at(int index) const { return lu_step(shape_, index); }
  std::int64_t workspace_bytes() const { return layout_.bytes; }
  const LuPace& pace() const { return pace_; }
  int width_of(const LuStep& step) const { return panel_of(shape_.m - step.first).config().width; }
  CUstream_st* stream(LuLane lane) const { return tools_->stream(lane); }

  // Sets the operands of the factorization that is queued next.
  void begin(const DeviceLuOperands& operands);
  void factor_block(const LuStep& step);
  // Moves the rows that the block of `step` moved, in columns first ... first + columns - 1.
  void move(const LuStep& step, std::int64_t first, std::int64_t columns, LuLane lane);
  // Solves for U of these columns, whose rows have moved, and updates their rest: A22 -= L21 U12.
  void eliminate(const LuStep& step, std::int64_t first, std::int64_t columns, LuLane lane);
  // move() and eliminate().
  void update(const LuStep& step, std::int64_t first, std::int64_t columns, LuLane lane);
  // Copies the block of `step` and its companions from another GPU, on the stream of updates.
  void receive(const LuStep& step, const LuEngine& from);

  // The data of a finished block that other GPUs need beside its columns; once a factorization has begun.
  struct Companion {
    void* data;
    std::int64_t bytes;
  };
  std::array<Companion, 2> companions_of(const LuStep& step) const {
    return {{{inverse_of(step), layout_.inverse_bytes},
             {merged_of(step), layout_.lists_of_block - layout_.merged_in_lists}}};
  }
  std::int64_t companion_bytes() const {
    return layout_.inverse_bytes + layout_.lists_of_block - layout_.merged_in_lists;
  }

  // The address of an element, and the leading dimension.
  LuBlock at(std::int64_t row, std::int64_t column) const;

  static constexpr std::int64_t most_nb = GpuLuCloser::most_inverted;

 private:
  // Offsets in the workspace, in bytes.
  struct Layout {
    std::int64_t lists = 0, lists_of_block = 0, merged_in_lists = 0;
    std::int64_t inverses = 0, inverse_bytes = 0;
    std::int64_t products[2] = {};  // by lane
    std::int64_t exchange = 0, exchange_bytes = 0, origin = 0;
    std::int64_t blas[2] = {};  // by lane
    std::int64_t bytes = 0;
  };

  void check_sizes() const;
  void load();
  void lay_out();
  const GpuLuPanel& panel_of(std::int64_t rows) const;
  const GpuLuCloser& closer_of(const LuStep& step) const {
    return tools_->closer(shape_.dtype, width_of(step), int(step.columns));
  }
  const GpuLuRows& rows_of(const LuStep& step) const { return tools_->rows(shape_.dtype, width_of(step)); }
  void multiply(LuLane lane, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const LuBlock& a,
                const LuBlock& b, double beta, const LuBlock& c) {
    tools_->multiply(lane, shape_.dtype, Op::none, m, n, k, alpha, a, b, beta, c);
  }

  char* workspace(std::int64_t offset) const { return static_cast<char*>(operands_.workspace) + offset; }
  int* moves_of(const LuStep& step) const {
    return reinterpret_cast<int*>(workspace(layout_.lists + step.index * layout_.lists_of_block));
  }
  int* merged_of(const LuStep& step) const {
    return moves_of(step) + layout_.merged_in_lists / std::int64_t(sizeof(int));
  }
  void* inverse_of(const LuStep& step) const {
    return workspace(layout_.inverses + step.index * layout_.inverse_bytes);
  }
  std::int64_t least() const { return std::min(shape_.m, shape_.n); }
  std::int64_t element_bytes() const { return size_bytes(shape_.dtype); }

  std::shared_ptr<LuTools> tools_;
  LuShape shape_;
  LuPace pace_;
  std::vector<const GpuLuPanel*> panels_;  // for the fewest rows first
  Layout layout_;
  DeviceLuOperands operands_;  // of the factorization that is being queued
};

}  // namespace tilewright
