// host_blas: large matrices on the host, one call each of a CBLAS that is opened at its first use.
#include <algorithm>

#include "core/dispatch.hpp"
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/operand.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/reference.hpp"

namespace tilewright {
namespace {

class CblasRunner : public HostRunner {
 public:
  explicit CblasRunner(const PlanRequest& r) : HostRunner(r), library_(r.context.cblas()) {}

  void run(const Operands& o) const override {
    run_by(o, 0, problem().batch_count, allowed_threads(asked_threads()), cblas_threads(asked_threads()));
  }
  void run_part(const Operands& o, std::int64_t first, std::int64_t count, int threads) const override {
    run_by(o, first, count, threads, threads);
  }
  bool cuts_batches() const override { return false; }

  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    multiply_by_cblas(*library_, problem(), o, first, count, 0);
  }

  std::string library() const override { return library_->name(); }
  std::string threads_text() const override {
    if (library_->has_local_threads()) return HostRunner::threads_text();
    return fmt::format("those of {}, which takes no count per call", library_->name());
  }

 private:
  // A library that takes a thread count runs a batch one problem per thread; any other runs problem after
  // problem with its own threads, because two layers of threads would compete. `own`: the threads of a
  // problem that gets all of them; 0: the library's default.
  void run_by(const Operands& o, std::int64_t first, std::int64_t count, int threads, int own) const {
    const bool one_each = library_->limits_threads() && count >= threads && threads > 1;
    parallel_ranges(one_each ? threads : 1, count, 1, [&](std::int64_t begin, std::int64_t part) {
      multiply_by_cblas(*library_, problem(), o, first + begin, part, one_each ? 1 : own);
    });
  }

  std::shared_ptr<const CblasLibrary> library_;
};

std::string cblas_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_host(r); !reason.empty()) return reason;
  if (is_interleaved(r.problem)) return "CBLAS does not support interleaved layouts";
  return why_not_by_cblas(*r.context.cblas(), r.problem);
}

}  // namespace

void multiply_by_cblas(const CblasLibrary& library, const GemmProblem& p, const Operands& o,
                       std::int64_t first, std::int64_t count, int threads) {
  const LocalThreads scope(library, threads);
  dispatch(p.dtype, [&]<class T>() {
    const OperandLayout la = layout_a(p), lb = layout_b(p), lc = layout_c(p);
    for (std::int64_t i = first; i < first + count; ++i) {
      const T alpha = scalar_of<T>(p.alpha, o.alpha, o.alpha_stride, i);
      const T beta = scalar_of<T>(p.beta, o.beta, o.beta_stride, i);
      if (alpha == T(0)) {
        scale_c(p, o, i, 1);
        continue;
      }
      library.gemm<T>(p.op_a, p.op_b, p.m, p.n, p.k, alpha, matrix_of<const T>(p, la, o.a, i).data, p.lda,
                      matrix_of<const T>(p, lb, o.b, i).data, p.ldb, beta, matrix_of<T>(p, lc, o.c, i).data,
                      p.ldc);
    }
  });
}

std::string why_not_by_cblas(const CblasLibrary& library, const GemmProblem& p) {
  if (!library.available()) return library.error();
  const std::int64_t largest = std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc});
  if (largest > library.largest_integer())
    return fmt::format("{} does not fit the 32-bit integers of CBLAS", largest);
  return "";
}

constinit const GemmCandidate host_blas_candidate{"host_blas", Tier::large, cblas_declines,
                                                  one_runner<CblasRunner>};

}  // namespace tilewright
