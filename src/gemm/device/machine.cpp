// Loads and compiles what a Context needs of a GPU.
#include "gemm/device/machine.hpp"

namespace tilewright {

GpuMachine::GpuMachine(int device, std::shared_ptr<const StencilCompiler> compiler)
    : gpu_(device), compiler_(std::move(compiler)), workspace_(gpu_) {}

template <class Kernel, class Make>
std::shared_ptr<const Kernel> GpuMachine::kept_or(const StencilRequest& request, bool may_compile,
                                                  Make&& make) const {
  return kept_or<Kernel>(request.expressions.front(), request, may_compile, std::forward<Make>(make));
}

template <class Kernel, class Make>
std::shared_ptr<const Kernel> GpuMachine::kept_or(const std::string& name, const StencilRequest& request,
                                                  bool may_compile, Make&& make) const {
  return std::static_pointer_cast<const Kernel>(kernels_.get(
      name, [&] { return make(may_compile ? compiler_->compile(request) : compiler_->cached(request)); }));
}

std::shared_ptr<const GemmSmallKernel> GpuMachine::gemm_small(const GemmSmallShape& shape,
                                                              const GemmSmallConfig& config, DType dtype,
                                                              bool may_compile) const {
  return kept_or<GemmSmallKernel>(gemm_small_request(shape, config, dtype, gpu_.limits().compute_capability),
                                  may_compile, [&](const JitBinary& binary) {
                                    return std::make_shared<const GemmSmallKernel>(gpu_, binary, shape,
                                                                                   config, dtype);
                                  });
}

std::shared_ptr<const GemmSmallTotal> GpuMachine::gemm_small_total(DType dtype, bool may_compile) const {
  return kept_or<GemmSmallTotal>(
      gemm_small_total_request(dtype, gpu_.limits().compute_capability), may_compile,
      [&](const JitBinary& binary) { return std::make_shared<const GemmSmallTotal>(gpu_, binary, dtype); });
}

std::shared_ptr<const GemmLargeKernel> GpuMachine::gemm_large(const GemmLargeShape& shape,
                                                              const GemmLargeConfig& config, DType dtype,
                                                              bool may_compile) const {
  // By the operands' shape, not by the one that is compiled for: where operands are copied first, the same
  // code serves other alignments, and which of them are copied is another matter for each.
  return kept_or<GemmLargeKernel>(
      gemm_large_expression(shape, config, dtype),
      gemm_large_request(shape, config, dtype, gpu_.limits().compute_capability), may_compile,
      [&](const JitBinary& binary) {
        if (const std::string reason = gemm_large_refusal(binary, config, gpu_.limits()); !reason.empty())
          throw Error(ErrorCode::unsupported, "config", fmt::format("{}: {}", describe(config), reason));
        return std::make_shared<const GemmLargeKernel>(gpu_, binary, shape, config, dtype);
      });
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
  return kept_or<GpuScale>(
      gpu_scale_request(kind, gpu_.limits().compute_capability), may_compile,
      [&](const JitBinary& binary) { return std::make_shared<const GpuScale>(gpu_, binary, kind); });
}

std::shared_ptr<const GpuLayoutKernel> GpuMachine::layout(DType dtype, bool interleaves, int elements,
                                                          bool may_compile) const {
  const GpuLayoutPiece piece = gpu_layout_piece(elements);
  return kept_or<GpuLayoutKernel>(
      gpu_layout_request(dtype, interleaves, piece, gpu_.limits().compute_capability), may_compile,
      [&](const JitBinary& binary) {
        return std::make_shared<const GpuLayoutKernel>(gpu_, binary, dtype, piece);
      });
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
  (void)Gpu::limits_of(device);  // a machine without a GPU is told that before missing files are looked for
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
