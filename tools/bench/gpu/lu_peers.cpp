// Calls cuSOLVER in both forms as a careful program does: memory of the device and workspace are kept, the
// matrix is copied to the GPU, factored, and copied back with its pivots.
#include <fmt/format.h>

#include <algorithm>

#include "bench/lu/peers.hpp"
#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "device/gpu/solver.hpp"

namespace tilewright::bench {
namespace {

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

class GpuLuPeers : public LuPeers {
 public:
  explicit GpuLuPeers(int gpu) : gpu_(gpu) {}

  std::string gpu() const override { return gpu_.limits().name; }

  std::vector<LuPeer> peers(const LuProblem& problem, std::vector<std::string>& absent) override {
    std::vector<LuPeer> all;
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

std::unique_ptr<LuPeers> lu_peers(const std::vector<int>& gpus, std::string& why_none) {
  if (Gpu::count(why_none) == 0) return nullptr;
  return std::make_unique<GpuLuPeers>(gpus.empty() ? 0 : gpus.front());
}

}  // namespace tilewright::bench
