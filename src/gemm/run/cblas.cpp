// cblas: large matrices on the host, one call each of a CBLAS that is opened when first wanted. The library
// is device/cblas.hpp's.
#include "gemm/context_impl.hpp"
#include "gemm/operand.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/cblas_library.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/ways.hpp"

namespace tilewright {
namespace {

class CblasRunner : public HostRunner {
 public:
  explicit CblasRunner(const PlanRequest& r) : HostRunner(r), library_(r.context.cblas()) {}

  void run(const Operands& o) const override {
    const int threads = allowed_threads(asked_threads());
    run_by(o, 0, problem().batch_count, threads, asked_threads() > 0 || threads == 1 ? threads : 0);
  }
  void run_part(const Operands& o, std::int64_t first, std::int64_t count, int threads) const override {
    run_by(o, first, count, threads, threads);
  }
  bool cuts_batches() const override { return false; }

  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    multiply_by_cblas(*library_, problem(), o, first, count);
  }

  std::string library() const override { return library_->name(); }
  std::string threads_text() const override {
    if (library_->has_local_threads()) return HostRunner::threads_text();
    return fmt::format("the own ones of {}, which takes no count per call", library_->name());
  }

 private:
  // A library that takes a thread count runs a batch one problem per thread; any other runs problem after
  // problem with its own threads, because two layers of threads would fight. `own`: how many of
  // its threads a problem gets that has them all; 0: as many as it likes.
  void run_by(const Operands& o, std::int64_t first, std::int64_t count, int threads, int own) const {
    const bool one_each = library_->limits_threads() && count >= threads && threads > 1;
    parallel_ranges(one_each ? threads : 1, count, 1, [&](std::int64_t begin, std::int64_t part) {
      const LocalThreads scope(*library_, one_each ? 1 : own);
      run_range(o, first + begin, part);
    });
  }

  std::shared_ptr<const CblasLibrary> library_;
};

std::string cblas_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_host(r); !reason.empty()) return reason;
  if (is_interleaved(r.problem)) return "CBLAS knows no interleaved layout";
  return why_not_by_cblas(*r.context.cblas(), r.problem);
}

}  // namespace

constinit const GemmCandidate cblas_way{"cblas", Tier::large, cblas_declines, one_runner<CblasRunner>};

}  // namespace tilewright
