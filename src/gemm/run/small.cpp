// gemm_small: generated kernels for batches of small products of operands on a GPU.
#include <algorithm>

#include "gemm/device/reduce.hpp"
#include "gemm/run/device.hpp"
#include "gemm/run/scale.hpp"
#include "gemm/run/scale_device.hpp"
#include "gemm/run/small_kernels.hpp"
#include "gemm/run/ways.hpp"

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
    // The kernel would multiply each C by 1, which an infinity of complex numbers does not survive.
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
  // What memory allows is known where ceilings are, and is the least of operands that lie there.
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

// Forecasts the time of a config for the request's problem, in times of what memory allows.
double small_cost(const PlanRequest& r, const GemmSmallShape& shape, const GemmSmallConfig& c,
                  const GpuLimits& limits) {
  const GemmProblem& p = r.problem;
  return 1 /
         gemm_small_forecast(shape, c, p.dtype, limits, gemm_small_cost(shape, c, p.dtype), p.batch_count);
}

// Records are mostly of batches that fill the device. For one that does not, other blocks are right, and
// where nobody has measured those, the cost model says whether the recorded config still does. "" where it
// does.
std::string why_slower(const PlanRequest& r, const GemmSmallShape& shape, const GemmSmallConfig& config,
                       const GpuLimits& limits) {
  constexpr double much_better = 1.2;
  const GemmProblem& p = r.problem;
  if (p.sums != Sums::none) return "";  // a warp of theirs takes its part of the list, however many there are
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
  if (largest > gemm_small_limit)
    return fmt::format("a size of {} is above the limit of {}", largest, gemm_small_limit);
  if (p.sums != Sums::none && (r.options.alpha_varies || r.options.beta_varies))
    return "sums have one alpha and one beta for all products";
  const bool scales_only =
      (p.k == 0 || p.alpha == Scalar::zero) && !is_seen_on_device(r) && p.sums == Sums::none;
  if (!has_elements_of_c(p) || scales_only) return "no product is formed";
  return why_no_machine(r);
}

GemmOffers small_offers(const PlanRequest& r) {
  const auto machine = machine_of(r);
  const GemmSmallShape shape =
      gemm_small_shape(r.problem, align_bytes(r), r.options.alpha_varies || r.options.beta_varies);
  const GpuLimits& limits = machine->gpu().limits();
  const auto space = [&r, &limits, shape] { return gemm_small_space(shape, r.problem.dtype, limits); };
  const auto rules_of_thumb = [&r, &limits, shape] {
    return std::vector{gemm_small_default(shape, r.problem.dtype, limits, r.problem.batch_count)};
  };
  auto family = device_family<GemmSmallConfig>("gemm_small", *machine, space, rules_of_thumb);
  family.cost = [&r, &limits, shape](const GemmSmallConfig& config) {
    return small_cost(r, shape, config, limits);
  };
  return config_offers(r, std::move(family), [&r, machine, shape](const GemmSmallConfig& config) {
    if (auto why = why_slower(r, shape, config, machine->gpu().limits()); !why.empty())
      return GemmMade{nullptr, Refusal::slower, std::move(why)};
    if (r.problem.sums == Sums::batch_reduce) return GemmMade{device_reduce_runner(r, machine, config)};
    return GemmMade{std::make_shared<const SmallRunner>(r, machine, config)};
  });
}

}  // namespace

constinit const GemmCandidate small_way{
    "gemm_small", Tier::small, small_declines, small_offers, {.forms_sums = true}};

}  // namespace tilewright
