// Conversions in device memory: views to launches.
#include "tilewright/device_layout.hpp"

#include <limits>

#include "core/dispatch.hpp"
#include "gemm/plan.hpp"
#include "kernel/layout/check.hpp"

#if TILEWRIGHT_HAS_GPU
#include "gemm/device/machine.hpp"
#endif

namespace tilewright {
namespace {

// Kernels count the elements of one matrix in 32 bits.
int elements_of(std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (rows <= most && cols <= most && rows * cols <= most) return static_cast<int>(rows * cols);
  throw Error(ErrorCode::unsupported, "rows",
              fmt::format("rows = {} with cols = {}: matrices of more than {} elements are not converted",
                          rows, cols, most));
}

#if TILEWRIGHT_HAS_GPU

template <class T>
void place(const StridedBatch<T, Location::device>& x, GpuLayoutOperands& o) {
  o.single = const_cast<std::remove_const_t<T>*>(x.data);
  o.stride = x.stride;
}
template <class T>
void place(const PointerBatch<T, Location::device>& x, GpuLayoutOperands& o) {
  o.addresses = reinterpret_cast<void* const*>(const_cast<std::remove_const_t<T>* const*>(x.data));
}

template <class Plain, class Blocks>
void queue(Context& context, bool interleaves, DType dtype, const Plain& plain, const Blocks& blocks,
           const GemmOptions& options) {
  const int elements = elements_of(plain.rows, plain.cols);
  const auto machine = Access::impl(context).gpus->open(options.queue.device);
  if (elements == 0 || plain.count == 0) return;
  const Gpu::Current current(machine->gpu());
  GpuLayoutOperands o;
  place(plain, o);
  o.interleaved = const_cast<void*>(static_cast<const void*>(blocks.data));
  o.count = plain.count;
  o.stored = (plain.count + blocks.block - 1) / blocks.block * blocks.block;
  o.ld = plain.ld, o.interleaved_ld = blocks.ld, o.block = blocks.block;
  o.rows = static_cast<int>(plain.rows), o.columns = static_cast<int>(plain.cols);
  machine->layout(dtype, interleaves, elements, !Access::impl(context).no_jit)
      ->launch(o, options.queue.stream);
}

void prepare_kernels(Context& context, DType dtype, int elements, const GemmOptions& options) {
  const auto machine = Access::impl(context).gpus->open(options.queue.device);
  const Gpu::Current current(machine->gpu());
  for (const bool interleaves : {true, false}) machine->layout(dtype, interleaves, elements, true);
}

#else

[[noreturn]] void refuse_device() {
  throw Error(ErrorCode::unsupported, "location", "location = device: this build has no GPU runtime");
}
template <class Plain, class Blocks>
void queue(Context&, bool, DType, const Plain&, const Blocks&, const GemmOptions&) {
  refuse_device();
}
void prepare_kernels(Context&, DType, int, const GemmOptions&) { refuse_device(); }

#endif

template <class Plain, class Blocks>
void interleave_views(Context& context, DType dtype, const Plain& from, const Blocks& to,
                      const GemmOptions& options) {
  check_call_options(Access::impl(context), options, Location::device);
  layout_check::check_plain("from", from, layout_check::ViewAccess::read);
  layout_check::check_interleaved("to", to);
  layout_check::check_pair(from, to);
  queue(context, true, dtype, from, to, options);
}

template <class Plain, class Blocks>
void deinterleave_views(Context& context, DType dtype, const Blocks& from, const Plain& to,
                        const GemmOptions& options) {
  check_call_options(Access::impl(context), options, Location::device);
  layout_check::check_interleaved("from", from);
  layout_check::check_plain("to", to, layout_check::ViewAccess::write);
  layout_check::check_pair(from, to);
  queue(context, false, dtype, to, from, options);
}

}  // namespace

template <class T>
void interleave(Context& context, StridedBatch<const std::type_identity_t<T>, Location::device> from,
                InterleavedBatch<T, Location::device> to, const GemmOptions& options) {
  interleave_views(context, dtype_of<T>, from, to, options);
}
template <class T>
void interleave(Context& context, PointerBatch<const std::type_identity_t<T>, Location::device> from,
                InterleavedBatch<T, Location::device> to, const GemmOptions& options) {
  interleave_views(context, dtype_of<T>, from, to, options);
}
template <class T>
void deinterleave(Context& context, InterleavedBatch<const std::type_identity_t<T>, Location::device> from,
                  StridedBatch<T, Location::device> to, const GemmOptions& options) {
  deinterleave_views(context, dtype_of<T>, from, to, options);
}
template <class T>
void deinterleave(Context& context, InterleavedBatch<const std::type_identity_t<T>, Location::device> from,
                  PointerBatch<T, Location::device> to, const GemmOptions& options) {
  deinterleave_views(context, dtype_of<T>, from, to, options);
}

void prepare_layout(Context& context, DType dtype, std::int64_t rows, std::int64_t cols,
                    const GemmOptions& options) {
  check_call_options(Access::impl(context), options, Location::device);
  layout_check::check_number("matrices", "rows", rows, 0);
  layout_check::check_number("matrices", "cols", cols, 0);
  prepare_kernels(context, dtype, elements_of(rows, cols), options);
}

#define TILEWRIGHT_DEVICE_LAYOUT(T)                                                       \
  template void interleave<T>(Context&, StridedBatch<const T, Location::device>,          \
                              InterleavedBatch<T, Location::device>, const GemmOptions&); \
  template void interleave<T>(Context&, PointerBatch<const T, Location::device>,          \
                              InterleavedBatch<T, Location::device>, const GemmOptions&); \
  template void deinterleave<T>(Context&, InterleavedBatch<const T, Location::device>,    \
                                StridedBatch<T, Location::device>, const GemmOptions&);   \
  template void deinterleave<T>(Context&, InterleavedBatch<const T, Location::device>,    \
                                PointerBatch<T, Location::device>, const GemmOptions&);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_DEVICE_LAYOUT)
#undef TILEWRIGHT_DEVICE_LAYOUT

}  // namespace tilewright
