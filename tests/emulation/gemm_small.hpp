// Runs an instance of the stencil of batched small GEMM on the host, on a batch with partial tiles, guards,
// NaN that must not be read and problems that are wrong on purpose, and compares it with plain loops.
#pragma once

// The kernels are written for the device's compiler; what they include must come before its words are
// defined.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "emulation/gpu.hpp"
#include "gemm_small_data.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "kernel/gemm_small/stencil.cuh"
#include "support/gpu_limits.hpp"

namespace tilewright::emulation {

// A packed batch of one shape; `gap` rows below each column.
inline bench::SmallCase problem_of(DType dtype, Layout layout, int m, int n, int k, int gap = 0) {
  bench::SmallCase one;
  GemmProblem& p = one.problem;
  p.dtype = dtype;
  p.m = m;
  p.n = n;
  p.k = k;
  p.layout = layout;
  p.batch_count = 100000;
  p.alpha = p.beta = Scalar::general;
  p.location = Location::device;
  p = packed(p);
  p.lda += gap;
  p.ldb += gap;
  p.ldc += gap;
  p.stride_a = p.lda * p.a_cols();
  p.stride_b = p.ldb * p.b_cols();
  p.stride_c = p.ldc * p.n;
  if (layout != Layout::strided) p.stride_a = p.stride_b = p.stride_c = 0;
  return one;
}
inline bench::SmallCase with_ops(bench::SmallCase one, Op a, Op b) {
  GemmProblem& p = one.problem;
  p.op_a = a;
  p.op_b = b;
  p.lda = p.ldb = p.ldc = p.stride_a = p.stride_b = p.stride_c = 0;
  p = packed(p);
  return one;
}

template <class T>
struct DeviceType {
  using type = T;
};
template <class R>
struct DeviceType<std::complex<R>> {
  using type = Complex<R>;
};

// A copy of host values at a multiple of 256 bytes, as device memory begins.
template <class T>
class Memory {
 public:
  explicit Memory(const std::vector<T>& values) : bytes_(values.size() * sizeof(T)), raw_(bytes_ + 256) {
    const auto address = reinterpret_cast<std::uintptr_t>(raw_.data());
    data_ = reinterpret_cast<T*>((address + 255) / 256 * 256);
    if (bytes_ > 0) std::memcpy(static_cast<void*>(data_), values.data(), bytes_);
  }
  T* data() const { return data_; }
  std::vector<T> values() const { return {data_, data_ + bytes_ / sizeof(T)}; }
  Region region() const { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  std::vector<char> raw_;
  T* data_;
};

template <class T, GemmSmallShape S, GemmSmallConfig C>
std::string run_once(const bench::SmallBatch& batch, const bench::SmallData<T>& data, unsigned blocks,
                     Copies copies) {
  using D = typename DeviceType<T>::type;
  const Memory<T> a(data.values(0)), b(data.values(1)), c(data.values(2)), alphas(data.alphas()),
      betas(data.betas());
  const Memory<const T*> addresses[] = {Memory<const T*>(data.addresses(0, a.data() + data.base())),
                                        Memory<const T*>(data.addresses(1, b.data() + data.base())),
                                        Memory<const T*>(data.addresses(2, c.data() + data.base()))};
  const Memory<int> info(std::vector<int>(static_cast<std::size_t>(batch.count())));
  std::vector<Memory<std::int64_t>> sizes;
  for (int i = 0; i < 6; ++i)
    sizes.emplace_back(batch.sizes_vary() ? data.sizes(i) : std::vector<std::int64_t>());
  const GemmProblem& p = batch.one().problem;
  GemmSmallArgs<D> args = {};
  const auto base = [&](const Memory<T>& operand, int which) {
    const void* plain = operand.data() + data.base();
    return reinterpret_cast<const D*>(batch.by_pointer() ? addresses[which].data() : plain);
  };
  args.a = base(a, 0);
  args.b = base(b, 1);
  args.c = const_cast<D*>(base(c, 2));
  args.count = batch.count();
  const bool interleaved = p.block > 0;
  args.stride_a = interleaved ? p.block : p.stride_a;
  args.stride_b = interleaved ? p.block : p.stride_b;
  args.stride_c = interleaved ? p.block : p.stride_c;
  args.lda = p.lda;
  args.ldb = p.ldb;
  args.ldc = p.ldc;
  std::memcpy(static_cast<void*>(&args.alpha), &data.alphas()[0], sizeof(T));
  std::memcpy(static_cast<void*>(&args.beta), &data.betas()[0], sizeof(T));
  args.alphas = reinterpret_cast<const D*>(alphas.data());
  args.betas = reinterpret_cast<const D*>(betas.data());
  const long long** const arrays[] = {&args.sizes_m,   &args.sizes_n,   &args.sizes_k,
                                      &args.sizes_lda, &args.sizes_ldb, &args.sizes_ldc};
  for (int i = 0; i < 6; ++i) *arrays[i] = reinterpret_cast<const long long*>(sizes[std::size_t(i)].data());
  args.last = true;
  args.info = batch.by_pointer() ? info.data() : nullptr;
  args.info_step = 1;
  Launch launch;
  launch.blocks = blocks;
  launch.threads = C.threads;
  launch.shared_bytes = static_cast<unsigned>(gemm_small_memory(S, C, sizeof(D)).total_bytes);
  launch.copies = copies;
  launch.global = {a.region(), b.region(), c.region()};
  for (const auto& array : addresses) launch.global.push_back(array.region());
  for (const auto& array : sizes) launch.global.push_back(array.region());
  const std::string fault = run(launch, [&] { gemm_small<D, S, C>(args); });
  if (!fault.empty()) return fault;
  return data.compare(c.values(), batch.by_pointer() ? info.values() : std::vector<int>()).fault;
}

// `align` is what the shape vouches for; the batch has a partial tile and more turns than stages.
template <class T, GemmSmallShape S, GemmSmallConfig C>
void expect_right(bench::SmallCase one) {
  one.problem.dtype = dtype_of<T>;
  const GpuLimits limits = fictional_gpu(90);
  const GemmSmallShape shape = gemm_small_shape(one.problem, S.align_bytes, one.scalars_vary);
  EXPECT_EQ(describe(shape), describe(S));
  for (const auto& reason : gemm_small_space(shape, dtype_of<T>, limits).explain(C))
    ADD_FAILURE() << describe(C) << ": " << reason;
  std::mt19937 random(3);
  const std::int64_t counts[] = {
      1, std::int64_t(C.matrices_per_block) * (2 * C.stages + 3) - C.matrices_per_block / 2};
  for (const std::int64_t count : counts) {
    const bench::SmallBatch batch(one, count, random);
    const bench::SmallData<T> data(batch, random);
    for (const Copies copies : {Copies::at_once, Copies::late}) {
      const std::string fault = run_once<T, S, C>(batch, data, C.persistent ? 2 : 100, copies);
      EXPECT_EQ(fault, "") << describe(S) << " | " << describe(C) << " count " << count
                           << (copies == Copies::late ? ", late copies" : "");
    }
  }
}

}  // namespace tilewright::emulation
