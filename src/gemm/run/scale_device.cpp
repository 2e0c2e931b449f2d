// Scaling on a GPU, and what finds null pointers where nothing is left to compute.
#include "gemm/run/scale_device.hpp"

#include "gemm/run/scale.hpp"
#include "gemm/run/ways.hpp"

namespace tilewright {
namespace {

// Finds null pointers where nothing is left to compute (beta = 1): multiplies one real number of each C by 1,
// because that leaves infinities what they are in complex types too. Empty where no such kernel can be had:
// the call itself needs none.
std::optional<GemmSmallKernelSet> null_finder(const PlanRequest& r, const GpuMachine& machine,
                                              std::string& not_compiled) {
  GemmProblem p;
  p.dtype = is_complex(r.problem.dtype) ? (r.problem.dtype == DType::c64 ? DType::f32 : DType::f64)
                                        : r.problem.dtype;
  p.location = Location::device;
  p.layout = Layout::pointer;
  p.m = p.n = p.k = 1;
  p.batch_count = r.problem.batch_count;
  p.alpha = Scalar::zero, p.beta = Scalar::one;
  p = packed(p);
  const int align = static_cast<int>(size_bytes(p.dtype));
  const auto config =
      gemm_small_default(gemm_small_shape(p, align), p.dtype, machine.gpu().limits(), p.batch_count);
  try {
    return GemmSmallKernelSet(p, machine, config, align, r);
  } catch (const NotCompiled& error) {
    not_compiled = error.what();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  return std::nullopt;
}

class DeviceScaleRunner : public DeviceRunner {
 public:
  // `not_compiled` receives what no_jit kept from it.
  DeviceScaleRunner(const PlanRequest& r, const std::shared_ptr<const GpuMachine>& machine,
                    std::string& not_compiled)
      : DeviceRunner(r, machine, static_cast<int>(size_bytes(r.problem.dtype))), scaling_(r, machine) {
    if (has_pointers(r.problem) && has_elements_of_c(r.problem) && !scaling_.reports())
      null_finder_ = null_finder(r, *machine, not_compiled);
  }

  bool reports() const override { return scaling_.reports() || null_finder_; }
  void check(const Operands& o) const override {
    refuse_values(o);
    check_addresses(o, false);
  }
  void run(const Operands& o) const override {
    scaling_.run(o);
    if (null_finder_ && o.info != nullptr) null_finder_->launch(o);
  }

 private:
  DeviceScaling scaling_;
  std::optional<GemmSmallKernelSet> null_finder_;
};

GemmMade make_device_scale(const PlanRequest& r) {
  GemmMade made;
  made.runner = std::make_shared<const DeviceScaleRunner>(r, machine_of(r), made.reason);
  if (!made.reason.empty()) made.refusal = Refusal::not_compiled;
  return made;
}

}  // namespace

bool is_seen_on_device(const PlanRequest& r) {
  return r.options.alpha_varies || r.options.beta_varies || r.problem.layout == Layout::variable;
}

std::string why_no_layout(Layout layout) {
  if (layout != Layout::grouped) return "";
  return fmt::format("layout = {} has no plan: gemm_grouped makes one for each group", to_string(layout));
}

DeviceScaling::DeviceScaling(const PlanRequest& r, std::shared_ptr<const GpuMachine> machine)
    : problem_(r.problem), machine_(std::move(machine)) {
  does_nothing_ = problem_.beta == Scalar::one || !has_elements_of_c(problem_);
  if (does_nothing_) return;
  if (problem_.layout != Layout::single && problem_.layout != Layout::strided) {
    GemmProblem p = problem_;
    p.alpha = Scalar::zero;
    const int align = align_bytes(r);
    const auto config =
        gemm_small_default(gemm_small_shape(p, align), p.dtype, machine_->gpu().limits(), p.batch_count);
    small_.emplace(p, *machine_, config, align, r);
    return;
  }
  zero_ = machine_->scale(gpu_scale_kind(problem_, true), r.may_compile);
  if (problem_.beta == Scalar::general)
    general_ = machine_->scale(gpu_scale_kind(problem_, false), r.may_compile);
}

void DeviceScaling::run(const Operands& o) const {
  if (does_nothing_) return;
  if (small_) return small_->launch(o);
  const bool zero = is_zero(problem_, problem_.beta, o.beta);
  (zero ? *zero_ : *general_).launch(problem_, o.c, o.beta, stream_of(o));
}

std::string device_scale_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (auto reason = why_no_layout(p.layout); !reason.empty()) return reason;
  if (is_seen_on_device(r) && has_elements_of_c(p)) return "which products are formed is seen on the device";
  const bool any_size = p.layout == Layout::single || p.layout == Layout::strided || !has_elements_of_c(p);
  if (const std::int64_t largest = std::max(p.m, p.n); !any_size && largest > gemm_small_limit)
    return fmt::format("a size of {} is above the limit of {} in the layout {}", largest, gemm_small_limit,
                       to_string(p.layout));
  return why_no_machine(r);
}

GemmOffers device_scale_offers(const PlanRequest& r) {
  GemmOffer offer;
  offer.make = [&r] { return make_device_scale(r); };
  return one_offer(std::move(offer));
}

}  // namespace tilewright
