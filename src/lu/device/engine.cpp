// Queues the kernels, copies and products of each step.
#include "lu/device/engine.hpp"

#include <algorithm>

#include "device/gpu/copies.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t blas_workspace_bytes = 8 << 20;

// Bytes of the lists of the moves of one block, whatever the width of its panels.
std::int64_t moves_bytes(std::int64_t columns) {
  std::int64_t most = 0;
  for (const int width : {8, 16, 32})
    most = std::max<std::int64_t>(most, (columns + width - 1) / width * lu_moves_ints(width) * 4);
  return LuLayout::aligned(most);
}

}  // namespace

std::int64_t device_ld(std::int64_t m, DType dtype) {
  const std::int64_t each = std::max<std::int64_t>(1, 16 / size_bytes(dtype));
  return std::max<std::int64_t>(each, (m + each - 1) / each * each);
}

LuShape with_nb(LuShape shape) {
  const std::int64_t size = std::min(shape.m, shape.n);
  if (shape.nb == 0) shape.nb = size <= 2000 ? 128 : size <= 5000 ? 192 : size <= 12000 ? 256 : 512;
  return shape;
}

LuEngine::LuEngine(std::shared_ptr<LuTools> tools, const LuShape& shape, const LuPace& pace)
    : tools_(std::move(tools)), shape_(with_nb(shape)), pace_(pace) {
  check_sizes();
  load();
  lay_out();
}

void LuEngine::check_sizes() const {
  if (shape_.nb < 1 || shape_.nb > most_nb)
    throw Error(ErrorCode::invalid_argument, "nb",
                fmt::format("nb = {} is not between 1 and {}", shape_.nb, most_nb));
  require_blas_sizes({{"m", shape_.m}, {"n", shape_.n}, {"lda", shape_.lda}});
}

// From the last step, whose panels are the shortest, to the first.
void LuEngine::load() {
  std::vector<LuPanelConfig> configs;
  for (int i = steps() - 1; i >= 0; --i) {
    const std::int64_t rows = shape_.m - step_at(i).first;
    const LuPanelConfig config = lu_panel_default(rows, shape_.dtype, gpu().limits());
    if (config.threads == 0)
      throw Error(ErrorCode::unsupported, "m",
                  fmt::format("m = {}: no panel kernel of {} supports so many rows on {}", shape_.m,
                              to_string(shape_.dtype), gpu().limits().name));
    if (configs.empty() || !(configs.back() == config)) configs.push_back(config);
  }
  if (configs.empty()) return;
  const int capability = gpu().limits().compute_capability;
  const LuStep last = step_at(steps() - 1);
  std::vector<StencilRequest> requests;
  for (const std::int64_t columns : {std::min(shape_.nb, least()), last.columns})
    requests.push_back(GpuLuCloser::request(shape_.dtype, int(columns), capability));
  for (const LuPanelConfig& config : configs) {
    requests.push_back(lu_panel_request(shape_.dtype, config, capability));
    for (StencilRequest& one : GpuLuRows::requests(shape_.dtype, config.width, capability))
      requests.push_back(std::move(one));
  }
  tools_->compile_ahead(requests);
  for (const LuPanelConfig& config : configs) {
    panels_.push_back(&tools_->panel(shape_.dtype, config));
    tools_->rows(shape_.dtype, config.width);
  }
  for (int i = 0; i < steps(); ++i) closer_of(step_at(i));
}

void LuEngine::lay_out() {
  LuLayout all;
  const std::int64_t nb = std::min(shape_.nb, least());
  layout_.merged_in_lists = moves_bytes(nb);
  layout_.lists_of_block = layout_.merged_in_lists + LuLayout::aligned(GpuLuCloser::merged_ints(nb) * 4);
  layout_.lists = all.take(steps() * layout_.lists_of_block);
  layout_.inverse_bytes = LuLayout::aligned(nb * nb * element_bytes());
  layout_.inverses = all.take(steps() * layout_.inverse_bytes);
  layout_.products[int(LuLane::panel)] = all.take(nb * nb * element_bytes());
  layout_.products[int(LuLane::update)] = all.take(nb * shape_.n * element_bytes());
  for (int i = 0; i < steps(); ++i) {
    const std::int64_t rows = shape_.m - step_at(i).first;
    layout_.exchange_bytes = std::max<std::int64_t>(
        layout_.exchange_bytes,
        lu_panel_exchange_bytes(panel_of(rows).config(), int(rows), int(element_bytes())));
  }
  layout_.exchange = all.take(layout_.exchange_bytes);
  layout_.origin = all.take(GpuLuCloser::origin_ints(shape_.m, gpu().limits()) * 4);
  for (std::int64_t& own : layout_.blas) own = all.take(blas_workspace_bytes);
  layout_.bytes = all.bytes();
}

const GpuLuPanel& LuEngine::panel_of(std::int64_t rows) const {
  for (const GpuLuPanel* panel : panels_)
    if (lu_panel_most_rows(panel->config(), gpu().limits()) >= rows) return *panel;
  throw Error(ErrorCode::internal, "rows", fmt::format("no panel for {} rows was made", rows));
}

LuStep lu_step(const LuShape& shape, int index) {
  LuStep step;
  step.index = index;
  step.first = step.column = index * shape.nb;
  step.columns = std::min(shape.nb, std::min(shape.m, shape.n) - step.first);
  return step;
}

LuBlock LuEngine::at(std::int64_t row, std::int64_t column) const {
  return {static_cast<char*>(operands_.a) + (column * shape_.lda + row) * element_bytes(), shape_.lda};
}

void LuEngine::begin(const DeviceLuOperands& operands) {
  operands_ = operands;
  void* const workspaces[] = {workspace(layout_.blas[0]), workspace(layout_.blas[1])};
  tools_->begin(workspaces, blas_workspace_bytes);
  const long long zero = 0;
  CUstream_st* const panels = stream(LuLane::panel);
  gpu().fill(operands.info, &zero, sizeof zero, 1, panels);
  if (layout_.exchange_bytes > 0)
    gpu().fill(workspace(layout_.exchange), &zero, sizeof zero, layout_.exchange_bytes / 8, panels);
}

// Panels of the kernel's width, each of which updates the rest of the block. Earlier rows move at the end.
void LuEngine::factor_block(const LuStep& step) {
  const GpuLuPanel& panel = panel_of(shape_.m - step.first);
  const int width = panel.config().width;
  const GpuLuRows& rows = rows_of(step);
  CUstream_st* const on = stream(LuLane::panel);
  for (std::int64_t done = 0; done < step.columns; done += width) {
    const std::int64_t first = step.first + done, column = step.column + done,
                       columns = std::min<std::int64_t>(width, step.columns - done);
    const std::int64_t left = step.columns - done - columns;
    int* const moves = moves_of(step) + done / width * lu_moves_ints(width);
    LuPanelOperands o;
    o.a = at(first, column).data, o.ld = shape_.lda;
    o.m = shape_.m - first, o.n = columns;
    o.first_row = o.first_column = first;
    o.pivots = operands_.pivots + first, o.moves = moves, o.info = operands_.info;
    o.exchange = workspace(layout_.exchange);
    panel.launch(o, on);
    const std::int64_t next = first + columns, beside = column + columns;
    rows.solve(at(first, beside), left, at(first, column), int(columns), moves, on);
    multiply(LuLane::panel, shape_.m - next, left, columns, -1, at(next, column), at(first, beside), 1,
             at(next, beside));
  }
  const int lists = int((step.columns + width - 1) / width);
  if (lists > 1)
    rows.swap(at(step.first, step.column), step.columns, {moves_of(step), lists, width, true}, on);
  closer_of(step).close(at(step.first, step.column), int(step.columns), shape_.m - step.first,
                        {moves_of(step), lists, width}, inverse_of(step), merged_of(step),
                        reinterpret_cast<int*>(workspace(layout_.origin)), on);
}

void LuEngine::move(const LuStep& step, std::int64_t first, std::int64_t columns, LuLane lane) {
  rows_of(step).move(at(step.first, first), columns, merged_of(step), stream(lane));
}

void LuEngine::eliminate(const LuStep& step, std::int64_t first, std::int64_t columns, LuLane lane) {
  if (columns == 0) return;
  const LuBlock top = at(step.first, first), solved{workspace(layout_.products[int(lane)]), step.columns};
  multiply(lane, step.columns, columns, step.columns, 1, {inverse_of(step), step.columns}, top, 0, solved);
  rows_of(step).copy(solved, top, step.columns, columns, stream(lane));
  multiply(lane, shape_.m - step.end(), columns, step.columns, -1, at(step.end(), step.column), solved, 1,
           at(step.end(), first));
}

void LuEngine::update(const LuStep& step, std::int64_t first, std::int64_t columns, LuLane lane) {
  move(step, first, columns, lane);
  eliminate(step, first, columns, lane);
}

void LuEngine::receive(const LuStep& step, const LuEngine& from) {
  CUstream_st* const on = stream(LuLane::update);
  const auto pitch = std::size_t(shape_.lda * element_bytes());
  const CopiedBlock block{std::size_t((shape_.m - step.first) * element_bytes()), std::size_t(step.columns),
                          pitch, pitch};
  queue_from_peer(gpu(), at(step.first, step.column).data, from.at(step.first, step.column).data, block, on);
  const auto own = companions_of(step), theirs = from.companions_of(step);
  for (std::size_t i = 0; i < own.size(); ++i)
    queue_from_peer(gpu(), own[i].data, from.gpu(), theirs[i].data, std::size_t(own[i].bytes), on);
}

}  // namespace tilewright
