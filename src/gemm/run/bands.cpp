// gemm_small_cpu_bands: products with one long side, m or n, and two short ones, on the host: bands of the
// long side are problems of the small kernels, each a strided batch over the bands of one product or, where
// there are more products than bands, one over all products. What is left of even bands has a kernel of its
// own.
#include "gemm/small/bands.hpp"

#include <algorithm>

#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/operand.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/ways.hpp"
#include "gemm/small/stack_bytes.hpp"
#include "kernel/jit/x86.hpp"

namespace tilewright {
namespace {

class BandsRunner : public HostRunner {
 public:
  explicit BandsRunner(const PlanRequest& r)
      : HostRunner(r), bands_(bands_of(problem())), layouts_(layouts_of(problem())) {
    whole_ = part_of(r, bands_.size);
    if (bands_.rest > 0) rest_ = part_of(r, bands_.rest);
    const BandSteps band = offset(bands_.size), product = product_steps();
    is_one_run_ = bands_.rest == 0 && product.a == bands_.count * band.a &&
                  product.b == bands_.count * band.b && product.c == bands_.count * band.c;
  }

  void run(const Operands& o) const override {
    const int threads = thread_count();
    if (threads == 1 || problem().batch_count >= threads || problem().layout != Layout::single)
      return HostRunner::run(o);
    // The bands of one product, and the rest as one more.
    const std::int64_t all = bands_.count + (bands_.rest > 0 ? 1 : 0);
    parallel_ranges(threads, all, 1, [&](std::int64_t first, std::int64_t count) {
      const std::int64_t whole = std::min(first + count, bands_.count) - first;
      if (whole > 0) call_bands(o, 0, first, whole);
      if (first + count > bands_.count) call_rest(o, 0, 1);
    });
  }

  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    for_each_run(problem(), first, count,
                 [&](std::int64_t at, std::int64_t part) { run_level(o, at, part); });
  }

  std::string threads_text() const override { return HostRunner::threads_text(); }
  std::string kernel() const override {
    std::string text = fmt::format("{} bands of {} {} ({})", bands_.count, bands_.size,
                                   bands_.of_rows ? "rows" : "columns", describe(whole_.kernel->config()));
    if (bands_.rest > 0)
      text += fmt::format(", one of {} ({})", bands_.rest, describe(rest_.kernel->config()));
    return text;
  }

 private:
  struct Part {
    GemmProblem problem;
    std::shared_ptr<const GemmSmallCpuKernel> kernel;
  };

  // Strides that are neither packed nor zero serve both ways of cutting.
  Part part_of(const PlanRequest& r, std::int64_t size) const {
    GemmProblem p = without_levels(problem());
    (bands_.of_rows ? p.m : p.n) = size;
    p.layout = Layout::strided;
    p.batch_count = 2;
    p.stride_a = p.lda * p.a_cols() + 1;
    p.stride_b = p.ldb * p.b_cols() + 1;
    p.stride_c = p.ldc * p.n + 1;
    const Isa isa = r.context.isa;
    try {
      return {p, r.context.kernels->get(p, gemm_small_cpu_default(p, isa))};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return {p, r.context.kernels->get(p, gemm_small_cpu_default(p, Isa::portable))};
    }
  }

  void run_level(const Operands& o, std::int64_t first, std::int64_t count) const {
    if (is_one_run_) return call(whole_, o, first, 0, count * bands_.count, offset(bands_.size));
    if (count < bands_.count) {
      for (std::int64_t p = first; p < first + count; ++p) call_bands(o, p, 0, bands_.count);
    } else {
      for (std::int64_t band = 0; band < bands_.count; ++band)
        call(whole_, o, first, band * bands_.size, count, product_steps());
    }
    if (bands_.rest > 0) call_rest(o, first, count);
  }

  BandSteps offset(std::int64_t at) const { return bands_.offset(problem(), at); }
  BandSteps product_steps() const { return {problem().stride_a, problem().stride_b, problem().stride_c}; }

  void call_bands(const Operands& o, std::int64_t product, std::int64_t band, std::int64_t count) const {
    call(whole_, o, product, band * bands_.size, count, offset(bands_.size));
  }
  void call_rest(const Operands& o, std::int64_t product, std::int64_t count) const {
    call(rest_, o, product, bands_.count * bands_.size, count, product_steps());
  }

  void call(const Part& part, const Operands& o, std::int64_t product, std::int64_t at, std::int64_t count,
            const BandSteps& steps) const {
    const std::int64_t size = size_bytes(problem().dtype);
    const BandSteps begin = offset(at);
    KernelCall(o.a, o.b, o.c, o.alpha, o.beta)
        .moved((layouts_[0].offset(product) + begin.a) * size, (layouts_[1].offset(product) + begin.b) * size,
               (layouts_[2].offset(product) + begin.c) * size)
        .strided(count, steps.a * size, steps.b * size, steps.c * size)
        .run(*part.kernel, small_stack_bytes(part.problem, part.kernel->config()));
  }

  Bands bands_;
  OperandLayouts layouts_;
  Part whole_, rest_;
  bool is_one_run_ = false;  // the bands of a product begin where those of the one before it end
};

std::string bands_decline(const PlanRequest& r) {
  const GemmProblem& p = r.problem;
  if (auto reason = why_not_on_host(r); !reason.empty()) return reason;
  if (p.layout != Layout::single && p.layout != Layout::strided)
    return fmt::format("layout = {} has no bands at equal distance", to_string(p.layout));
  if (!has_one_long_side(p.m, p.n, p.k))
    return fmt::format("it takes one of m and n above {}, and k up to it", gemm_small_cpu_limit);
  if (p.alpha == Scalar::general || p.beta == Scalar::general)
    return "alpha and beta may be zero for some products";
  return "";
}

}  // namespace

constinit const GemmCandidate bands_way{"gemm_small_cpu_bands", Tier::small, bands_decline,
                                        one_runner<BandsRunner>};

}  // namespace tilewright
