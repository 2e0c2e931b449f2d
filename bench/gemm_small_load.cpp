// Buffers filled on the host and repeated on the device, and what a launch is told of them.
#include "gemm_small_load.hpp"

#include <algorithm>
#include <limits>

#include "core/dispatch.hpp"

namespace tilewright::bench {
namespace {

SmallBatch batch_of(const SmallCase& one) {
  std::mt19937 random(5);  // the same places and sizes in every run
  return SmallBatch(one, one.problem.batch_count, random);
}

}  // namespace

GpuTraffic traffic_of(const SmallBatch& batch) {
  const GemmProblem& p = batch.one().problem;
  if (!batch.sizes_vary()) {
    GemmProblem all = p;
    all.batch_count = batch.count();
    return gpu_traffic(all);
  }
  double total[3] = {};
  for (std::int64_t q = 0; q < batch.count(); ++q)
    for (int operand = 0; operand < 3; ++operand) {
      const StoredOperand x = batch.matrix(operand, q);
      const std::int64_t bytes = x.column_step * x.columns * size_bytes(p.dtype);
      total[operand] += double((bytes + gpu_sector_bytes - 1) / gpu_sector_bytes * gpu_sector_bytes);
    }
  GpuTraffic traffic;
  traffic.mix = {total[0], total[1], total[2], p.beta != Scalar::zero};
  constexpr double pointers_and_sizes = 3 * 8 + 6 * 8;
  traffic.bytes = traffic.mix.moved() + pointers_and_sizes * double(batch.count());
  return traffic;
}

double flops_of(const SmallBatch& batch) {
  GemmProblem all = batch.one().problem;
  all.batch_count = batch.count();
  if (!batch.sizes_vary()) return flops(all);
  double sum = 0;
  for (std::int64_t q = 0; q < batch.count(); ++q) {
    GemmProblem own = batch.problem(q);
    own.batch_count = 1;
    sum += flops(own);
  }
  return sum;
}

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
  if (p.layout != Layout::strided || one.scalars_vary) return;
  copies_ = std::numeric_limits<std::int64_t>::max();
  for (int operand = 0; operand < 3; ++operand) {
    const std::size_t bytes = std::size_t(batch_.elements(operand)) * size_bytes(p.dtype);
    distance_[operand] = (bytes + 255) / 256 * 256;  // where allocations begin
    copies_ = std::min(copies_, std::int64_t(buffers.bytes() / distance_[operand]));
  }
  copies_ = std::max<std::int64_t>(1, copies_);
}

std::size_t SmallLoad::offset(int operand, std::int64_t turn) const {
  return distance_[operand] * std::size_t(turn % copies_);
}

void SmallLoad::launch(const GemmSmallKernel& kernel, CUstream_st* stream, std::int64_t turn) const {
  GemmSmallOperands o = operands_;
  o.a = static_cast<const char*>(o.a) + offset(0, turn);
  o.b = static_cast<const char*>(o.b) + offset(1, turn);
  o.c = static_cast<char*>(o.c) + offset(2, turn);
  kernel.launch(o, stream);
}

}  // namespace tilewright::bench
