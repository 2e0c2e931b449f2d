// Draws and uploads.
#include "tune/gpu/sizes.hpp"

#include <random>

namespace tilewright {

DrawnSizes::DrawnSizes(const GemmProblem& largest, std::int64_t count) {
  std::mt19937_64 random(5);
  const auto draw = [&](std::int64_t most) { return 1 + std::int64_t(random() % std::uint64_t(most)); };
  for (std::int64_t q = 0; q < count; ++q) {
    GemmProblem own = largest;
    own.m = draw(largest.m), own.n = draw(largest.n), own.k = draw(largest.k);
    const std::int64_t sizes[] = {own.m, own.n, own.k, own.a_rows(), own.b_rows(), own.m};
    for (int i = 0; i < 6; ++i) values[i].push_back(sizes[i]);
  }
}

GpuSizes::GpuSizes(const Gpu& gpu, const DrawnSizes& drawn) {
  for (const auto& values : drawn.values) {
    buffers_.emplace_back(gpu, values.size() * sizeof values[0]);
    buffers_.back().write(values.data(), buffers_.back().bytes());
  }
}

VariableSizes GpuSizes::arrays() const {
  const auto at = [&](int i) { return buffers_[std::size_t(i)].as<const std::int64_t>(); };
  return {at(0), at(1), at(2), at(3), at(4), at(5)};
}

GemmProblem with_places_of_pointers(GemmProblem p) {
  if (p.layout != Layout::variable) return p;
  p.layout = Layout::pointer;
  p.lda = p.ldb = p.ldc = 0;
  return packed(p);
}

}  // namespace tilewright
