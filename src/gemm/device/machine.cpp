// Loads and compiles what a Context needs of a GPU.
#include "gemm/device/machine.hpp"

namespace tilewright {

GpuMachine::GpuMachine(int device, std::shared_ptr<const StencilCompiler> compiler)
    : gpu_(device), compiler_(std::move(compiler)), workspace_(gpu_), converted_(gpu_) {}

template <class Kernel, class... Parts>
std::shared_ptr<const Kernel> GpuMachine::kept_or(const std::string& name, const StencilRequest& request,
                                                  bool may_compile, const Parts&... parts) const {
  return std::static_pointer_cast<const Kernel>(kernels_.get(name, [&] {
    const JitBinary binary = may_compile ? compiler_->compile(request) : compiler_->cached(request);
    if constexpr (std::is_same_v<Kernel, GemmLargeKernel>) refuse_large(binary, parts...);
    return std::make_shared<const Kernel>(gpu_, binary, parts...);
  }));
}

void GpuMachine::refuse_large(const JitBinary& binary, const GemmLargeShape&, const GemmLargeConfig& config,
                              DType) const {
  if (const std::string reason = gemm_large_refusal(binary, config, gpu_.limits()); !reason.empty())
    throw Error(ErrorCode::unsupported, "config", fmt::format("{}: {}", describe(config), reason));
}

std::shared_ptr<const GemmSmallKernel> GpuMachine::gemm_small(const GemmSmallShape& shape,
                                                              const GemmSmallConfig& config, DType dtype,
                                                              bool may_compile) const {
  const auto request = gemm_small_request(shape, config, dtype, gpu_.limits().compute_capability);
  return kept_or<GemmSmallKernel>(request.expressions.front(), request, may_compile, shape, config, dtype);
}

std::shared_ptr<const GemmSmallTotal> GpuMachine::gemm_small_total(DType dtype, bool may_compile) const {
  const auto request = gemm_small_total_request(dtype, gpu_.limits().compute_capability);
  return kept_or<GemmSmallTotal>(request.expressions.front(), request, may_compile, dtype);
}

// The name is of the operands' shape, not of the compiled one: if operands are copied first, the same code
// serves other alignments, but which operands are copied differs.
std::shared_ptr<const GemmLargeKernel> GpuMachine::gemm_large(const GemmLargeShape& shape,
                                                              const GemmLargeConfig& config, DType dtype,
                                                              bool may_compile) const {
  return kept_or<GemmLargeKernel>(gemm_large_expression(shape, config, dtype),
                                  gemm_large_request(shape, config, dtype, gpu_.limits().compute_capability),
                                  may_compile, shape, config, dtype);
}

std::shared_ptr<const GemmThinKernel> GpuMachine::gemm_thin(const GemmThinShape& shape,
                                                            const GemmThinConfig& config, DType dtype,
                                                            bool may_compile) const {
  const auto request = gemm_thin_request(shape, config, dtype, gpu_.limits().compute_capability);
  return kept_or<GemmThinKernel>(request.expressions.front(), request, may_compile, shape, config, dtype);
}

std::shared_ptr<const FactorGpuKernel> GpuMachine::factor_gpu(const FactorGpuShape& shape,
                                                              const FactorGpuConfig& config, DType dtype,
                                                              bool may_compile) const {
  const auto request = factor_gpu_request(shape, config, dtype, gpu_.limits().compute_capability);
  return kept_or<FactorGpuKernel>(request.expressions.front(), request, may_compile, shape, config, dtype);
}

std::shared_ptr<const FactorLargeKernel> GpuMachine::factor_large(const FactorGpuShape& shape,
                                                                  const FactorLargeAnyConfig& config,
                                                                  DType dtype, bool may_compile) const {
  const auto request = factor_large_request(shape, config, dtype, gpu_.limits().compute_capability);
  return kept_or<FactorLargeKernel>(request.expressions.front(), request, may_compile, shape, config, dtype);
}

GpuMachine::Blas::Use GpuMachine::Blas::on(CUstream_st* stream) {
  Use use{std::unique_lock(mutex_), library_};
  if (stream != stream_) library_.set_stream(stream);
  stream_ = stream;
  return use;
}

std::shared_ptr<GpuMachine::Blas> GpuMachine::blas() const {
  const std::lock_guard lock(blas_mutex_);
  const Gpu::Current current(gpu_);
  if (blas_ == nullptr) blas_ = std::make_shared<Blas>();
  return blas_;
}

std::shared_ptr<const GpuScale> GpuMachine::scale(const GpuScaleKind& kind, bool may_compile) const {
  const auto request = gpu_scale_request(kind, gpu_.limits().compute_capability);
  return kept_or<GpuScale>(request.expressions.front(), request, may_compile, kind);
}

std::shared_ptr<const GpuLayoutKernel> GpuMachine::layout(DType dtype, bool interleaves, int elements,
                                                          bool may_compile) const {
  const GpuLayoutPiece piece = gpu_layout_piece(elements);
  const auto request = gpu_layout_request(dtype, interleaves, piece, gpu_.limits().compute_capability);
  return kept_or<GpuLayoutKernel>(request.expressions.front(), request, may_compile, dtype, piece);
}

const GemmLargeDevice& GpuMachine::large(const Wisdom* wisdom) const {
  fork_safe_call_once(large_asked_, [&] {
    const GpuLimits& limits = gpu_.limits();
    large_ = gemm_large_device(limits, fitted_coefficients(wisdom, limits.name, architecture_of(limits)));
  });
  return large_;
}

GpuMachines::GpuMachines(std::filesystem::path share, std::filesystem::path cache, std::string nvrtc,
                         Report report)
    : share_(std::move(share)),
      cache_(std::move(cache)),
      nvrtc_(std::move(nvrtc)),
      report_(std::move(report)) {}

std::shared_ptr<const GpuMachine> GpuMachines::open(int device) {
  const std::lock_guard lock(mutex_);
  if (const auto it = machines_.find(device); it != machines_.end()) return it->second;
  (void)Gpu::limits_of(device);  // without a GPU this error comes before that of missing files
  if (compiler_ == nullptr) {
    compiler_ = std::make_shared<const StencilCompiler>(share_, cache_, nvrtc_);
    if (const std::string why = compiler_->cache_distrust(); !why.empty() && report_) report_(why);
  }
  return machines_[device] = std::make_shared<const GpuMachine>(device, compiler_);
}

void GpuMachines::forget_report() {
  const std::lock_guard lock(mutex_);
  report_ = nullptr;
}

}  // namespace tilewright
