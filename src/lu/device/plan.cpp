// Plans for factorizations in the memory of a GPU, and who serves them.
#include "lu/device/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <functional>
#include <mutex>

#include "device/gpu/solver.hpp"
#include "gemm/hybrid/node.hpp"
#include "lu/device/machines.hpp"
#include "lu/device/plan_arguments.hpp"
#include "lu/device/resident.hpp"
#include "lu/problem.hpp"
#include "lu/tuned.hpp"
#include "lu/validate.hpp"

namespace tilewright {
namespace {

class LuRunner {
 public:
  virtual ~LuRunner() = default;
  virtual std::int64_t workspace_bytes() const = 0;
  virtual void factor(const DeviceLuOperands& operands, CUstream_st* stream) = 0;
  virtual std::string describe() const = 0;
  virtual const char* name() const = 0;  // of its candidate
};

struct LuRunnerRequest {
  Context& context;
  const LuProblem& problem;
  const LuOptions& options;
  std::shared_ptr<LuTools> tools;
};

class PanelRunner : public LuRunner {
 public:
  explicit PanelRunner(const LuRunnerRequest& r)
      : lu_(r.tools, {r.problem.dtype, r.problem.m, r.problem.n, r.problem.lda, r.options.nb},
            {product_time(r)}) {}
  std::int64_t workspace_bytes() const override { return lu_.workspace_bytes(); }
  void factor(const DeviceLuOperands& operands, CUstream_st* stream) override {
    lu_.factor(operands, stream);
  }
  std::string describe() const override { return fmt::format("blocks of nb={}", lu_.shape().nb); }
  const char* name() const override { return "panels"; }

 private:
  static GemmTime product_time(const LuRunnerRequest& r) {
    const std::string& name = r.tools->gpu().limits().name;
    const NodeModel node = node_model(Access::impl(r.context).wisdom(), "", "", 1, {name});
    return node.gpus.front().gemm[std::size_t(r.problem.dtype)];
  }
  DeviceLu lu_;
};

class SolverRunner : public LuRunner {
 public:
  explicit SolverRunner(const LuRunnerRequest& r)
      : gpu_(r.tools->gpu()), tools_(r.tools), problem_(r.problem) {
    if (r.options.nb > 0)
      throw Error(ErrorCode::unsupported, "nb",
                  fmt::format("nb = {} is asked for, and the library has its own", r.options.nb));
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
      // The device is lost; the library's handle goes without it.
    }
  }
  std::int64_t workspace_bytes() const override { return std::int64_t(sizes_.device_bytes); }
  void factor(const DeviceLuOperands& o, CUstream_st* stream) override {
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
  const char* name() const override { return "cusolver"; }

 private:
  const Gpu& gpu_;
  std::shared_ptr<LuTools> tools_;  // keeps the GPU
  LuProblem problem_;
  LongMutex mutex_;
  std::unique_ptr<GpuSolver> solver_;
  GpuSolver::Workspace sizes_;
  std::vector<char> host_;
};

struct PlanCandidate : LuPlanCandidateName {
  std::unique_ptr<LuRunner> (*make)(const LuRunnerRequest&);  // throws Error(unsupported) with the reason
};

template <class R>
std::unique_ptr<LuRunner> make_runner(const LuRunnerRequest& request) {
  return std::make_unique<R>(request);
}

constexpr PlanCandidate plan_candidates[] = {{{"panels", LuEngine::most_nb}, make_runner<PanelRunner>},
                                             {{"cusolver", 0}, make_runner<SolverRunner>}};

}  // namespace

struct LuPlan::Impl {
  LuProblem problem;
  std::unique_ptr<LuRunner> runner;  // null where there is nothing to do
  LuExplanation said;
};

namespace {

using Said = std::vector<LuExplanation::Said>;

// The first candidate that the options allow and that serves, with what each says.
std::unique_ptr<LuRunner> first_that_serves(const LuRunnerRequest& request, Said& said) {
  for (const PlanCandidate& one : plan_candidates) {
    if (!request.options.candidate.empty() && request.options.candidate != one.name) continue;
    try {
      auto runner = one.make(request);
      said.push_back({one.name, "", runner->describe()});
      return runner;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      said.push_back({one.name, error.what(), ""});
    }
  }
  return nullptr;
}

// As wisdom has it where its candidate serves. No runner where nothing is to be done, or nobody does it.
std::shared_ptr<LuPlan::Impl> decide_device_lu(Context& context, LuProblem problem,
                                               const LuOptions& options) {
  validate(problem);
  validate(options);
  std::vector<const char*> names;
  for (const PlanCandidate& one : plan_candidates) names.push_back(one.name);
  validate_candidate(options.candidate, names);
  problem.location = Location::device;
  auto impl = std::make_shared<LuPlan::Impl>();
  impl->problem = problem;
  impl->said.problem = to_string(problem);
  std::shared_ptr<LuTools> tools;
  try {
    tools = LuMachines::of(Access::impl(context)).tools(options.device);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    for (const PlanCandidate& one : plan_candidates) impl->said.said.push_back({one.name, error.what(), ""});
    return impl;
  }
  if (std::min(problem.m, problem.n) == 0) return impl;
  if (const auto tuned = tuned_lu(context, problem, options)) {
    const LuOptions as_tuned = with_config(options, tuned->config);
    Said said;
    impl->runner = first_that_serves({context, problem, as_tuned, tools}, said);
    if (impl->runner != nullptr) {
      impl->said.tuned = tuned, impl->said.said = said;
      return impl;
    }
  }
  impl->runner = first_that_serves({context, problem, options, tools}, impl->said.said);
  return impl;
}

}  // namespace

std::vector<LuPlanCandidateName> lu_plan_candidates() {
  return {std::begin(plan_candidates), std::end(plan_candidates)};
}

std::string device_lu_candidate(Context& context, const LuProblem& problem, const LuOptions& options) {
  const auto impl = decide_device_lu(context, problem, options);
  return impl->runner == nullptr ? "" : impl->runner->name();
}

LuExplanation device_lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options) {
  return decide_device_lu(context, problem, options)->said;
}

LuPlan plan_lu(Context& context, const LuProblem& problem, const LuOptions& options) {
  auto impl = decide_device_lu(context, problem, options);
  const bool is_nothing = std::min(problem.m, problem.n) == 0 && impl->said.said.empty();
  if (impl->runner == nullptr && !is_nothing) {
    std::string reasons = impl->said.text();
    reasons.pop_back();
    for (std::size_t at = 0; (at = reasons.find("\n  ")) != std::string::npos;) reasons.replace(at, 3, "; ");
    throw Error(ErrorCode::unsupported, options.candidate.empty() ? "problem" : "candidate",
                "no candidate factors " + reasons);
  }
  return Access::make<LuPlan>(std::move(impl));
}

const LuProblem& LuPlan::problem() const noexcept { return impl_->problem; }
std::string LuPlan::explain() const { return impl_->said.text(); }
std::int64_t LuPlan::workspace_bytes() const noexcept {
  return impl_->runner == nullptr ? 0 : impl_->runner->workspace_bytes();
}

template <class T>
void LuPlan::factor(T* a, std::int64_t* pivots, std::int64_t* info, std::span<std::byte> workspace,
                    CUstream_st* stream) const {
  require_dtype<T>("a", impl_->problem.dtype);
  require_address("info", info);
  if (impl_->runner == nullptr) return;
  require_address("a", a);
  require_address("pivots", pivots);
  require_workspace(workspace, workspace_bytes());
  impl_->runner->factor(
      {a, reinterpret_cast<long long*>(pivots), reinterpret_cast<long long*>(info), workspace.data()},
      stream);
}

#define TILEWRIGHT_INSTANTIATE(T) \
  template void LuPlan::factor(T*, std::int64_t*, std::int64_t*, std::span<std::byte>, CUstream_st*) const;
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(std::complex<float>)
TILEWRIGHT_INSTANTIATE(std::complex<double>)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
