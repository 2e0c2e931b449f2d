// Walks the schedule of each share as the executor will.
#include "gemm/hybrid/stream/products.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
namespace tilewright {
namespace {

// Buffers begin at multiples of this.
constexpr std::int64_t widest_bytes = 128;

int alignment(std::int64_t bits, std::int64_t element_bytes) {
  if (bits % widest_bytes == 0) return int(widest_bytes);
  return bits % 16 == 0 ? 16 : int(element_bytes);
}

}  // namespace

std::vector<StreamProduct> stream_products(const GemmProblem& problem, const Split& split,
                                           const std::vector<StreamSchedule>& schedules) {
  std::vector<StreamProduct> all;
  const StreamShape shape(problem, split.side);
  for (std::size_t i = 0; i < split.gpus.size(); ++i)
    for (const StreamStep& step : schedules[i].steps) {
      if (step.kind != StepKind::multiply) continue;
      std::int64_t bits = 0;
      for (const ProductMatrix which : product_matrices)
        bits |= buffer_offset_bytes(shape, schedules[i], step, which);
      StreamProduct product{split.gpus[i].gpu, device_product(shape, schedules[i], step),
                            alignment(bits, shape.element_bytes())};
      if (std::find(all.begin(), all.end(), product) == all.end()) all.push_back(std::move(product));
    }
  return all;
}

const DeviceProducts::Entry* DeviceProducts::find(const StreamProduct& what) const {
  const Entry* best = nullptr;
  for (const Entry& entry : all_)
    if (entry.what.gpu == what.gpu && entry.what.align_bytes <= what.align_bytes &&
        entry.what.problem == what.problem &&
        (best == nullptr || entry.what.align_bytes > best->what.align_bytes))
      best = &entry;
  return best;
}

void DeviceProducts::multiply(int gpu, const GemmProblem& problem, const Operands& operands) const {
  const auto bits = reinterpret_cast<std::uintptr_t>(operands.a) |
                    reinterpret_cast<std::uintptr_t>(operands.b) |
                    reinterpret_cast<std::uintptr_t>(operands.c);
  const int align = alignment(std::int64_t(bits % widest_bytes), size_bytes(problem.dtype));
  const Entry* entry = find({gpu, problem, align});
  if (entry == nullptr)
    throw Error(ErrorCode::internal, "problem",
                fmt::format("{} on {} bytes was not planned for a GPU", to_string(problem), align));
  // The job's values are not those of a part: what is added to is C times one, whatever its beta.
  Operands o = operands;
  alignas(16) unsigned char alpha[16], beta[16];
  dispatch(problem.dtype, [&]<class T>() {
    if (problem.alpha != Scalar::general) o.alpha = new (alpha) T(float(problem.alpha == Scalar::one));
    if (problem.beta != Scalar::general) o.beta = new (beta) T(float(problem.beta == Scalar::one));
  });
  entry->product(o);
}

}  // namespace tilewright
