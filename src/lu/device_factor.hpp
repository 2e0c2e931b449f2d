// LU with partial pivoting of a matrix in device memory: blocked and right-looking (Bernabe 2014, section 5),
// its panels by the kernels of kernel/lu_panel, its updates by cuBLAS. The next panel is factored while the
// rest of the matrix is updated. Nothing waits on the host.
#pragma once

#include <map>
#include <memory>

#include "device/gpu/blas.hpp"
#include "kernel/lu_panel/lu_panel.hpp"
#include "kernel/lu_rows/loader.hpp"

namespace tilewright {

struct DeviceLuShape {
  DType dtype = DType::f64;
  std::int64_t m = 0, n = 0, lda = 0;
  std::int64_t nb = 0;  // columns of a block; 0: a rule of thumb's
};

// One matrix. All in device memory.
struct DeviceLuOperands {
  void* a = nullptr;
  long long* pivots = nullptr;  // min(m, n), counted from 1
  long long* info = nullptr;    // the first zero pivot, counted from 1; 0: there is none
  void* workspace = nullptr;    // workspace_bytes()
};

class DeviceLu {
 public:
  // Compiles what is not kept. Throws Error(unsupported) where no panel kernel holds m rows,
  // or the closing of a block has no room for them.
  DeviceLu(const Gpu& gpu, const StencilCompiler& compiler, const DeviceLuShape& shape);

  std::int64_t workspace_bytes() const;
  // Queues the factorization after what is in `stream`; what is queued there later waits for it. One at a
  // time, from one thread.
  void factor(const DeviceLuOperands& operands, CUstream_st* stream);

  // LU's usual columns of a block.
  static std::int64_t usual_nb(std::int64_t m, std::int64_t n);

 private:
  struct Step {
    std::int64_t first = 0, columns = 0;  // of the block
    int index = 0;
  };
  enum class Way : std::uint8_t { panel, update };

  void prepare(const StencilCompiler& compiler);
  const GpuLuPanel& panel_of(std::int64_t rows) const;
  const GpuLuRows& rows_of(int width) const { return *rows_.at(width); }

  void factor_block(const Step& step);
  void move_left_of(const Step& step);
  // The update of columns first ... first + columns - 1 by the block of `step`.
  void update(const Step& step, std::int64_t first, std::int64_t columns, Way way);
  void multiply(Way way, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const LuBlock& a,
                const LuBlock& b, double beta, const LuBlock& c);

  Step step_at(int index) const;
  int steps() const { return int((std::min(shape_.m, shape_.n) + shape_.nb - 1) / shape_.nb); }
  LuBlock at(std::int64_t row, std::int64_t column) const;
  CUstream_st* stream(Way way) const { return way == Way::panel ? panels_.get() : updates_.get(); }
  int width_of(const Step& step) const { return panel_of(shape_.m - step.first).config().width; }
  std::int64_t lists_bytes() const;
  int* moves_of(const Step& step) const;
  int* merged_of(const Step& step) const;
  void* inverse_of(const Step& step) const;
  void* product_of(Way way) const;
  std::int64_t element_bytes() const { return size_bytes(shape_.dtype); }

  const Gpu& gpu_;
  DeviceLuShape shape_;
  GpuStream panels_, updates_;
  std::unique_ptr<GpuBlas> panel_blas_, update_blas_;
  std::vector<std::unique_ptr<GpuLuPanel>> panels_of_rows_;  // those for the fewest rows first
  std::map<int, std::unique_ptr<GpuLuRows>> rows_;           // by width of panels
  GpuEvent begun_, factored_, updated_, ended_;
  DeviceLuOperands operands_;  // of the factorization that is being queued
};

}  // namespace tilewright
