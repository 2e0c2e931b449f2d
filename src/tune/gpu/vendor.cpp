// The vendor's library (cuBLAS) as a peer of the pool.
#include <algorithm>

#include "device/gpu/blas.hpp"
#include "tune/gpu/pool.hpp"

namespace tilewright {
namespace {

class VendorTrial : public GpuTrial {
 public:
  VendorTrial(const Gpu& gpu, const GemmProblem& problem) : gpu_(gpu), problem_(problem) {
    const Gpu::Current current(gpu);
    library_ = std::make_unique<GpuBlas>();
  }
  ~VendorTrial() override {
    const Gpu::Current current(gpu_);
    library_.reset();
  }

  const std::string& version() const { return library_->version(); }
  SmallCase edges() const override {
    GemmProblem p = problem_;
    p.layout = Layout::single;
    p.batch_count = 1;
    p.stride_a = p.stride_b = p.stride_c = 0;
    p.m = std::min<std::int64_t>(p.m, 131), p.n = std::min<std::int64_t>(p.n, 67),
    p.k = std::min<std::int64_t>(p.k, 97);
    p.lda = p.a_rows() + 1, p.ldb = p.b_rows() + 3, p.ldc = p.m + 2;
    return {.problem = p};
  }
  void run_edges(const Operands& o) const override { call(edges().problem, o); }
  void run(const Operands& o) const override { call(problem_, o); }

 private:
  void call(const GemmProblem& p, const Operands& o) const {
    const Gpu::Current current(gpu_);
    auto* const stream = static_cast<CUstream_st*>(o.stream);
    if (stream != stream_) library_->set_stream(stream);
    stream_ = stream;
    library_->multiply(p, o);
  }

  const Gpu& gpu_;
  GemmProblem problem_;
  std::unique_ptr<GpuBlas> library_;
  mutable CUstream_st* stream_ = nullptr;
};

}  // namespace

GpuVendor open_gpu_vendor(const Gpu& gpu, const GemmProblem& problem) {
  GpuVendor vendor;
  vendor.absence = GpuBlas::why_not(problem);
  if (!vendor.absence.empty()) return vendor;
  try {
    auto trial = std::make_unique<VendorTrial>(gpu, problem);
    vendor.version = trial->version();
    vendor.trial = std::move(trial);
  } catch (const Error& error) {
    vendor.absence = error.what();
  }
  return vendor;
}

}  // namespace tilewright
