// Compiles, loads and launches small factorizations.
#include "kernel/factor_gpu/loader.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "core/dispatch.hpp"

namespace tilewright {
namespace {

FactorGpuPieces factor_pieces_of(const FactorGpuBatch& x, std::int64_t count, int element_bytes) {
  const int vector = factor_gpu_vector_bytes / element_bytes;
  const bool by_rows = x.by_rows();
  const std::int64_t length = by_rows ? x.cols : x.rows, lines = by_rows ? x.rows : x.cols;
  const std::int64_t line = by_rows ? x.row_step : x.col_step, element = by_rows ? x.col_step : x.row_step;
  const bool at_vector = reinterpret_cast<std::uintptr_t>(x.data) % factor_gpu_vector_bytes == 0;
  if (factor_gpu_place(x) != FactorGpuPlace::strided || vector == 1 || !at_vector ||
      (element != 1 && length > 1))
    return FactorGpuPieces::elements;
  const bool lines_fit = lines == 1 || line % vector == 0,
             matrices_fit = count == 1 || x.stride % vector == 0;
  if (length % vector == 0 && lines_fit && matrices_fit) return FactorGpuPieces::vectors;
  const bool is_run = (lines == 1 || line == length) && (count == 1 || x.stride == length * lines);
  return is_run ? FactorGpuPieces::run : FactorGpuPieces::elements;
}

}  // namespace

FactorGpuPlace factor_gpu_place(const FactorGpuBatch& x) {
  if (x.pointers != nullptr) return FactorGpuPlace::pointers;
  return x.block > 0 ? FactorGpuPlace::interleaved : FactorGpuPlace::strided;
}

bool FactorGpuBatch::by_rows() const {
  if (cols <= 1 || rows <= 1) return rows == 1 && cols > 1 && std::abs(col_step) == 1;
  return std::abs(col_step) < std::abs(row_step);
}

FactorGpuShape factor_gpu_shape_of(const LaneShape& problem, const FactorGpuCall& call, bool scales) {
  const int bytes = int(size_bytes(problem.dtype));
  FactorGpuShape shape = factor_gpu_shape(problem, call.a.by_rows(), call.b.by_rows(), scales);
  shape.a_place = factor_gpu_place(call.a), shape.a_pieces = factor_pieces_of(call.a, call.count, bytes);
  if (!factor_gpu_has_b(shape)) return shape;
  shape.b_place = factor_gpu_place(call.b), shape.b_pieces = factor_pieces_of(call.b, call.count, bytes);
  return shape;
}

FactorGpuRoom factor_gpu_room(const GpuLimits& limits) {
  FactorGpuRoom room;
  room.registers = limits.registers_per_multiprocessor / 4;
  room.shared_bytes = limits.shared_bytes_per_multiprocessor;
  room.shared_bytes_reserved = limits.shared_bytes_reserved;
  room.shared_bytes_per_block = limits.shared_bytes_per_block;
  room.threads = limits.threads_per_multiprocessor;
  const double cycles_per_s = 1e3 * limits.clock_khz * limits.multiprocessors;
  if (limits.memory_bytes_per_s > 0 && cycles_per_s > 0)
    room.bytes_per_cycle = limits.memory_bytes_per_s / cycles_per_s;
  return room;
}

FactorGpuKernel::FactorGpuKernel(const Gpu& gpu, const JitBinary& binary, const FactorGpuShape& shape,
                                 const FactorGpuConfig& config, DType dtype)
    : gpu_(&gpu),
      config_(config),
      dtype_(dtype),
      shared_bytes_(factor_gpu_memory(shape, config, int(size_bytes(dtype))).total),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), shared_bytes_)),
      blocks_per_multiprocessor_(
          function_.blocks_per_multiprocessor(factor_gpu_threads(config), shared_bytes_)) {
  if (blocks_per_multiprocessor_ == 0)
    throw Error(ErrorCode::unsupported, "problem", "no block of the kernel fits a multiprocessor");
}

void FactorGpuKernel::launch(const FactorGpuCall& call, CUstream_st* stream) const {
  const std::int64_t each = factor_gpu_matrices(config_), tiles = (call.count + each - 1) / each;
  std::int64_t blocks = std::min<std::int64_t>(tiles, std::numeric_limits<int>::max());
  if (config_.stages > 1)
    blocks = std::min(blocks, std::int64_t(gpu_->limits().multiprocessors) * blocks_per_multiprocessor_);
  const GpuLaunch geometry{unsigned(blocks), unsigned(factor_gpu_threads(config_)), unsigned(shared_bytes_)};
  dispatch(dtype_, [&]<class T>() {
    FactorGpuArgs<T> args{};
    args.alpha = call.alpha == nullptr ? T(1) : *static_cast<const T*>(call.alpha);
    args.a = factor_gpu_operand<T>(call.a), args.b = factor_gpu_operand<T>(call.b);
    args.count = call.count, args.det = static_cast<T*>(call.det), args.pivots = call.pivots;
    args.info = call.info, args.info_step = call.one_info ? 0 : 1;
    function_.launch(geometry, &args, stream);
  });
}

StencilRequest factor_gpu_request(const FactorGpuShape& shape, const FactorGpuConfig& config, DType dtype,
                                  int compute_capability) {
  return {"kernel/factor_gpu/stencil.cuh",
          {fmt::format("tilewright::factor_gpu<{}, {}, {}>", device_type(dtype),
                       designated("tilewright::FactorGpuShape", shape),
                       designated("tilewright::FactorGpuConfig", config))},
          fmt::format("sizeof(tilewright::FactorGpuArgs<{}>) == {}", device_type(dtype),
                      dispatch(dtype, []<class T>() { return sizeof(FactorGpuArgs<T>); })),
          compute_capability};
}

}  // namespace tilewright
