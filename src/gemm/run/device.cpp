// The reasons and promises that do not depend on the family.
#include "gemm/run/device.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright {
namespace {

void refuse_value(const char* name, std::int64_t stride) {
  if (stride != 0)
    throw Error(
        ErrorCode::unsupported, name,
        fmt::format("{} holds a value per problem, which only kernels for sizes up to 64 take", name));
}

}  // namespace

int align_bytes(const PlanRequest& r) {
  const int asked = r.options.align_bytes, size = static_cast<int>(size_bytes(r.problem.dtype));
  if (asked == 0) return usual_alignment(r.problem);
  if (asked < size)
    throw Error(ErrorCode::invalid_argument, "align_bytes",
                fmt::format("align_bytes = {} is less than {}, the size of an element", asked, size));
  return std::min(asked, usual_alignment(r.problem));
}

std::string why_not_on_gpu(const PlanRequest& r) {
  if (r.problem.location != Location::device)
    return "the operands are in host memory, which hybrid takes to GPUs";
  if (r.options.target == Target::cpu) return "target = cpu was asked for";
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
  if (r.options.alpha_varies || r.options.beta_varies)
    return "it takes one alpha and one beta for all problems";
  if (std::min({p.m, p.n, p.k, p.batch_count}) == 0 || p.alpha == Scalar::zero) return "no product is formed";
  return "";
}

std::shared_ptr<const GpuMachine> machine_of(const PlanRequest& r) {
  return r.context.gpus->open(r.options.queue.device);
}

bool is_zero(const GemmProblem& p, Scalar kind, const void* value) {
  if (kind != Scalar::general) return kind == Scalar::zero;
  return dispatch(p.dtype, [&]<class T>() { return *static_cast<const T*>(value) == T(0); });
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

void DeviceRunner::refuse_values(const Operands& o) {
  refuse_value("alpha", o.alpha_stride);
  refuse_value("beta", o.beta_stride);
}

}  // namespace tilewright
