// Walks the schedule of each share as the executor will.
#include "gemm/hybrid/stream/products.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "gemm/hybrid/split/batch_shape.hpp"
#include "gemm/hybrid/split/schedule.hpp"

namespace tilewright {
namespace {

// Buffers begin at multiples of this.
constexpr std::int64_t widest_bytes = 128;

int alignment(std::int64_t bits, std::int64_t element_bytes) {
  if (bits % widest_bytes == 0) return int(widest_bytes);
  return bits % 16 == 0 ? 16 : int(element_bytes);
}

std::int64_t offset_bytes(const StoredBlock& block, const StoredBlock& origin, const StepBuffer& buffer,
                          std::int64_t element_bytes) {
  return ((block.column - origin.column) * buffer.ld + block.row - origin.row) * element_bytes;
}

StreamProduct product_of(const StreamShape& shape, const StreamSchedule& schedule, const StreamStep& step) {
  const std::int64_t es = shape.element_bytes();
  const StepBuffer& resident = schedule.resident[schedule.resident_stays() ? 0 : std::size_t(step.ab_slot)];
  const StepBuffer& streamed = schedule.streamed[std::size_t(step.ab_slot)];
  const StepBuffer& c = schedule.c[std::size_t(step.c_slot)];
  const Piece &piece = step.piece, &whole = step.buffered;
  StreamProduct product;
  GemmProblem& p = product.problem;
  p = shape.part(piece);
  p.location = Location::device;
  p.lda = (shape.by_columns() ? resident : streamed).ld;
  p.ldb = (shape.by_columns() ? streamed : resident).ld;
  p.ldc = c.ld;
  if (step.adds) p.beta = Scalar::one;
  if (step.leaves_c) p.beta = Scalar::zero;
  const std::int64_t bits =
      offset_bytes(shape.resident(piece.across, piece.k), shape.resident(whole.across, whole.k), resident,
                   es) |
      offset_bytes(shape.streamed(piece.along, piece.k), shape.streamed(whole.along, whole.k), streamed, es) |
      offset_bytes(shape.c(piece.across, piece.along), shape.c(whole.across, whole.along), c, es);
  product.align_bytes = alignment(bits, es);
  return product;
}

// Pieces begin where their buffers do.
std::vector<StreamProduct> batch_products(const GemmProblem& problem, const Split& split) {
  std::vector<StreamProduct> all;
  const BatchShape shape(problem);
  for (const GpuShare& share : split.gpus)
    for (const IndexRange& piece : shape.pieces({share.first, share.count}, share.tile)) {
      StreamProduct product{share.gpu, shape.product(piece), int(widest_bytes)};
      if (std::find(all.begin(), all.end(), product) == all.end()) all.push_back(std::move(product));
    }
  return all;
}

}  // namespace

std::vector<StreamProduct> stream_products(const GemmProblem& problem, const Split& split, bool adds) {
  if (split.side == SplitSide::problems) return batch_products(problem, split);
  std::vector<StreamProduct> all;
  const StreamShape shape(problem, split.side);
  for (std::size_t i = 0; i < split.gpus.size(); ++i) {
    GpuShare share = split.gpus[i];
    if (!adds) share.adds_c = false;
    // Peers change who copies what, and no product.
    const StreamSchedule schedule = make_schedule(shape, share, int(i), {});
    for (const StreamStep& step : schedule.steps) {
      if (step.kind != StepKind::multiply) continue;
      StreamProduct product = product_of(shape, schedule, step);
      product.gpu = share.gpu;
      if (std::find(all.begin(), all.end(), product) == all.end()) all.push_back(std::move(product));
    }
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
