// Computes addresses from the distance at which benches place matrices.
#include "measure/gpu/pointers.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace tilewright {
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
