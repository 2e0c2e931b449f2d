// Two streams: one factors panels, ahead of all others on the device, the other updates. A step's update of
// the next block goes with the panels, so that what is left of it overlaps the next panel.
#include "lu/device_factor.hpp"

#include <algorithm>
#include <limits>

#include "core/dispatch.hpp"

namespace tilewright {
namespace {

constexpr int narrowest = 8;  // columns of any panel kernel

std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

// Lists of the moves of one block, whatever the width of its panels.
std::int64_t moves_bytes(std::int64_t columns) {
  std::int64_t most = 0;
  for (const int width : {8, 16, 32})
    most = std::max<std::int64_t>(most, (columns + width - 1) / width * lu_moves_ints(width) * 4);
  return aligned(most);
}

std::int64_t merged_bytes(std::int64_t columns) { return aligned(GpuLuRows::merged_ints(columns) * 4); }

}  // namespace

std::int64_t DeviceLu::usual_nb(std::int64_t m, std::int64_t n) {
  const std::int64_t size = std::min(m, n);
  return size <= 4000 ? 128 : size <= 12000 ? 256 : 512;
}

DeviceLu::DeviceLu(const Gpu& gpu, const StencilCompiler& compiler, const DeviceLuShape& shape)
    : gpu_(gpu),
      shape_(shape),
      panels_(gpu, StreamPriority::first),
      updates_(gpu),
      begun_(gpu),
      factored_(gpu),
      updated_(gpu),
      ended_(gpu) {
  if (shape_.nb == 0) shape_.nb = usual_nb(shape.m, shape.n);
  if (shape_.nb < 1 || shape_.nb > GpuLuRows::most_inverted)
    throw Error(ErrorCode::invalid_argument, "nb",
                fmt::format("nb = {} is not from 1 to {}", shape_.nb, GpuLuRows::most_inverted));
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (std::max(shape.n, shape.lda) > most)
    throw Error(ErrorCode::unsupported, shape.n > most ? "n" : "lda",
                fmt::format("n = {} and lda = {}: cuBLAS counts in 32 bits", shape.n, shape.lda));
  if (const std::string reason =
          GpuLuRows::why_not_close(shape.dtype, std::min(shape_.nb, shape.n), shape.m, gpu.limits());
      !reason.empty())
    throw Error(ErrorCode::unsupported, "m", fmt::format("m = {}: {}", shape.m, reason));
  prepare(compiler);
  const Gpu::Current current(gpu);
  panel_blas_ = std::make_unique<GpuBlas>();
  panel_blas_->set_stream(panels_.get());
  update_blas_ = std::make_unique<GpuBlas>();
  update_blas_->set_stream(updates_.get());
}

void DeviceLu::prepare(const StencilCompiler& compiler) {
  for (int i = steps() - 1; i >= 0; --i) {
    const std::int64_t rows = shape_.m - step_at(i).first;
    const LuPanelConfig config = lu_panel_default(rows, shape_.dtype, gpu_.limits());
    if (config.threads == 0)
      throw Error(ErrorCode::unsupported, "m",
                  fmt::format("m = {}: no panel kernel of {} holds so many rows on {}", shape_.m,
                              to_string(shape_.dtype), gpu_.limits().name));
    if (!panels_of_rows_.empty() && panels_of_rows_.back()->config() == config) continue;
    const JitBinary binary =
        compiler.compile(lu_panel_request(shape_.dtype, config, gpu_.limits().compute_capability));
    panels_of_rows_.push_back(std::make_unique<GpuLuPanel>(gpu_, binary, shape_.dtype, config));
    std::unique_ptr<GpuLuRows>& rows_kernels = rows_[config.width];
    if (rows_kernels == nullptr)
      rows_kernels = std::make_unique<GpuLuRows>(gpu_, compiler, shape_.dtype, config.width);
  }
}

const GpuLuPanel& DeviceLu::panel_of(std::int64_t rows) const {
  for (const auto& panel : panels_of_rows_)
    if (lu_panel_most_rows(panel->config()) >= rows) return *panel;
  throw Error(ErrorCode::internal, "rows", fmt::format("no panel for {} rows was made", rows));
}

DeviceLu::Step DeviceLu::step_at(int index) const {
  Step step;
  step.index = index;
  step.first = index * shape_.nb;
  step.columns = std::min(shape_.nb, std::min(shape_.m, shape_.n) - step.first);
  return step;
}

LuBlock DeviceLu::at(std::int64_t row, std::int64_t column) const {
  return {static_cast<char*>(operands_.a) + (column * shape_.lda + row) * element_bytes(), shape_.lda};
}

// The workspace: lists of moves, two inverses in turn, the solved rows of each stream.
std::int64_t DeviceLu::lists_bytes() const { return moves_bytes(shape_.nb) + merged_bytes(shape_.nb); }
int* DeviceLu::moves_of(const Step& step) const {
  return reinterpret_cast<int*>(static_cast<char*>(operands_.workspace) + step.index * lists_bytes());
}
int* DeviceLu::merged_of(const Step& step) const {
  return reinterpret_cast<int*>(reinterpret_cast<char*>(moves_of(step)) + moves_bytes(shape_.nb));
}
void* DeviceLu::inverse_of(const Step& step) const {
  return static_cast<char*>(operands_.workspace) + steps() * lists_bytes() +
         step.index % 2 * aligned(shape_.nb * shape_.nb * element_bytes());
}
void* DeviceLu::product_of(Way way) const {
  const std::int64_t inverse = aligned(shape_.nb * shape_.nb * element_bytes());
  return static_cast<char*>(operands_.workspace) + steps() * lists_bytes() + 2 * inverse +
         (way == Way::panel ? 0 : inverse);
}
std::int64_t DeviceLu::workspace_bytes() const {
  const std::int64_t inverse = aligned(shape_.nb * shape_.nb * element_bytes());
  return steps() * lists_bytes() + 3 * inverse + aligned(shape_.nb * shape_.n * element_bytes());
}

void DeviceLu::multiply(Way way, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                        const LuBlock& a, const LuBlock& b, double beta, const LuBlock& c) {
  if (m == 0 || n == 0) return;
  dispatch(shape_.dtype, [&]<class T>() {
    const T alpha_value = T(alpha), beta_value = T(beta);
    GpuBlas::Batch call;
    call.dtype = shape_.dtype;
    call.m = int(m), call.n = int(n), call.k = int(k);
    call.alpha = &alpha_value, call.beta = &beta_value;
    call.a = a.data, call.lda = int(a.ld);
    call.b = b.data, call.ldb = int(b.ld);
    call.c = c.data, call.ldc = int(c.ld);
    (way == Way::panel ? *panel_blas_ : *update_blas_).gemm(call);
  });
}

// Panels of the kernel's width one after the other, each of which then updates what is left of the block.
// Rows of earlier panels move at the end.
void DeviceLu::factor_block(const Step& step) {
  const GpuLuPanel& panel = panel_of(shape_.m - step.first);
  const int width = panel.config().width;
  const GpuLuRows& rows = rows_of(width);
  CUstream_st* const on = stream(Way::panel);
  for (std::int64_t done = 0; done < step.columns; done += width) {
    const std::int64_t first = step.first + done,
                       columns = std::min<std::int64_t>(width, step.columns - done);
    const std::int64_t left = step.columns - done - columns;
    int* const moves = moves_of(step) + done / width * lu_moves_ints(width);
    LuPanelOperands o;
    o.a = at(first, first).data, o.ld = shape_.lda;
    o.m = shape_.m - first, o.n = columns;
    o.first_row = o.first_column = first;
    o.pivots = operands_.pivots + first, o.moves = moves, o.info = operands_.info;
    panel.launch(o, on);
    const std::int64_t next = first + columns;
    rows.solve(at(first, next), left, at(first, first), int(columns), moves, on);
    multiply(Way::panel, shape_.m - next, left, columns, -1, at(next, first), at(first, next), 1,
             at(next, next));
  }
  const int lists = int((step.columns + width - 1) / width);
  if (lists > 1)
    rows.swap(at(step.first, step.first), step.columns, {moves_of(step), lists, width, true}, on);
  rows.close(at(step.first, step.first), int(step.columns), shape_.m - step.first,
             {moves_of(step), lists, width}, inverse_of(step), merged_of(step), on);
}

void DeviceLu::move_left_of(const Step& step) {
  rows_of(width_of(step)).move(at(step.first, 0), step.first, merged_of(step), stream(Way::update));
}

void DeviceLu::update(const Step& step, std::int64_t first, std::int64_t columns, Way way) {
  if (columns == 0) return;
  const GpuLuRows& rows = rows_of(width_of(step));
  const LuBlock top = at(step.first, first), solved{product_of(way), step.columns};
  rows.move(top, columns, merged_of(step), stream(way));
  multiply(way, step.columns, columns, step.columns, 1, {inverse_of(step), step.columns}, top, 0, solved);
  rows.copy(solved, top, step.columns, columns, stream(way));
  const std::int64_t below = step.first + step.columns;
  multiply(way, shape_.m - below, columns, step.columns, -1, at(below, step.first), solved, 1,
           at(below, first));
}

void DeviceLu::factor(const DeviceLuOperands& operands, CUstream_st* caller) {
  operands_ = operands;
  const Gpu::Current current(gpu_);
  begun_.record(caller);
  begun_.hold_back(panels_.get());
  begun_.hold_back(updates_.get());
  const long long zero = 0;
  gpu_.fill(operands.info, &zero, sizeof zero, 1, panels_.get());
  if (steps() > 0) factor_block(step_at(0));
  for (int i = 0; i < steps(); ++i) {
    const Step step = step_at(i);
    factored_.record(panels_.get());
    factored_.hold_back(updates_.get());
    const std::int64_t end = step.first + step.columns;
    const std::int64_t ahead = i + 1 < steps() ? step_at(i + 1).columns : 0;
    // The next block was last touched by the update before this one.
    if (i > 0) updated_.hold_back(panels_.get());
    if (ahead > 0) {
      update(step, end, ahead, Way::panel);
      factor_block(step_at(i + 1));
    }
    update(step, end + ahead, shape_.n - end - ahead, Way::update);
    updated_.record(updates_.get());
    move_left_of(step);
  }
  factored_.record(panels_.get());
  factored_.hold_back(updates_.get());
  ended_.record(updates_.get());
  ended_.hold_back(caller);
}

}  // namespace tilewright
