// cublas: NVIDIA's library, opened at run time. The first plan makes its handle, which is expensive.
#include "gemm/candidate.hpp"
#include "gemm/run/device.hpp"

namespace tilewright {
namespace {

class CublasRunner : public DeviceRunner {
 public:
  CublasRunner(const PlanRequest& r, const std::shared_ptr<const GpuMachine>& machine)
      : DeviceRunner(r, machine, align_bytes(r)), blas_(machine->blas()) {}

  void run(const Operands& o) const override {
    const Gpu::Current current(machine().gpu());
    GemmProblem p = problem();
    // For alpha = 0 the library multiplies the matrices of pointer batches all the same.
    if (p.layout == Layout::pointer && is_zero(p, p.alpha, o.alpha)) p.k = 0;
    blas_->on(stream_of(o))->multiply(p, o);
  }

  nlohmann::json config() const override { return {{"version", blas_->version()}}; }
  std::string kernel() const override { return "chosen by the library"; }

 private:
  std::shared_ptr<GpuMachine::Blas> blas_;
};

std::string cublas_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  if (auto reason = why_no_product(r); !reason.empty()) return reason;
  if (auto reason = GpuBlas::why_not(r.problem); !reason.empty()) return reason;
  if (!r.options.config.empty()) return "takes no config, but one was given";
  if (auto reason = why_no_machine(r); !reason.empty()) return reason;
  return GpuBlas::is_there() ? "" : "cuBLAS was not found";
}

std::optional<GemmLargeForecast> cublas_forecast(const PlanRequest& r, const GpuLimits& limits) {
  if (is_large_batch(r.problem)) {
    const auto model = large_batch_model(r, limits);
    return model ? forecast_cublas_batch(*model, r.problem, limits) : std::nullopt;
  }
  const auto model = large_forecast_model(r, limits);
  return model ? forecast_cublas(*model, r.problem, limits) : std::nullopt;
}

GemmOffers cublas_offers(const PlanRequest& r) {
  const auto machine = machine_of(r);
  WisdomAnswer known = no_record("no record");
  offer_wisdom(r, "cublas", architecture_of_all("cublas"), machine->gpu().limits().name,
               [&](const WisdomAnswer& answer) {
                 // A record without a time does not tell which one is faster.
                 if (answer.recorded.seconds > 0) known = answer;
                 return answer.recorded.seconds > 0;
               });
  GemmOffer offer{estimate_of(r, known)};
  offer.family = "cublas";
  if (const auto forecast = offer.seconds ? std::nullopt : cublas_forecast(r, machine->gpu().limits()))
    offer.seconds = forecast->seconds, offer.error = forecast->error;
  offer.make = [&r, machine] { return GemmMade{std::make_shared<const CublasRunner>(r, machine)}; };
  return one_offer(std::move(offer));
}

}  // namespace

constinit const GemmCandidate cublas_candidate{"cublas", Tier::large, cublas_declines, cublas_offers};

}  // namespace tilewright
