// The peers of bench hybrid: cublasXt with a few block sizes and CPU ratios, and the simplest methods: copy
// all operands to the GPU, call cuBLAS or a kernel of tilewright, copy C back. And of bench lu: cuSOLVER.
#include <fmt/format.h>

#include <algorithm>

#include "bench/gpu_parts.hpp"
#include "core/problem.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/gpu.hpp"
#include "device/gpu/solver.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/split/shape.hpp"
#include "gemm/plan.hpp"
#include "peers/cblas_library.hpp"
#include "people/refusal.hpp"

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
    if (p.layout == Layout::pointer) not_supported("layout", "separate operands must be copied one by one");
    return StreamShape(p, SplitSide::problems).span_bytes(which);
  }

  const Gpu& gpu_;
  GemmProblem problem_;
  std::int64_t bytes_[3];
  GpuBuffer a_, b_, c_;
  DeviceCall call_;
};

// cublasXt, the vendor's product of host operands on several GPUs, called as its documentation describes: a
// block size, devices, and a part of C for the CPU's BLAS.
class CublasXt {
 public:
  // Throws Error(unsupported) naming the libraries tried or the call that failed.
  explicit CublasXt(const std::vector<int>& devices) {
    if (!library_) throw Error(ErrorCode::unsupported, "cublasxt", library_.error());
    load(create_, "cublasXtCreate");
    load(destroy_, "cublasXtDestroy");
    load(select_, "cublasXtDeviceSelect");
    load(set_block_, "cublasXtSetBlockDim");
    load(set_routine_, "cublasXtSetCpuRoutine");
    load(set_ratio_, "cublasXtSetCpuRatio");
    load(get_property_, "cublasGetProperty");
    constexpr const char* names[] = {"cublasXtSgemm", "cublasXtDgemm", "cublasXtCgemm", "cublasXtZgemm"};
    for (int i = 0; i < 4; ++i) load(gemm_[i], names[i]);
    expect(create_(&handle_), "cublasXtCreate");
    std::vector<int> chosen = devices;
    expect(select_(handle_, int(chosen.size()), chosen.data()), "cublasXtDeviceSelect");
  }
  ~CublasXt() {
    if (handle_ != nullptr) destroy_(handle_);
  }
  CublasXt& operator=(CublasXt&&) = delete;

  void set_block(int block) { expect(set_block_(handle_, block), "cublasXtSetBlockDim"); }
  // Sets the CPU's share of C, computed by the Fortran routine `gemm` of the type; 0: the GPUs alone.
  void set_cpu_ratio(DType dtype, void* gemm, float ratio) {
    constexpr int gemm_operation = 0;
    expect(set_routine_(handle_, gemm_operation, int(dtype), gemm), "cublasXtSetCpuRoutine");
    expect(set_ratio_(handle_, gemm_operation, int(dtype), ratio), "cublasXtSetCpuRatio");
  }
  // Returns when C is complete. alpha and beta are host addresses of the type.
  void multiply(const GemmProblem& p, const Operands& o) {
    const auto op = [](Op which) { return which == Op::none ? 0 : which == Op::trans ? 1 : 2; };
    expect(gemm_[int(p.dtype)](handle_, op(p.op_a), op(p.op_b), std::size_t(p.m), std::size_t(p.n),
                               std::size_t(p.k), o.alpha, o.a, std::size_t(p.lda), o.b, std::size_t(p.ldb),
                               o.beta, o.c, std::size_t(p.ldc)),
           "cublasXt gemm");
  }
  std::string version() const {
    int parts[3] = {};
    for (int i = 0; i < 3; ++i) get_property_(i, &parts[i]);
    return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
  }

 private:
  using Handle = void*;
  using GemmCall = int (*)(Handle, int, int, std::size_t, std::size_t, std::size_t, const void*, const void*,
                           std::size_t, const void*, std::size_t, const void*, void*, std::size_t);

  static void expect(int status, const char* call) {
    if (status != 0) not_supported("cublasxt", "{} fails with status {}", call, status);
  }
  template <class F>
  void load(F& function, const char* name) {
    function = library_.symbol<F>(name);
    if (function == nullptr) not_supported("cublasxt", "{} has no {}", library_.path(), name);
  }

  peers::Library library_ =
      peers::Library::open({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"});
  Handle handle_ = nullptr;
  int (*create_)(Handle*) = nullptr;
  int (*destroy_)(Handle) = nullptr;
  int (*select_)(Handle, int, int*) = nullptr;
  int (*set_block_)(Handle, int) = nullptr;
  int (*set_routine_)(Handle, int, int, void*) = nullptr;
  int (*set_ratio_)(Handle, int, int, float) = nullptr;
  int (*get_property_)(int, int*) = nullptr;
  GemmCall gemm_[4] = {};
};

// Returns the Fortran gemm of the type from the first BLAS that is found; null without one.
void* fortran_gemm(DType dtype) {
  using peers::Library;
  static const Library library = Library::open({"libopenblas.so.0", "libopenblas.so", "libblas.so.3"});
  return library ? library.symbol<void*>(std::string(1, peers::blas_letter(dtype)) + "gemm_") : nullptr;
}

class GpuHybridPeers {
 public:
  explicit GpuHybridPeers(const std::vector<int>& gpus) : devices_(gpus), gpu_(gpus.front()) {}

  std::string gpu() const { return gpu_.limits().name; }

  std::vector<HybridPeers::Peer> peers(const GemmProblem& p, std::vector<std::string>& absent) {
    std::vector<HybridPeers::Peer> all;
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
                std::vector<HybridPeers::Peer>& all, DeviceCall call) {
    const auto copy = std::make_shared<CopyCall>(gpu_, p, std::move(call));
    all.push_back({name, version, "", [copy](const Operands& o) { copy->run(o); }});
  }

  void add_xt(const GemmProblem& p, std::vector<HybridPeers::Peer>& all) {
    if (xt_ == nullptr) xt_ = std::make_shared<CublasXt>(devices_);
    void* routine = fortran_gemm(p.dtype);
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
  std::shared_ptr<CublasXt> xt_;
};

// Calls cuSOLVER in both forms as a careful program does: memory of the device and workspace are kept, the
// matrix is copied to the GPU, factored, and copied back with its pivots.

class SolverCall {
 public:
  SolverCall(const Gpu& gpu, std::shared_ptr<GpuSolver> solver, const LuProblem& p, bool wide)
      : gpu_(gpu),
        solver_(std::move(solver)),
        problem_(p),
        wide_(wide),
        a_(gpu, bytes()),
        pivots_(gpu, std::size_t(count()) * sizeof(std::int64_t)),
        info_(gpu, sizeof(int)),
        narrow_(std::size_t(wide ? 0 : count())) {
    const Gpu::Current current(gpu_);
    std::size_t work = 0;
    if (wide_) {
      sizes_ = solver_->xgetrf_workspace(p.dtype, p.m, p.n, a_.as<void>(), p.lda);
      work = sizes_.device_bytes;
      host_work_.resize(sizes_.host_bytes + 1);
    } else {
      work =
          std::size_t(solver_->getrf_elements(p.dtype, p.m, p.n, a_.as<void>(), p.lda) * size_bytes(p.dtype));
    }
    work_ = std::make_unique<GpuBuffer>(gpu, std::max<std::size_t>(256, work));
  }

  std::int64_t run(void* a, std::int64_t* pivots) {
    const Gpu::Current current(gpu_);
    const LuProblem& p = problem_;
    a_.write(a, bytes());
    if (wide_)
      solver_->xgetrf(p.dtype, p.m, p.n, a_.as<void>(), p.lda, pivots_.as<std::int64_t>(), sizes_,
                      work_->as<void>(), host_work_.data(), info_.as<int>());
    else
      solver_->getrf(p.dtype, p.m, p.n, a_.as<void>(), p.lda, work_->as<void>(), pivots_.as<int>(),
                     info_.as<int>());
    a_.read(a, bytes());
    int info = 0;
    info_.read(&info, sizeof info);
    if (wide_) {
      pivots_.read(pivots, std::size_t(count()) * sizeof(std::int64_t));
    } else {
      pivots_.read(narrow_.data(), narrow_.size() * sizeof(int));
      std::copy(narrow_.begin(), narrow_.end(), pivots);
    }
    return info;
  }

 private:
  std::size_t bytes() const { return std::size_t(problem_.lda * problem_.n * size_bytes(problem_.dtype)); }
  std::int64_t count() const { return std::min(problem_.m, problem_.n); }

  const Gpu& gpu_;
  std::shared_ptr<GpuSolver> solver_;
  LuProblem problem_;
  bool wide_;  // pivots of 64 bits
  GpuBuffer a_, pivots_, info_;
  std::unique_ptr<GpuBuffer> work_;
  GpuSolver::Workspace sizes_;
  std::vector<char> host_work_;
  std::vector<int> narrow_;
};

class GpuLuPeers {
 public:
  explicit GpuLuPeers(int gpu) : gpu_(gpu) {}

  std::string gpu() const { return gpu_.limits().name; }

  std::vector<LuPeers::Peer> peers(const LuProblem& problem, std::vector<std::string>& absent) {
    std::vector<LuPeers::Peer> all;
    for (const bool wide : {false, true}) {
      const char* const variant = wide ? "xgetrf" : "getrf";
      try {
        if (solver_ == nullptr) {
          const Gpu::Current current(gpu_);
          solver_ = std::make_shared<GpuSolver>();
        }
        const auto call = std::make_shared<SolverCall>(gpu_, solver_, problem, wide);
        all.push_back({"cusolver", solver_->version(), variant,
                       [call](void* a, std::int64_t* pivots) { return call->run(a, pivots); }});
      } catch (const Error& error) {
        absent.push_back(fmt::format("cusolver {}: {}", variant, error.what()));
      }
    }
    return all;
  }

 private:
  Gpu gpu_;
  std::shared_ptr<GpuSolver> solver_;
};

}  // namespace

HybridPeers hybrid_peers(const std::vector<int>& gpus, std::string& why_none) {
  std::vector<int> devices = gpus;
  const int count = Gpu::count(why_none);
  for (int i = 0; gpus.empty() && i < count; ++i) devices.push_back(i);
  if (count == 0) return {};
  const auto all = std::make_shared<GpuHybridPeers>(devices);
  return {all->gpu(),
          [all](const GemmProblem& p, std::vector<std::string>& absent) { return all->peers(p, absent); }};
}

LuPeers lu_peers(const std::vector<int>& gpus, std::string& why_none) {
  if (Gpu::count(why_none) == 0) return {};
  const auto all = std::make_shared<GpuLuPeers>(gpus.empty() ? 0 : gpus.front());
  return {all->gpu(),
          [all](const LuProblem& p, std::vector<std::string>& absent) { return all->peers(p, absent); }};
}

}  // namespace tilewright::bench
