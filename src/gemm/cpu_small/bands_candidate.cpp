// cpu_bands: products with one long side, m or n, on the host: a strided batch over the bands of
// one product or, if there are more products than bands, over all products.
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/cpu_small/bands.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {
namespace {

// Kernels for strides that are neither packed nor zero serve batches along one product and along all of them.
GemmProblem with_any_strides(const GemmProblem& product) {
  GemmProblem p = without_levels(product);
  p.layout = Layout::strided;
  p.batch_count = 2;
  p.stride_a = p.lda * p.a_cols() + 1;
  p.stride_b = p.ldb * p.b_cols() + 1;
  p.stride_c = p.ldc * p.n + 1;
  return p;
}

std::shared_ptr<const GemmSmallCpuKernel> kernel_for(const PlanRequest& r, const GemmProblem& part) {
  const GemmProblem p = with_any_strides(part);
  try {
    return r.context.kernels->get(p, gemm_small_cpu_default(p, r.context.isa));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return r.context.kernels->get(p, gemm_small_cpu_default(p, Isa::portable));
  }
}

class BandsRunner : public HostRunner {
 public:
  explicit BandsRunner(const PlanRequest& r) : HostRunner(r), layouts_(layouts_of(problem())) {
    const GemmProblem& p = problem();
    const Bands bands = bands_of(p);
    kernels_ = BandKernels(bands, p, kernel_for(r, bands.part(p, bands.size)),
                           bands.rest > 0 ? kernel_for(r, bands.part(p, bands.rest)) : nullptr);
    const std::int64_t size = size_bytes(p.dtype), count = bands.count;
    is_one_run_ = bands.rest == 0 && p.stride_a * size == count * bands.step.a &&
                  p.stride_b * size == count * bands.step.b && p.stride_c * size == count * bands.step.c;
  }

  void run(const Operands& o) const override {
    const int threads = thread_count();
    if (threads == 1 || problem().batch_count >= threads || problem().layout != Layout::single)
      return HostRunner::run(o);
    parallel_ranges(threads, kernels_.bands.part_count(), 1,
                    [&, product = products(o, 0, 1)](std::int64_t first, std::int64_t count) {
                      kernels_.run(product, first, count);
                    });
  }

  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    for_each_run(problem(), first, count,
                 [&](std::int64_t at, std::int64_t part) { run_level(o, at, part); });
  }

  std::string kernel() const override {
    const Bands& bands = kernels_.bands;
    std::string text = fmt::format("{} bands of {} {} ({})", bands.count, bands.size,
                                   bands.of_rows ? "rows" : "columns", describe(kernels_.whole->config()));
    if (bands.rest > 0)
      text += fmt::format(", one of {} ({})", bands.rest, describe(kernels_.rest->config()));
    return text;
  }

 private:
  KernelCall products(const Operands& o, std::int64_t first, std::int64_t count) const {
    return kernel_call(problem(), layouts_, o, first, count);
  }

  void run_level(const Operands& o, std::int64_t first, std::int64_t count) const {
    const Bands& bands = kernels_.bands;
    const auto& [a, b, c] = bands.step;
    const KernelCall all = products(o, first, count);
    if (is_one_run_) return kernels_.run_whole.run(KernelCall(all).strided(count * bands.count, a, b, c));
    if (count < bands.count) {
      for (std::int64_t i = first; i < first + count; ++i)
        kernels_.run(products(o, i, 1), 0, bands.part_count());
      return;
    }
    for (std::int64_t band = 0; band < bands.count; ++band)
      kernels_.run_whole.run(all.moved(band * a, band * b, band * c));
    if (bands.rest > 0) kernels_.run_rest.run(all.moved(bands.rest_at.a, bands.rest_at.b, bands.rest_at.c));
  }

  OperandLayouts layouts_;
  BandKernels kernels_;
  bool is_one_run_ = false;  // bands of consecutive products are at equal distance
};

std::string bands_decline(const PlanRequest& r) {
  const GemmProblem& p = r.problem;
  if (auto reason = why_not_on_host(r); !reason.empty()) return reason;
  if (p.layout != Layout::single && p.layout != Layout::strided)
    return fmt::format("layout = {} has no bands at equal distances", to_string(p.layout));
  if (!has_one_long_side(p.m, p.n, p.k))
    return fmt::format("needs one of m and n above {}, the other one and k up to it", gemm_small_cpu_limit);
  if (p.alpha == Scalar::general || p.beta == Scalar::general)
    return "alpha or beta may be zero for some products";
  return "";
}

}  // namespace

constinit const GemmCandidate cpu_bands_candidate{"cpu_bands", Tier::small, bands_decline,
                                                  one_runner<BandsRunner>};

}  // namespace tilewright
