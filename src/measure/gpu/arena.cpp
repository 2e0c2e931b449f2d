// Allocates and fills the operands, and computes addresses in them.
#include "measure/gpu/arena.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>

namespace tilewright {
namespace {

template <class R>
void fill_with(GpuBuffer& buffer, Data kind, std::uint64_t seed, std::vector<R>& values) {
  values.resize((16u << 20) / sizeof(R) - 16);  // a period that no matrix size divides
  fill(values.data(), std::ssize(values), dtype_of<R>, kind, seed);
  const std::size_t bytes = std::min(buffer.bytes(), values.size() * sizeof(R));
  buffer.write(values.data(), bytes);
  buffer.repeat(bytes);
}

bool is_narrow(DType dtype) { return dtype == DType::f32 || dtype == DType::c64; }

constexpr std::size_t align_bytes = 256;  // as allocations are aligned

std::size_t aligned(std::size_t bytes) { return (bytes + align_bytes - 1) / align_bytes * align_bytes; }

}  // namespace

GpuArena::GpuArena(const Gpu& gpu, std::size_t operand_bytes) : gpu_(gpu) {
  reserve({operand_bytes, operand_bytes, operand_bytes});
}

void GpuArena::reserve(const GpuOperandBytes& wanted) {
  std::size_t* const held[] = {&bytes_.a, &bytes_.b, &bytes_.c};
  const std::size_t needed[] = {wanted.a, wanted.b, wanted.c};
  // Release operands that are too small first, so that old and new need not fit side by side.
  for (int i = 0; i < 3; ++i) {
    if (operands_[i] && needed[i] <= *held[i]) continue;
    operands_[i].reset();
    filled_.reset();
  }
  for (int i = 0; i < 3; ++i) {
    if (operands_[i]) continue;
    *held[i] = std::max(needed[i], *held[i]);
    operands_[i].emplace(gpu_, *held[i]);
  }
}

void GpuArena::fill(DType dtype, Data kind) {
  if (filled_ == std::pair(dtype, kind)) return;
  std::uint64_t seed = 7;
  for (int i = 0; i < 3; ++i)
    if (is_narrow(dtype))
      fill_with(*operands_[i], kind, seed++, narrow_[i]);
    else
      fill_with(*operands_[i], kind, seed++, wide_[i]);
  filled_.emplace(dtype, kind);
}

double GpuArena::real_at(int operand, std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  if (is_narrow(filled_.value().first)) return narrow_[operand][at % narrow_[operand].size()];
  return wide_[operand][at % wide_[operand].size()];
}

std::size_t GpuArena::operand_bytes() const { return std::min({bytes_.a, bytes_.b, bytes_.c}); }

void* GpuArena::streamed_c() {
  if (!streamed_c_ || streamed_c_->bytes() < operand_bytes()) {
    streamed_c_.reset();
    streamed_c_.emplace(gpu_, operand_bytes());
    streamed_c_->fill(0, nullptr);
    gpu_.synchronize();
  }
  return streamed_c_->as<void>();
}

GpuOperandBytes gpu_operand_bytes(const GemmProblem& p) {
  const std::int64_t in_block = is_interleaved(p.layout) ? p.block : 1;
  const std::int64_t steps = (p.batch_count + in_block - 1) / in_block;
  const auto bytes = [&](int operand) {
    const StoredOperand x = gpu_stored_operand(p, operand);
    return static_cast<std::size_t>(((steps - 1) * x.step + x.column_step * x.columns) * size_bytes(p.dtype));
  };
  return {bytes(0), bytes(1), bytes(2)};
}

void check_gpu_memory(const char* argument, const GemmProblem& problem, const GpuOperandBytes& bytes,
                      const GpuLimits& limits) {
  constexpr double gibibyte = 1 << 30;
  const double needed = double(bytes.a) + double(bytes.b) + double(bytes.c);
  if (needed <= double(limits.memory_bytes)) return;
  throw Error(ErrorCode::unsupported, argument,
              fmt::format("{} = {}: its operands take {:.1f} GiB, and {} has {:.1f} GiB of memory", argument,
                          to_string(problem), needed / gibibyte, limits.name,
                          double(limits.memory_bytes) / gibibyte));
}

GpuRing::GpuRing(const GpuArena& arena, const GpuOperandBytes& batch)
    : arena_(arena), step_{aligned(batch.a), aligned(batch.b), aligned(batch.c)} {
  const auto fit = [](std::size_t held, std::size_t step) {
    return static_cast<std::int64_t>(held / std::max(align_bytes, step));
  };
  const GpuOperandBytes& held = arena.bytes();
  batches_ =
      std::max<std::int64_t>(1, std::min({fit(held.a, step_.a), fit(held.b, step_.b), fit(held.c, step_.c)}));
}

Operands GpuRing::at(std::int64_t index) const {
  const auto batch = static_cast<std::size_t>(index % batches_);
  const auto from = [&](void* base, std::size_t step) { return static_cast<char*>(base) + batch * step; };
  Operands o;
  o.a = from(arena_.a(), step_.a), o.b = from(arena_.b(), step_.b), o.c = from(arena_.c(), step_.c);
  return o;
}

StoredOperand gpu_stored_operand(const GemmProblem& p, int operand) {
  StoredOperand x = stored_operand(p, operand);
  if (p.layout == Layout::pointer)
    x.step = gpu_pointer_distance(x.column_step * x.columns, size_bytes(p.dtype));
  return x;
}

GpuPointers::GpuPointers(const Gpu& gpu, const GemmProblem& p, std::int64_t batches,
                         const std::function<Operands(std::int64_t)>& at, std::span<const std::int64_t> order)
    : batches_(batches), count_(p.batch_count) {
  const std::int64_t size = size_bytes(p.dtype);
  std::vector<const char*> all(std::size_t(batches * count_));
  for (int operand = 0; operand < 3; ++operand) {
    const std::int64_t step = gpu_stored_operand(p, operand).step * size;
    // In sums the matrices of C are in order, one for the products of each run.
    const std::int64_t run = p.sums == Sums::none || operand < 2 ? 0 : products_per_c(p);
    for (std::int64_t i = 0; i < batches; ++i) {
      const Operands o = at(i);
      const void* const bases[] = {o.a, o.b, o.c};
      for (std::int64_t q = 0; q < count_; ++q)
        all[std::size_t(i * count_ + q)] =
            static_cast<const char*>(bases[operand]) + (run > 0 ? q / run : order[std::size_t(q)]) * step;
    }
    arrays_.emplace_back(gpu, all.size() * sizeof(void*));
    arrays_.back().write(all.data(), arrays_.back().bytes());
  }
}

Operands GpuPointers::at(std::int64_t index) const {
  const std::size_t offset = std::size_t(index % batches_ * count_) * sizeof(void*);
  Operands o;
  o.a = arrays_[0].as<void>(offset), o.b = arrays_[1].as<void>(offset), o.c = arrays_[2].as<void>(offset);
  return o;
}

std::vector<std::int64_t> pointer_order(std::int64_t count, bool shuffled) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(11);
  if (shuffled) std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace tilewright
