// A sum over a whole batch is cut into parts, each of which one warp holds in registers; the parts lie in
// scratch memory until a second launch adds them up in their order. Where they are cut does not depend on
// the device or on how many products run at once: the bits are the same each time.
#include "gemm/device/reduce.hpp"

#include "gemm/run/device.hpp"

namespace tilewright {
namespace {

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

  // Of a pointer batch C comes as an array of one address, or by itself.
  void check(const Operands& o) const override {
    refuse_values(o);
    if (problem().layout == Layout::pointer && o.lists.c != nullptr) {
      check_own_c(o.lists.c);
      Operands arrays = o;
      arrays.c = const_cast<void*>(o.a);
      return check_addresses(arrays, forms_products(o));
    }
    if (o.c == nullptr) throw Error(ErrorCode::invalid_argument, "c", "c is null");
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
      throw Error(ErrorCode::invalid_argument, "c",
                  fmt::format("c = {} is no multiple of {} bytes, the size of an element", c, size));
  }
  std::shared_ptr<const GemmSmallKernel> kernel_;  // null where there is nothing to multiply
  std::shared_ptr<const GemmSmallTotal> total_;
};

}  // namespace

std::shared_ptr<const Runner> device_reduce_runner(const PlanRequest& request,
                                                   const std::shared_ptr<const GpuMachine>& machine,
                                                   const GemmSmallConfig& config) {
  return std::make_shared<const DeviceReduceRunner>(request, machine, config);
}

}  // namespace tilewright
