// Kernels by the size of their pieces, and the calls.
#include "gemm/device/conversion.hpp"

#include "gemm/run/device.hpp"

namespace tilewright {

GpuBatchConversion::GpuBatchConversion(std::shared_ptr<const GpuMachine> machine, const GemmProblem& from,
                                       const GemmProblem& to)
    : machine_(std::move(machine)),
      from_(from),
      to_(to),
      a_{int(from.a_rows()), int(from.a_cols()), from.lda, from.stride_a},
      b_{int(from.b_rows()), int(from.b_cols()), from.ldb, from.stride_b},
      c_{int(from.m), int(from.n), from.ldc, from.stride_c} {
  prepare(true, a_);
  prepare(true, b_);
  if (from_.beta != Scalar::zero) prepare(true, c_);
  prepare(false, c_);
}

void GpuBatchConversion::prepare(bool interleaves, const Matrices& matrices) {
  const int elements = matrices.rows * matrices.columns;
  kernels_[{interleaves, elements}] = machine_->layout(from_.dtype, interleaves, elements, true);
}

void GpuBatchConversion::queue(bool interleaves, const Matrices& matrices, const void* single,
                               const void* interleaved, CUstream_st* stream) const {
  GpuLayoutOperands o;
  void* const base = const_cast<void*>(single);
  if (from_.layout == Layout::pointer)
    o.addresses = static_cast<void* const*>(base);
  else
    o.single = base;
  o.interleaved = const_cast<void*>(interleaved);
  o.count = from_.batch_count;
  o.stride = matrices.stride;
  o.ld = o.interleaved_ld = matrices.ld;
  o.block = to_.block;
  o.rows = matrices.rows, o.columns = matrices.columns;
  kernels_.at({interleaves, o.rows * o.columns})->launch(o, stream);
}

void GpuBatchConversion::in(const Operands& from, const Operands& to) const {
  CUstream_st* const stream = stream_of(from);
  queue(true, a_, from.a, to.a, stream);
  queue(true, b_, from.b, to.b, stream);
  if (from_.beta != Scalar::zero) queue(true, c_, from.c, to.c, stream);
}

void GpuBatchConversion::out(const Operands& to, const Operands& from) const {
  queue(false, c_, from.c, to.c, stream_of(from));
}

}  // namespace tilewright
