// In host memory, and in that of a GPU.
#include "tune/lu/matrix.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "core/dispatch.hpp"
#include "lu/calls.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "tilewright/lu.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#endif

namespace tilewright {
namespace {

std::int64_t element_count(const LuProblem& p) { return p.lda * p.n; }

// Columns of `lda` elements to columns of m.
void pack(const LuProblem& p, const std::byte* from, std::vector<std::byte>& to) {
  const auto element = std::size_t(size_bytes(p.dtype)), column = std::size_t(p.m) * element;
  to.resize(column * std::size_t(p.n));
  for (std::size_t j = 0; j < std::size_t(p.n); ++j)
    std::memcpy(to.data() + j * column, from + j * std::size_t(p.lda) * element, column);
}

LuOptions options_of(const LuConfig& config, int gpu, int threads) {
  LuOptions options;
  options.candidate = config.candidate, options.nb = config.nb;
  options.device = gpu, options.threads = threads;
  return options;
}

class HostTrial : public LuTrialMatrix {
 public:
  HostTrial(Context& context, const LuProblem& p, int threads, std::uint64_t seed)
      : context_(context),
        problem_(p),
        threads_(threads),
        first_(element_count(p) * size_bytes(p.dtype)),
        a_(first_.bytes()),
        pivots_(std::size_t(std::min(p.m, p.n))) {
    fill(first_.data(), element_count(p), p.dtype, Data::uniform, seed);
    pack(p, first_.data(), original_);
  }
  double factor(const LuConfig& config) override {
    std::memcpy(a_.data(), first_.data(), std::size_t(first_.bytes()));
    const LuOptions options = options_of(config, 0, threads_);
    const double begin = wall_seconds();
    dispatch(problem_.dtype, [&]<class T>() {
      lu_factor(context_, problem_.m, problem_.n, reinterpret_cast<T*>(a_.data()), problem_.lda,
                pivots_.data(), options);
    });
    return wall_seconds() - begin;
  }
  void read(std::vector<std::byte>& lu, std::vector<std::int64_t>& pivots) const override {
    pack(problem_, a_.data(), lu);
    pivots = pivots_;
  }

 private:
  Context& context_;
  LuProblem problem_;
  int threads_;
  AlignedBuffer first_, a_;
  std::vector<std::int64_t> pivots_;
};

#if TILEWRIGHT_HAS_GPU
class DeviceTrial : public LuTrialMatrix {
 public:
  DeviceTrial(Context& context, const LuProblem& p, int gpu, std::uint64_t seed)
      : context_(context),
        problem_(p),
        gpu_(gpu),
        bytes_(std::size_t(element_count(p) * size_bytes(p.dtype))),
        a_(gpu_, bytes_),
        pivots_(gpu_, std::size_t(std::min(p.m, p.n)) * sizeof(std::int64_t)),
        info_(gpu_, sizeof(std::int64_t)),
        first_(bytes_) {
    fill(first_.data(), element_count(p), p.dtype, Data::uniform, seed);
    pack(p, first_.data(), original_);
  }
  double factor(const LuConfig& config) override {
    const Planned& planned = plan_of(config);
    a_.write(first_.data(), bytes_);
    gpu_.synchronize();
    const double begin = wall_seconds();
    dispatch(problem_.dtype, [&]<class T>() {
      planned.plan.factor(a_.as<T>(), pivots_.as<std::int64_t>(), info_.as<std::int64_t>(),
                          {planned.workspace.as<std::byte>(), planned.workspace.bytes()});
    });
    gpu_.synchronize();
    return wall_seconds() - begin;
  }
  void read(std::vector<std::byte>& lu, std::vector<std::int64_t>& pivots) const override {
    std::vector<std::byte> whole(bytes_);
    a_.read(whole.data(), bytes_);
    pack(problem_, whole.data(), lu);
    pivots.resize(std::size_t(std::min(problem_.m, problem_.n)));
    pivots_.read(pivots.data(), pivots.size() * sizeof(std::int64_t));
  }

 private:
  struct Planned {
    LuPlan plan;
    GpuBuffer workspace;
  };
  const Planned& plan_of(const LuConfig& config) {
    const std::pair key(config.candidate, config.nb);
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    LuPlan plan = plan_lu(context_, problem_, options_of(config, gpu_.device(), 0));
    GpuBuffer workspace(gpu_, std::size_t(std::max<std::int64_t>(256, plan.workspace_bytes())));
    return plans_.emplace(key, Planned{std::move(plan), std::move(workspace)}).first->second;
  }

  Context& context_;
  LuProblem problem_;
  Gpu gpu_;
  std::size_t bytes_;
  GpuBuffer a_, pivots_, info_;
  std::vector<std::byte> first_;
  std::map<std::pair<std::string, std::int64_t>, Planned> plans_;
};
#endif

}  // namespace

std::unique_ptr<LuTrialMatrix> lu_trial_matrix(Context& context, const LuProblem& problem,
                                               [[maybe_unused]] int gpu, int threads, std::uint64_t seed) {
  if (problem.location == Location::host) return std::make_unique<HostTrial>(context, problem, threads, seed);
#if TILEWRIGHT_HAS_GPU
  return std::make_unique<DeviceTrial>(context, problem, gpu, seed);
#else
  throw Error(ErrorCode::unsupported, "location", "location = device: this build has no GPU runtime");
#endif
}

}  // namespace tilewright
