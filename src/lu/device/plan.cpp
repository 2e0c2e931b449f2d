// Plans for factorizations in the memory of a GPU, and their candidates.
#include "lu/device/plan.hpp"

#include <algorithm>
#include <mutex>

#include "core/dispatch.hpp"
#include "device/gpu/solver.hpp"
#include "device/profiler_range.hpp"
#include "gemm/context_impl.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "lu/device/schedule.hpp"
#include "lu/device/tools.hpp"
#include "lu/validate.hpp"
#include "plan/rank.hpp"

namespace tilewright {

struct DeviceLuRequest {
  Context& context;
  const LuProblem& problem;
  const LuOptions& options;
  std::shared_ptr<LuTools> tools;
};

class DeviceLuRunner {
 public:
  using Operation = DeviceLuOperation;

  virtual ~DeviceLuRunner() = default;
  virtual std::int64_t workspace_bytes() const = 0;
  // By several threads, one at a time.
  virtual void factor(const DeviceLuOperands& operands, CUstream_st* stream) const = 0;
  virtual std::string describe() const = 0;
};

namespace {

class PanelRunner : public DeviceLuRunner {
 public:
  explicit PanelRunner(const DeviceLuRequest& r)
      : lu_(r.tools, {r.problem.dtype, r.problem.m, r.problem.n, r.problem.lda, r.options.nb},
            {product_time(r)}) {}
  std::int64_t workspace_bytes() const override { return lu_.workspace_bytes(); }
  void factor(const DeviceLuOperands& operands, CUstream_st* stream) const override {
    lu_.factor(operands, stream);
  }
  std::string describe() const override { return fmt::format("blocks of nb={}", lu_.shape().nb); }

 private:
  static GemmTime product_time(const DeviceLuRequest& r) {
    const std::string& name = r.tools->gpu().limits().name;
    const NodeModel node = node_model(Access::impl(r.context).wisdom(), "", "", 1, {name});
    return node.gpus.front().gemm[std::size_t(r.problem.dtype)];
  }
  mutable DeviceLu lu_;
};

class SolverRunner : public DeviceLuRunner {
 public:
  explicit SolverRunner(const DeviceLuRequest& r)
      : gpu_(r.tools->gpu()), tools_(r.tools), problem_(r.problem) {
    const Gpu::Current current(gpu_);
    solver_ = std::make_unique<GpuSolver>();
    sizes_ = solver_->xgetrf_workspace(problem_.dtype, problem_.m, problem_.n, nullptr, problem_.lda);
    host_.resize(sizes_.host_bytes + 1);
  }
  ~SolverRunner() override {
    try {
      const Gpu::Current current(gpu_);
      solver_.reset();
    } catch (...) {
      // The device is lost, and with it the library's handle.
    }
  }
  std::int64_t workspace_bytes() const override { return std::int64_t(sizes_.device_bytes); }
  void factor(const DeviceLuOperands& o, CUstream_st* stream) const override {
    const std::lock_guard lock(mutex_);
    const Gpu::Current current(gpu_);
    const long long zero = 0;
    gpu_.fill(o.info, &zero, sizeof zero, 1, stream);  // the library writes half of it
    solver_->set_stream(stream);
    solver_->xgetrf(problem_.dtype, problem_.m, problem_.n, o.a, problem_.lda,
                    reinterpret_cast<std::int64_t*>(o.pivots), sizes_, o.workspace, host_.data(),
                    reinterpret_cast<int*>(o.info));
  }
  std::string describe() const override { return "Xgetrf of cuSOLVER " + solver_->version(); }

 private:
  const Gpu& gpu_;
  std::shared_ptr<LuTools> tools_;  // keeps the GPU
  LuProblem problem_;
  mutable LongMutex mutex_;
  std::unique_ptr<GpuSolver> solver_;
  GpuSolver::Workspace sizes_;
  mutable std::vector<char> host_;
};

std::string panels_decline(const DeviceLuRequest&) { return ""; }
std::string solver_declines(const DeviceLuRequest& r) {
  if (r.options.nb == 0) return "";
  return fmt::format("does not support nb = {}: the library chooses its own", r.options.nb);
}

constexpr Candidate<DeviceLuOperation> listed_candidates[] = {
    {"panels", Tier::any, panels_decline, one_runner<PanelRunner>, {LuEngine::most_nb}},
    {"cusolver", Tier::any, solver_declines, one_runner<SolverRunner>}};

}  // namespace

Asked DeviceLuOperation::asked(const DeviceLuRequest& r) { return {r.options.candidate}; }
std::span<const Candidate<DeviceLuOperation>> device_lu_candidates() { return listed_candidates; }

void validate_device(const LuOptions& options) {
  validate(options);
  refuse_unknown_candidate(options.candidate, device_lu_candidates());
}

struct LuPlan::Impl : Explanation {
  LuProblem problem;
  std::shared_ptr<const DeviceLuRunner> runner;  // null if there is nothing to do
};

namespace {

// By the record of wisdom if its candidate serves. No runner without work or candidate.
std::shared_ptr<LuPlan::Impl> decide_device_lu(Context& context, LuProblem problem,
                                               const LuOptions& options) {
  validate(problem);
  validate_device(options);
  problem.location = Location::device;
  auto impl = std::make_shared<LuPlan::Impl>();
  impl->problem = problem;
  impl->asked = to_string(problem);
  std::shared_ptr<LuTools> tools;
  try {
    tools = LuMachines::of(Access::impl(context)).tools(options.device);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    for (const auto& one : device_lu_candidates()) impl->decisions.push_back({one.name, false, error.what()});
    return impl;
  }
  if (std::min(problem.m, problem.n) == 0) return impl;
  const WisdomAnswer record = tuned_lu(context, problem, options);
  auto ranking = ranked_by_record(record, options, [&](const LuOptions& as_tuned, bool) {
    return rank<DeviceLuOperation>({context, problem, as_tuned, tools}, device_lu_candidates());
  });
  impl->runner = ranking.made.runner;
  ranking.asked = impl->asked;
  if (impl->runner != nullptr) ranking.does = impl->runner->describe();
  static_cast<Explanation&>(*impl) = std::move(ranking);
  return impl;
}

}  // namespace

Explanation device_lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options) {
  return *decide_device_lu(context, problem, options);
}

LuPlan plan_lu(Context& context, const LuProblem& problem, const LuOptions& options) {
  auto impl = decide_device_lu(context, problem, options);
  const bool is_nothing = std::min(problem.m, problem.n) == 0 && impl->decisions.empty();
  if (impl->runner == nullptr && !is_nothing)
    throw Error(ErrorCode::unsupported, options.candidate.empty() ? "problem" : "candidate",
                fmt::format("no candidate factors {}: {}", impl->asked, impl->reasons()));
  return Access::make<LuPlan>(std::move(impl));
}

const LuProblem& LuPlan::problem() const noexcept { return impl_->problem; }
std::string LuPlan::explain() const { return lu_text(*impl_); }
std::int64_t LuPlan::workspace_bytes() const noexcept {
  return impl_->runner == nullptr ? 0 : impl_->runner->workspace_bytes();
}

template <class T>
void LuPlan::factor(T* a, std::int64_t* pivots, std::int64_t* info, std::span<std::byte> workspace,
                    CUstream_st* stream) const {
  require_dtype<T>("a", impl_->problem.dtype);
  require_addresses({{"info", info}}, {}, 0);
  if (impl_->runner == nullptr) return;
  require_addresses({{"a", a}, {"pivots", pivots}}, workspace, workspace_bytes());
  const ProfilerRange range([] { return true; }, [&] { return "tilewright " + to_string(impl_->problem); });
  impl_->runner->factor(
      {a, reinterpret_cast<long long*>(pivots), reinterpret_cast<long long*>(info), workspace.data()},
      stream);
}

#define TILEWRIGHT_INSTANTIATE(T) \
  template void LuPlan::factor(T*, std::int64_t*, std::int64_t*, std::span<std::byte>, CUstream_st*) const;
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
