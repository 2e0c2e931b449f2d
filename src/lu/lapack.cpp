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
  const auto library = r.context.impl().cblas();
  if (!library->available()) return library->error();
  if (!library->has_getrf()) return library->name() + " has no getrf";
  if (std::max({r.problem.m, r.problem.n, r.problem.lda}) > std::numeric_limits<int>::max())
    return fmt::format("{} has sizes beyond an int", to_string(r.problem));
  // What GPUs would speed up is left to the blocked algorithm.
  if (r.options.target == Target::automatic && r.options.candidate.empty() && updates_use_gpus(r))
    return "the models of the machine give the largest trailing update to GPUs";
  return "";
}

LuReport factor_by_lapack(const LuRequest& r, void* a, std::int64_t* pivots) {
  LuReport report;
  const HostBlas blas(r.context, r.options.threads);
  dispatch(r.problem.dtype, [&]<class T>() {
    report.info = blas.factor(r.problem.m, r.problem.n, static_cast<T*>(a), r.problem.lda, pivots);
  });
  return report;
}

std::string describe_lapack(const LuRequest& r) {
  return fmt::format("getrf of {}", r.context.impl().cblas()->name());
}

}  // namespace

constinit const LuCandidate lapack_lu{"lapack", lapack_declines, factor_by_lapack, describe_lapack};

}  // namespace tilewright
