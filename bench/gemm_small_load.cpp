// Buffers filled on the host and repeated on the device, and what a launch is told of them.
#include "gemm_small_load.hpp"

#include "core/dispatch.hpp"

namespace tilewright::bench {
namespace {

SmallBatch batch_of(const SmallCase& one) {
  std::mt19937 random(5);  // the same places and sizes in every run
  return SmallBatch(one, one.problem.batch_count, random);
}

}  // namespace

SmallBuffers::SmallBuffers(const Gpu& gpu, std::size_t bytes) {
  for (int i = 0; i < 3; ++i) buffers_.emplace_back(gpu, bytes);
}

// A block of values is repeated, with a period that no matrix size divides.
template <class R>
void SmallBuffers::fill_with() {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<R> uniform(R(-0.5), R(0.5));
  std::vector<R> values((16u << 20) / sizeof(R) - 16);
  for (GpuBuffer& buffer : buffers_) {
    for (R& value : values) value = uniform(random);
    const std::size_t bytes = std::min(buffer.bytes(), values.size() * sizeof(R));
    buffer.write(values.data(), bytes);
    buffer.repeat(bytes);
  }
}

void SmallBuffers::fill(DType dtype) {
  const bool single = dtype == DType::f32 || dtype == DType::c64;
  if (holds_single_ == single) return;
  single ? fill_with<float>() : fill_with<double>();
  holds_single_ = single;
}

SmallLoad::SmallLoad(const Gpu& gpu, const SmallCase& one, SmallBuffers& buffers)
    : batch_(batch_of(one)), arrays_(gpu, batch_) {
  const GemmProblem& p = one.problem;
  arrays_.set_all(static_cast<const char*>(buffers[0]), static_cast<const char*>(buffers[1]),
                  static_cast<char*>(buffers[2]));
  operands_ = arrays_.operands(buffers[0], buffers[1], buffers[2]);
  // Values of any type: one, or what the buffers hold.
  scalars_ = dispatch(p.dtype, [&]<class T>() {
    const T pair[2] = {T(1), T(p.beta == Scalar::zero ? 0 : 1)};
    return std::string(reinterpret_cast<const char*>(pair), sizeof(pair));
  });
  operands_.alpha = scalars_.data();
  operands_.beta = scalars_.data() + size_bytes(p.dtype);
  operands_.alphas = operands_.betas = buffers[0];
}

}  // namespace tilewright::bench
