// gpu_small: generated kernels for batches of small products of operands on a GPU, also summed into one C.
#include <algorithm>

#include "core/refuse.hpp"
#include "gemm/candidate.hpp"
#include "gemm/run/device.hpp"
#include "gemm/run/small_kernels.hpp"

namespace tilewright {
namespace {

class SmallRunner : public DeviceRunner {
 public:
  // Kernels for every value of alpha and beta that the problem's classes allow.
  SmallRunner(const PlanRequest& r, const std::shared_ptr<const GpuMachine>& machine,
              const GemmSmallConfig& config)
      : DeviceRunner(r, machine, align_bytes(r)), kernels_(problem(), *machine, config, align_bytes(r), r) {
    if (problem().alpha == Scalar::general && !is_seen_on_device(r) && problem().sums == Sums::none)
      scaling_ = std::make_unique<const DeviceScaling>(r, machine);
  }

  bool reports() const override { return problem().sums == Sums::none; }
  void check(const Operands& o) const override {
    kernels_.check_values(o);
    check_addresses(o, reads_ab(o));
  }
  void run(const Operands& o) const override {
    // The kernel would multiply each C by 1, which changes complex infinities.
    const GemmProblem& p = problem();
    if (p.sums != Sums::none && p.beta == Scalar::one && (p.k == 0 || is_zero(p, p.alpha, o.alpha))) return;
    if (reads_ab(o))
      kernels_.launch(o);
    else
      scaling_->run(o);
  }

  nlohmann::json config() const override { return to_json(kernels_.kernel().config()); }
  std::string kernel() const override {
    const GemmSmallKernel& kernel = kernels_.kernel();
    return fmt::format(
        "{} registers, {} bytes spilled, {} bytes of shared memory, {} blocks on a multiprocessor",
        kernel.function().registers(), kernel.function().local_bytes(), kernel.shared_bytes(),
        kernel.blocks_per_multiprocessor());
  }
  std::string prediction(double) const override {
    return fmt::format("{:.0f} % of what memory allows (cost model)", 100 * forecast());
  }
  // The bound of memory is known if ceilings are, and holds for operands that lie there.
  std::optional<double> predicted_s(double least_s) const override {
    if (!(least_s > 0) || problem().residency != Residency::cold) return std::nullopt;
    return least_s / forecast();
  }

  bool takes_blocks() const override { return true; }

 private:
  double forecast() const {
    const GemmSmallShape& shape = kernels_.shape();
    const GemmSmallConfig& config = kernels_.kernel().config();
    return gemm_small_forecast(shape, config, problem().dtype, machine().gpu().limits(),
                               gemm_small_cost(shape, config, problem().dtype), problem().batch_count);
  }
  bool reads_ab(const Operands& o) const {
    return scaling_ == nullptr || !is_zero(problem(), problem().alpha, o.alpha);
  }

  GemmSmallKernelSet kernels_;
  std::unique_ptr<const DeviceScaling> scaling_;
};

// Sums a batch into one C in parts, each of which one warp holds in registers; a second launch adds them in
// order. The cuts do not depend on the device or on the number of products: the bits are the same each time.
class DeviceReduceRunner : public DeviceRunner {
 public:
  DeviceReduceRunner(const PlanRequest& r, const std::shared_ptr<const GpuMachine>& machine,
                     const GemmSmallConfig& config)
      : DeviceRunner(r, machine, int(size_bytes(r.problem.dtype))),
        total_(machine->gemm_small_total(problem().dtype, r.may_compile)) {
    const GemmProblem& p = problem();
    if (p.k == 0 || p.alpha == Scalar::zero || p.batch_count == 0) return;
    kernel_ =
        machine->gemm_small(gemm_small_shape(p, int(size_bytes(p.dtype))), config, p.dtype, r.may_compile);
    machine->workspace().reserve(gemm_small_parts_bytes(p, p.batch_count), 0);
  }

  // The C of a pointer batch comes as an array of one address, or by itself.
  void check(const Operands& o) const override {
    refuse_values(o);
    if (problem().layout == Layout::pointer && o.lists.c != nullptr) {
      check_own_c(o.lists.c);
      Operands arrays = o;
      arrays.c = const_cast<void*>(o.a);
      return check_addresses(arrays, forms_products(o));
    }
    if (o.c == nullptr) refuse_argument("c", "c is null");
    check_addresses(o, forms_products(o));
  }

  void run(const Operands& o) const override {
    const GemmProblem& p = problem();
    const std::int64_t count = count_of(o);
    if (!forms_products(o)) {
      if (p.beta != Scalar::one) gemm_small_reduce_nothing(*total_, p, o);
      return;
    }
    const GpuWorkspace::Loan loan(machine().workspace(), gemm_small_parts_bytes(p, count), 0, stream_of(o));
    gemm_small_reduce(*kernel_, *total_, p, o, count, loan.scratch());
  }

  nlohmann::json config() const override {
    return kernel_ == nullptr ? nlohmann::json() : to_json(kernel_->config());
  }
  std::string kernel() const override {
    if (kernel_ == nullptr) return "";
    const GemmSmallParts parts = gemm_small_parts(problem(), problem().batch_count);
    return fmt::format(
        "{} parts of {} products, {} registers, {} bytes of shared memory, and a launch that "
        "adds the parts up",
        parts.count, parts.run, kernel_->function().registers(), kernel_->shared_bytes());
  }

 private:
  std::int64_t count_of(const Operands& o) const {
    return o.lists.count >= 0 ? o.lists.count : problem().batch_count;
  }
  bool forms_products(const Operands& o) const {
    return kernel_ != nullptr && count_of(o) > 0 && !is_zero(problem(), problem().alpha, o.alpha);
  }
  void check_own_c(const void* c) const {
    if (const auto size = std::uintptr_t(size_bytes(problem().dtype));
        reinterpret_cast<std::uintptr_t>(c) % size != 0)
      refuse_argument("c",
                      fmt::format("c = {} is not a multiple of {} bytes, the size of an element", c, size));
  }
  std::shared_ptr<const GemmSmallKernel> kernel_;  // null where there is nothing to multiply
  std::shared_ptr<const GemmSmallTotal> total_;
};

// Forecasts the time of a config for the request's problem, as a multiple of the bound of memory.
double small_cost(const PlanRequest& r, const GemmSmallShape& shape, const GemmSmallConfig& c,
                  const GpuLimits& limits) {
  const GemmProblem& p = r.problem;
  return 1 /
         gemm_small_forecast(shape, c, p.dtype, limits, gemm_small_cost(shape, c, p.dtype), p.batch_count);
}

// Records are mostly of batches that fill the device. A smaller batch needs other blocks: without a record
// the cost model judges the recorded config. Returns why it is slower, or "".
std::string why_slower(const PlanRequest& r, const GemmSmallShape& shape, const GemmSmallConfig& config,
                       const GpuLimits& limits) {
  constexpr double much_better = 1.2;
  const GemmProblem& p = r.problem;
  if (p.sums != Sums::none) return "";  // a warp takes its part of a list of any length
  const auto problems = std::int64_t(config.matrices_per_block) * limits.multiprocessors;
  if (!r.options.config.empty() || p.batch_count >= problems) return "";
  const GemmSmallConfig rule = gemm_small_default(shape, p.dtype, limits, p.batch_count);
  if (small_cost(r, shape, config, limits) <= much_better * small_cost(r, shape, rule, limits)) return "";
  return fmt::format("{} problems leave most of the device idle with {} in a block", p.batch_count,
                     config.matrices_per_block);
}

std::string small_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (auto reason = why_no_layout(p.layout); !reason.empty()) return reason;
  const std::int64_t largest = std::max({p.m, p.n, p.k});
  if (const std::int64_t limit = gemm_small_largest(p); largest > limit)
    return fmt::format("size {} exceeds the limit of {}", largest, limit);
  const bool scales_only =
      (p.k == 0 || p.alpha == Scalar::zero) && !is_seen_on_device(r) && p.sums == Sums::none;
  if (!has_elements_of_c(p) || scales_only) return "there is no product to compute";
  return why_no_machine(r);
}

// Records of smaller products, or of other layouts, tell no times of interleaved ones above the limit of
// these: their operands are read from memory again and again.
GemmOffers with_own_times(const GemmProblem& p, GemmOffers offers) {
  if (!is_interleaved(p) || std::max({p.m, p.n, p.k}) <= gemm_small_limit) return offers;
  return [offers = std::move(offers)]() mutable {
    auto offer = offers();
    if (offer && offer->known.match != WisdomMatch::exact) offer->seconds.reset(), offer->joules.reset();
    return offer;
  };
}

GemmOffers small_offers(const PlanRequest& r) {
  const auto machine = machine_of(r);
  const GemmSmallShape shape = gemm_small_shape(r.problem, align_bytes(r), r.vary.any());
  const GpuLimits& limits = machine->gpu().limits();
  const auto space = [&r, &limits, shape] { return gemm_small_space(shape, r.problem.dtype, limits); };
  const auto rules_of_thumb = [&r, &limits, shape] {
    return std::vector{gemm_small_default(shape, r.problem.dtype, limits, r.problem.batch_count)};
  };
  auto family = device_family<GemmSmallConfig>("gemm_small", *machine, space, rules_of_thumb);
  family.cost = [&r, &limits, shape](const GemmSmallConfig& config) {
    return small_cost(r, shape, config, limits);
  };
  const auto make = [&r, machine, shape](const GemmSmallConfig& config) {
    if (auto why = why_slower(r, shape, config, machine->gpu().limits()); !why.empty())
      return GemmMade{nullptr, Refusal::slower, std::move(why)};
    if (r.problem.sums == Sums::batch_reduce)
      return GemmMade{std::make_shared<const DeviceReduceRunner>(r, machine, config)};
    return GemmMade{std::make_shared<const SmallRunner>(r, machine, config)};
  };
  return with_own_times(r.problem, config_offers(r, std::move(family), make));
}

}  // namespace

constinit const GemmCandidate gpu_small_candidate{
    "gpu_small", Tier::small, small_declines, small_offers, {.forms_sums = true}};

}  // namespace tilewright
