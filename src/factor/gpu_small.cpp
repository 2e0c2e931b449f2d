// Candidate gpu_small: batches in device memory are queued as launches of kernel/factor_gpu, one for each
// part of the outer levels and for each panel of right sides.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/dispatch.hpp"
#include "factor/candidates.hpp"
#include "factor/gpu_batches.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/device/machine.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t panel_sides = 32;  // right sides of one launch

std::string factor_gpu_declines(const FactorRequest& r) {
  const LaneShape& s = r.work.shape;
  if (auto reason = gpu_declines(r); !reason.empty()) return reason;
  if (s.m != s.n) return fmt::format("factors square matrices, not {} x {}", s.m, s.n);
  if (s.n > factor_gpu_limit) return fmt::format("serves orders up to {}, not {}", factor_gpu_limit, s.n);
  if (r.work.b.pointers != nullptr && s.nrhs > panel_sides)
    return fmt::format("serves up to {} right sides at addresses of their own", panel_sides);
  return "";
}

class FactorGpuRunner : public FactorRunner {
 public:
  void run(Context& context, const FactorWork& work, int) const override {
    const Context::Impl& impl = Access::impl(context);
    const auto machine = impl.gpus->open(work.queue.device);
    refuse_misplaced(work);
    const std::int64_t each = problems_of_launch(work);
    for (std::int64_t first = 0; first < work.count; first += each) {
      std::int64_t side = 0;
      do {
        launch(*machine, work, first, each, side, !impl.no_jit);
        side += panel_sides;
      } while (side < sides_of(work));
    }
  }

 private:
  static void launch(const GpuMachine& machine, const FactorWork& work, std::int64_t first,
                     std::int64_t count, std::int64_t side, bool may_compile) {
    LaneShape shape = work.shape;
    const FactorOperand& b = work.has_b ? work.b : work.a;
    FactorGpuCall call;
    call.count = count;
    call.a = gpu_batch_of(work.a, first, shape.n, shape.n, 0);
    call.b = gpu_batch_of(b, first, b.rows, b.cols, 0);
    if (sides_of(work) > 0) {
      shape.nrhs = std::min(panel_sides, sides_of(work) - side);
      const bool right = shape.side == Side::right && shape.routine == Routine::trsm;
      const std::int64_t offset = side * (right ? b.row_step() : b.col_step());
      call.b = right ? gpu_batch_of(b, first, shape.nrhs, shape.n, offset)
                     : gpu_batch_of(b, first, shape.n, shape.nrhs, offset);
    }
    if (shape.routine == Routine::trsm) call.alpha = work.alpha;
    const std::int64_t steps = first * work.steps();
    if (work.pivots_out != nullptr) call.pivots = work.pivots_out + steps;
    if (work.pivots_in != nullptr) call.pivots = const_cast<int*>(work.pivots_in) + steps;
    if (work.values.out != nullptr) call.det = work.values.out + first * work.values.problem_bytes();
    call.one_info = has_one_info(work);
    if (work.info.mode != InfoMode::none) call.info = work.info.codes + (call.one_info ? 0 : first);
    const auto kernel = kernel_for(machine, shape, call, scales_sides(work), may_compile);
    if (first == 0 && side == 0) clear_one_info(machine.gpu(), work);
    kernel->launch(call, work.queue.stream);
  }

  static std::shared_ptr<const FactorGpuKernel> kernel_for(const GpuMachine& machine, const LaneShape& shape,
                                                           const FactorGpuCall& call, bool scales,
                                                           bool may_compile) {
    const FactorGpuShape compiled = factor_gpu_shape_of(shape, call, scales);
    const FactorGpuConfig config =
        factor_gpu_config(compiled, int(size_bytes(shape.dtype)), is_complex(shape.dtype),
                          factor_gpu_room(machine.gpu().limits()));
    if (config.lanes == 0)
      throw Error(ErrorCode::unsupported, "",
                  fmt::format("matrices of order {} with {} right sides do not fit the shared memory of {}",
                              shape.n, shape.nrhs, machine.gpu().limits().name));
    return machine.factor_gpu(compiled, config, shape.dtype, may_compile);
  }
};

}  // namespace

constinit const FactorCandidate gpu_small_factor{
    "gpu_small", Tier::small, factor_gpu_declines,
    [](const FactorRequest&) { return factor_offer(0, std::make_shared<const FactorGpuRunner>()); }};

void finish_empty_on_device(Context& context, const FactorWork& work) {
  const bool one = has_one_info(work);
  const std::int64_t infos = work.info.mode == InfoMode::none ? 0 : one ? 1 : work.count;
  const bool has_det = work.shape.routine == Routine::det && work.count > 0;
  if (infos == 0 && !has_det) return;
  const auto machine = Access::impl(context).gpus->open(work.queue.device);
  const Gpu& gpu = machine->gpu();
  const int none = 0;
  gpu.fill(work.info.codes, &none, sizeof none, infos, work.queue.stream);
  if (!has_det) return;
  dispatch(work.shape.dtype, [&]<class T>() {
    const T unit = T(1);
    gpu.fill(work.values.out, &unit, sizeof unit, work.count, work.queue.stream);
  });
}

}  // namespace tilewright
