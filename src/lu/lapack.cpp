// lapack: the whole factorization by the xGETRF of the library that also has the CBLAS.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/dispatch.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/parallel.hpp"
#include "lu/blas.hpp"
#include "lu/candidates.hpp"
#include "lu/problem.hpp"
#include "lu/updates.hpp"

namespace tilewright {
namespace {

std::string lapack_declines(const LuRequest& r) {
  if (auto reason = why_not_on_cpu(r); !reason.empty()) return reason;
  if (r.options.nb > 0) return fmt::format("nb = {} is asked for, and the library has its own", r.options.nb);
  const auto library = Access::impl(r.context).cblas();
  if (!library->available()) return library->error();
  if (!library->has_getrf()) return library->name() + " has no getrf";
  if (std::max({r.problem.m, r.problem.n, r.problem.lda}) > std::numeric_limits<int>::max())
    return fmt::format("{} has sizes beyond an int", to_string(r.problem));
  // What GPUs would speed up is left to the blocked algorithm.
  if (r.options.target == Target::automatic && r.options.candidate.empty() && updates_use_gpus(r))
    return "the models of the machine give the largest trailing update to GPUs";
  return "";
}

class LapackRunner : public LuRunner {
 public:
  using LuRunner::LuRunner;
  LuReport factor(void* a, std::int64_t* pivots) const override {
    const LuProblem& p = request().problem;
    LuReport report;
    const HostBlas blas(request().context, request().options.threads);
    dispatch(p.dtype,
             [&]<class T>() { report.info = blas.factor(p.m, p.n, static_cast<T*>(a), p.lda, pivots); });
    return report;
  }
  std::string describe() const override {
    return fmt::format("getrf of {}", Access::impl(request().context).cblas()->name());
  }
};

}  // namespace

constinit const LuCandidate lapack_lu{"lapack", Tier::any, lapack_declines, one_runner<LapackRunner>};

}  // namespace tilewright
