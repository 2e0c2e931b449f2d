// cublasXt with a few block sizes and CPU ratios, and the simplest methods: copy all operands to the GPU,
// call cuBLAS or a kernel of tilewright, copy C back.
#include "bench/hybrid_peers.hpp"

#include <fmt/format.h>

#include "device/gpu/blas.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/execute.hpp"
#include "gemm/hybrid/split/shape.hpp"
#include "gemm/plan.hpp"
#include "peers/xt.hpp"

namespace tilewright::bench {
namespace {

constexpr int block_sizes[] = {1024, 2048, 4096};
constexpr float cpu_ratios[] = {0, 0.05F};

using DeviceCall = std::function<void(const GemmProblem&, const Operands&)>;

// Keeps the operands in device memory between calls, as a careful program would.
class CopyCall {
 public:
  CopyCall(const Gpu& gpu, const GemmProblem& p, DeviceCall call)
      : gpu_(gpu),
        problem_(p),
        bytes_{span_bytes(p, ProductMatrix::a), span_bytes(p, ProductMatrix::b),
               span_bytes(p, ProductMatrix::c)},
        a_(gpu, std::size_t(bytes_[0])),
        b_(gpu, std::size_t(bytes_[1])),
        c_(gpu, std::size_t(bytes_[2])),
        call_(std::move(call)) {
    problem_.location = Location::device;
  }

  void run(const Operands& o) {
    const Gpu::Current current(gpu_);
    a_.write(o.a, std::size_t(bytes_[0]));
    b_.write(o.b, std::size_t(bytes_[1]));
    if (problem_.beta != Scalar::zero) c_.write(o.c, std::size_t(bytes_[2]));
    Operands there = o;
    there.a = a_.as<void>(), there.b = b_.as<void>(), there.c = c_.as<void>();
    call_(problem_, there);
    c_.read(o.c, std::size_t(bytes_[2]));
  }

 private:
  static std::int64_t span_bytes(const GemmProblem& p, ProductMatrix which) {
    if (p.layout == Layout::pointer)
      throw Error(ErrorCode::unsupported, "layout", "operands that lie apart have to be copied one by one");
    return StreamShape(p, SplitSide::problems).span_bytes(which);
  }

  const Gpu& gpu_;
  GemmProblem problem_;
  std::int64_t bytes_[3];
  GpuBuffer a_, b_, c_;
  DeviceCall call_;
};

class GpuHybridPeers : public HybridPeers {
 public:
  explicit GpuHybridPeers(const std::vector<int>& gpus) : devices_(gpus), gpu_(gpus.front()) {}

  std::vector<HybridPeer> peers(const GemmProblem& p, std::vector<std::string>& absent) override {
    std::vector<HybridPeer> all;
    const auto attempt = [&](const char* name, auto&& add) {
      try {
        add();
      } catch (const Error& error) {
        absent.push_back(fmt::format("{}: {}", name, error.what()));
      }
    };
    const bool is_batch = p.layout != Layout::single;
    if (!is_batch) attempt("cublasxt", [&] { add_xt(p, all); });
    attempt("copy_cublas", [&] {
      if (const std::string reason = GpuBlas::why_not(p); !reason.empty())
        throw Error(ErrorCode::unsupported, "layout", reason);
      const Gpu::Current current(gpu_);
      const auto blas = std::make_shared<GpuBlas>();
      add_copy("copy_cublas", blas->version(), p, all,
               [blas](const GemmProblem& there, const Operands& o) { blas->multiply(there, o); });
    });
    if (is_batch)
      attempt("copy_kernel", [&] {
        add_copy("copy_kernel", TILEWRIGHT_VERSION, p, all,
                 [this](const GemmProblem& there, const Operands& o) {
                   GemmOptions options;
                   options.queue.device = gpu_.device();
                   execute(*find_plan(Access::impl(context_), there, options), o);
                 });
      });
    return all;
  }

 private:
  void add_copy(const char* name, const std::string& version, const GemmProblem& p,
                std::vector<HybridPeer>& all, DeviceCall call) {
    const auto copy = std::make_shared<CopyCall>(gpu_, p, std::move(call));
    all.push_back({name, version, "", [copy](const Operands& o) { copy->run(o); }});
  }

  void add_xt(const GemmProblem& p, std::vector<HybridPeer>& all) {
    if (xt_ == nullptr) xt_ = std::make_shared<peers::CublasXt>(devices_);
    void* routine = peers::fortran_gemm(p.dtype);
    for (const int block : block_sizes)
      for (const float ratio : cpu_ratios) {
        if (ratio > 0 && routine == nullptr) continue;
        if (block > block_sizes[0] && block > std::max(p.m, p.n)) continue;
        all.push_back({"cublasxt", xt_->version(), fmt::format("block {} CPU {:g}", block, ratio),
                       [p, block, ratio, routine, xt = xt_](const Operands& o) {
                         xt->set_block(block);
                         if (routine != nullptr) xt->set_cpu_ratio(p.dtype, routine, ratio);
                         xt->multiply(p, o);
                       }});
      }
  }

  std::vector<int> devices_;
  Gpu gpu_;
  Context context_{ContextOptions{.notices = false}};
  std::shared_ptr<peers::CublasXt> xt_;
};

}  // namespace

std::unique_ptr<HybridPeers> hybrid_peers(const std::vector<int>& gpus, std::string& why_none) {
  std::vector<int> devices = gpus;
  const int count = Gpu::count(why_none);
  for (int i = 0; gpus.empty() && i < count; ++i) devices.push_back(i);
  if (count == 0) return nullptr;
  return std::make_unique<GpuHybridPeers>(devices);
}

}  // namespace tilewright::bench
