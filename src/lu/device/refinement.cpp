// Residuals and bounds by products; systems by the factors.
#include "lu/device/refinement.hpp"

#include <limits>

#include "core/dispatch.hpp"

namespace tilewright {
namespace {

constexpr double begin_error = 3;  // more than any, so that the first step is made

DType real_of(DType dtype) { return dtype == DType::f32 || dtype == DType::c64 ? DType::f32 : DType::f64; }

}  // namespace

DeviceLuRefinement::DeviceLuRefinement(std::shared_ptr<LuTools> tools, const LuRefineShape& shape)
    : tools_(std::move(tools)),
      shape_(shape),
      system_(tools_, {shape.dtype, shape.op, shape.n, shape.nrhs, shape.ldlu, shape.n}),
      kernels_(tools_->refine(shape.dtype)) {
  for (const auto& [name, value] :
       {std::pair("lda", shape.lda), std::pair("ldb", shape.ldb), std::pair("ldx", shape.ldx)})
    if (value > std::numeric_limits<int>::max())
      throw Error(ErrorCode::unsupported, name,
                  fmt::format("{} = {}: cuBLAS counts in 32 bits", name, value));
  const auto take = [&](std::int64_t bytes) {
    return std::exchange(bytes_, bytes_ + (bytes + 255) / 256 * 256);
  };
  const std::int64_t element = size_bytes(shape.dtype), real = size_bytes(real_of(shape.dtype));
  magnitudes_at_ = take(shape.n * shape.n * real);
  x_at_ = take(shape.n * shape.nrhs * real);
  bound_at_ = take(shape.n * shape.nrhs * real);
  residual_at_ = take(shape.n * shape.nrhs * element);
  progress_at_ = take(shape.nrhs * std::int64_t(sizeof(LuRefined)));
  blas_at_ = take(LuTools::products_bytes);
  system_at_ = take(system_.workspace_bytes());
}

void DeviceLuRefinement::multiply_add(DType dtype, double factor, const LuBlock& a, const LuBlock& b,
                                      const LuBlock& c) const {
  dispatch(dtype, [&]<class T>() {
    const T alpha = T(factor), beta = T(1);
    GpuBlas::Batch call;
    call.dtype = dtype;
    call.op_a = shape_.op;
    if (!is_complex(dtype) && call.op_a == Op::conj_trans) call.op_a = Op::trans;
    call.m = int(shape_.n), call.n = int(shape_.nrhs), call.k = int(shape_.n);
    call.alpha = &alpha, call.beta = &beta;
    call.a = a.data, call.lda = int(a.ld);
    call.b = b.data, call.ldb = int(b.ld);
    call.c = c.data, call.ldc = int(c.ld);
    tools_->blas(LuLane::panel).gemm(call);
  });
}

// r = b - op(A) x, and the bound |op(A)| |x| + |b|, by the real type of the elements' parts.
void DeviceLuRefinement::residuals(const LuRefineOperands& o, CUstream_st* stream) const {
  const auto at = [&](std::int64_t offset) {
    return LuBlock{static_cast<char*>(o.workspace) + offset, shape_.n};
  };
  const std::int64_t n = shape_.n, nrhs = shape_.nrhs;
  const LuBlock a{const_cast<void*>(o.a), shape_.lda}, b{const_cast<void*>(o.b), shape_.ldb};
  const LuBlock x{o.x, shape_.ldx};
  tools_->rows(shape_.dtype, LuTools::any_width).copy(b, at(residual_at_), n, nrhs, stream);
  multiply_add(shape_.dtype, -1, a, x, at(residual_at_));
  kernels_.magnitudes(x, at(x_at_), n, nrhs, stream);
  kernels_.magnitudes(b, at(bound_at_), n, nrhs, stream);
  multiply_add(real_of(shape_.dtype), 1, at(magnitudes_at_), at(x_at_), at(bound_at_));
}

void DeviceLuRefinement::refine(const LuRefineOperands& o, CUstream_st* stream) {
  const std::int64_t n = shape_.n, nrhs = shape_.nrhs;
  if (n == 0 || nrhs == 0) return;
  const Gpu::Current current(tools_->gpu());
  char* const workspace = static_cast<char*>(o.workspace);
  auto* const progress = reinterpret_cast<LuRefined*>(workspace + progress_at_);
  const LuRefined begin{0, begin_error, 1};
  tools_->gpu().fill(progress, &begin, sizeof begin, nrhs, stream);
  kernels_.magnitudes({const_cast<void*>(o.a), shape_.lda}, {workspace + magnitudes_at_, n}, n, n, stream);
  for (int step = 0;; ++step) {
    {
      const std::lock_guard lock(tools_->mutex());
      tools_->blas(LuLane::panel).set_stream(stream);
      tools_->blas(LuLane::panel).set_workspace(workspace + blas_at_, LuTools::products_bytes);
      residuals(o, stream);
    }
    kernels_.backward_error(workspace + residual_at_, workspace + bound_at_, n, nrhs, progress, stream);
    kernels_.go_on(progress, o.errors, nrhs, stream);
    if (step == shape_.steps) return;
    system_.solve({o.lu, o.pivots, workspace + residual_at_, workspace + system_at_}, stream);
    kernels_.improve(workspace + residual_at_, {o.x, shape_.ldx}, n, nrhs, progress, stream);
  }
}

}  // namespace tilewright
