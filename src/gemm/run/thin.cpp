// gpu_thin: products of operands on a GPU with one long side, m or n, and two up to 64: one kernel walks
// along the long side, and memory is its bound. Libraries move such products at a fraction of that.
#include "core/quantity.hpp"
#include "gemm/candidate.hpp"
#include "gemm/run/device.hpp"
#include "kernel/gemm_thin/gemm_thin.hpp"

namespace tilewright {
namespace {

class ThinRunner : public DeviceRunner {
 public:
  ThinRunner(const PlanRequest& r, const std::shared_ptr<const GpuMachine>& machine,
             const GemmThinShape& shape, const GemmThinConfig& config)
      : DeviceRunner(r, machine, align_bytes(r)),
        shape_(shape),
        kernel_(machine->gemm_thin(shape, config, r.problem.dtype, r.may_compile)) {}

  void run(const Operands& o) const override { kernel_->launch(problem(), o, stream_of(o)); }

  std::string kernel() const override {
    return fmt::format(
        "{} points in a tile, {} threads, {} registers, {} bytes of shared memory, {} blocks on a "
        "multiprocessor",
        kernel_->config().points, gemm_thin_threads(shape_, kernel_->config()),
        kernel_->function().registers(), kernel_->shared_bytes(), kernel_->blocks_per_multiprocessor());
  }
  std::string prediction(double least_s) const override {
    const auto seconds = predicted_s(least_s);
    return seconds ? seconds_text(*seconds) + " (cost model)" : "";
  }
  std::optional<double> predicted_s(double least_s) const override {
    const auto forecast = gemm_thin_forecast(problem(), shape_, kernel_->config(), machine().gpu().limits());
    return forecast ? std::optional(std::max(forecast->seconds, least_s)) : std::nullopt;
  }

 private:
  GemmThinShape shape_;
  std::shared_ptr<const GemmThinKernel> kernel_;
};

std::string thin_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (p.layout != Layout::single && p.layout != Layout::strided)
    return fmt::format("supports single matrices and strided batches, not the layout {}",
                       to_string(p.layout));
  if (!is_thin(p))
    return fmt::format("needs one of m and n above {}, the other one and k up to it", gemm_thin_limit);
  if (auto reason = why_no_product(r); !reason.empty()) return reason;
  if (!r.options.config.empty()) return "takes no config, but one was given";
  if (auto reason = why_no_machine(r); !reason.empty()) return reason;
  const GpuLimits& limits = machine_of(r)->gpu().limits();
  if (limits.compute_capability < gemm_thin_least_capability)
    return fmt::format("{} has no asynchronous copies", limits.name);
  return "";
}

GemmOffers thin_offers(const PlanRequest& r) {
  const auto machine = machine_of(r);
  const GpuLimits& limits = machine->gpu().limits();
  const GemmThinShape shape = gemm_thin_shape(r.problem, align_bytes(r));
  const GemmThinConfig config = gemm_thin_config(shape, r.problem.dtype, limits);
  GemmOffer offer;
  offer.known = no_record("rule of thumb");
  if (const auto forecast = gemm_thin_forecast(r.problem, shape, config, limits)) {
    offer.seconds = forecast->seconds / double(r.problem.batch_count);
    offer.error = forecast->error;
  }
  offer.make = [&r, machine, shape, config] {
    return GemmMade{std::make_shared<const ThinRunner>(r, machine, shape, config)};
  };
  return one_offer(std::move(offer));
}

}  // namespace

constinit const GemmCandidate gpu_thin_candidate{"gpu_thin", Tier::large, thin_declines, thin_offers};

}  // namespace tilewright
