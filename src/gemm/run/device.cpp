// Reasons, alignments and checks that do not depend on the family.
#include "gemm/run/device.hpp"

#include <algorithm>

#include "core/refuse.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright {
namespace {

void check_form(const char* name, bool varies, std::int64_t stride) {
  if (varies == (stride != 0)) return;
  refuse_argument(
      name, varies ? fmt::format("{} is one value, but the plan was made for a value per problem "
                                 "({} = per_problem)",
                                 name, name)
                   : fmt::format("{} holds a value per problem, but the plan was made for one value", name));
}

}  // namespace

int align_bytes(const PlanRequest& r) {
  const int asked = r.options.align_bytes, size = static_cast<int>(size_bytes(r.problem.dtype));
  if (asked == 0) return default_alignment(r.problem);
  if (asked < size)
    refuse_argument("align_bytes",
                    fmt::format("align_bytes = {} is smaller than {}, the size of an element", asked, size));
  return std::min(asked, default_alignment(r.problem));
}

std::string why_not_on_gpu(const PlanRequest& r) {
  if (r.problem.location != Location::device) return "needs operands in GPU memory";
  if (r.options.target == Target::cpu) return "target = cpu excludes it";
  return "";
}

std::string why_no_machine(const PlanRequest& r) {
  try {
    return why_too_old(machine_of(r)->gpu().limits());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw;
    return error.what();
  }
}

std::string why_no_product(const PlanRequest& r) {
  const GemmProblem& p = r.problem;
  if (r.vary.any()) return "needs one alpha and one beta for all problems";
  if (std::min({p.m, p.n, p.k, p.batch_count}) == 0 || p.alpha == Scalar::zero)
    return "there is no product to compute";
  return "";
}

bool is_seen_on_device(const PlanRequest& r) { return r.vary.any() || r.problem.layout == Layout::variable; }

void check_forms(const ScalarsVary& planned, const Operands& o) {
  check_form("alpha", planned.alpha, o.alpha_stride);
  check_form("beta", planned.beta, o.beta_stride);
}

namespace {

template <class Model>
std::shared_ptr<const Model> fitted_model(const PlanRequest& r, const GpuLimits& limits, const char* name,
                                          Model (*read)(const nlohmann::json&)) {
  if (r.forecast_model != nullptr) return std::static_pointer_cast<const Model>(r.forecast_model);
  const Wisdom* wisdom = r.context.wisdom();
  if (wisdom == nullptr || objective_of(r.options).needs_energy()) return nullptr;
  ModelQuery query;
  query.model = name;
  query.device = limits.name;
  query.architecture = architecture_of(limits);
  query.dtype = to_string(r.problem.dtype);
  const auto found = wisdom->model(query);
  if (found == nullptr) return nullptr;
  try {
    const auto model = std::make_shared<const Model>(read(found->model.coefficients));
    r.forecast_model = model;
    return model;
  } catch (const Error& error) {  // perhaps a model of another version
    r.context.notice(
        fmt::format("the fitted model {} of {} is not used: {}", query.model, query.dtype, error.what()));
    return nullptr;
  }
}

}  // namespace

std::shared_ptr<const GemmLargeForecastModel> large_forecast_model(const PlanRequest& r,
                                                                   const GpuLimits& limits) {
  return fitted_model(r, limits, "gemm_large_forecast", forecast_model);
}

std::shared_ptr<const GemmLargeBatchModel> large_batch_model(const PlanRequest& r, const GpuLimits& limits) {
  return fitted_model(r, limits, "gemm_large_batch", batch_forecast_model);
}

bool is_large_batch(const GemmProblem& p) { return gemm_large_batch(p) != GemmLargeBatch::none; }

std::shared_ptr<const GpuMachine> machine_of(const PlanRequest& r) {
  return r.context.gpus->open(r.options.queue.device);
}

DeviceRunner::DeviceRunner(const PlanRequest& r, std::shared_ptr<const GpuMachine> machine, int align_bytes)
    : problem_(r.problem),
      machine_(std::move(machine)),
      align_bytes_(align_bytes),
      asks_driver_(r.options.checked),
      check_(check_of(problem_)) {}

void DeviceRunner::check(const Operands& o) const {
  refuse_values(o);
  check_addresses(o, !is_zero(problem_, problem_.alpha, o.alpha));
}

void DeviceRunner::check_addresses(const Operands& o, bool reads_ab) const {
  if (o.lists.count < 0) return check_.check(o, reads_ab);
  GemmProblem called = problem_;
  called.batch_count = o.lists.count;
  check_of(called).check(o, reads_ab);
}

std::string DeviceRunner::threads_text() const {
  return fmt::format("none: the work is queued on {}", device());
}

void DeviceRunner::refuse_values(const Operands& o) { check_forms({}, o); }

}  // namespace tilewright
