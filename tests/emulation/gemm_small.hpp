// Runs an instance of the stencil of batched small GEMM on the host, on a batch with partial tiles, guards,
// NaN that must not be read and deliberately invalid problems, and compares it with plain loops.
#pragma once

// The kernels are written for the device's compiler; the headers that they include must precede the
// definitions of its keywords.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "emulation/fields.hpp"
#include "emulation/gpu.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "kernel/gemm_small/stencil.cuh"
#include "measure/check_small.hpp"
#include "support/gpu_limits.hpp"

namespace tilewright::emulation {

// Returns a packed batch of one shape; with `gap` rows below each column.
inline SmallCase problem_of(DType dtype, Layout layout, int m, int n, int k, int gap = 0) {
  SmallCase one;
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
inline SmallCase with_ops(SmallCase one, Op a, Op b) {
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

// Host memory that registers its pieces; asynchronous copies must stay within them.
class CopiedMemory : public HostMemory {
 public:
  std::shared_ptr<std::byte> place(const void* from, std::size_t bytes) const override {
    auto placed = HostMemory::place(from, bytes);
    regions_.push_back({placed.get(), bytes});
    return placed;
  }
  const std::vector<Region>& regions() const { return regions_; }

 private:
  mutable std::vector<Region> regions_;
};

template <class T>
GemmSmallArgs<T> arguments(const GemmProblem& p, std::int64_t count, const Operands& o) {
  GemmSmallArgs<T> args = {};
  args.a = static_cast<const T*>(o.a), args.b = static_cast<const T*>(o.b), args.c = static_cast<T*>(o.c);
  args.count = count;
  const auto step = [&](std::int64_t stride) { return p.block > 0 ? p.block : stride; };
  args.stride_a = step(p.stride_a), args.stride_b = step(p.stride_b), args.stride_c = step(p.stride_c);
  args.lda = p.lda, args.ldb = p.ldb, args.ldc = p.ldc;
  args.alpha = *static_cast<const T*>(o.alpha), args.beta = *static_cast<const T*>(o.beta);
  args.alphas = static_cast<const T*>(o.alpha), args.betas = static_cast<const T*>(o.beta);
  const auto sizes = [](const std::int64_t* of) { return reinterpret_cast<const long long*>(of); };
  args.sizes_m = sizes(o.sizes.m), args.sizes_n = sizes(o.sizes.n), args.sizes_k = sizes(o.sizes.k);
  args.sizes_lda = sizes(o.sizes.lda), args.sizes_ldb = sizes(o.sizes.ldb),
  args.sizes_ldc = sizes(o.sizes.ldc);
  args.last = true;
  args.list_step = 1;
  args.run = count;
  args.info = o.info;
  args.info_step = 1;
  return args;
}

template <class T, GemmSmallShape S, GemmSmallConfig C>
std::string run_once(const SmallCheck& check, unsigned blocks, Copies copies) {
  using D = typename DeviceType<T>::type;
  const CopiedMemory memory;
  std::string stuck;
  const CheckResult result = check.run(memory, [&](const Operands& o) {
    const auto args = arguments<D>(check.batch().one().problem, check.batch().count(), o);
    Launch launch;
    launch.blocks = blocks;
    launch.threads = C.threads;
    launch.shared_bytes = static_cast<unsigned>(gemm_small_memory(S, C, sizeof(D)).total_bytes);
    launch.copies = copies;
    launch.global = memory.regions();
    stuck = run(launch, [&] { gemm_small<D, S, C>(args); });
  });
  return stuck.empty() ? result.fault : stuck;
}

// `align` is the alignment that the shape guarantees; the batch has a partial tile and more turns than
// stages.
template <class T, GemmSmallShape S, GemmSmallConfig C>
void expect_right(SmallCase one) {
  one.problem.dtype = dtype_of<T>;
  const GpuLimits limits = fictional_gpu(90);
  const GemmSmallShape shape = gemm_small_shape(one.problem, S.align_bytes, one.scalars_vary);
  EXPECT_EQ(describe(shape), describe(S));
  for (const auto& reason : gemm_small_space(shape, dtype_of<T>, limits).explain(C))
    ADD_FAILURE() << describe(C) << ": " << reason;
  const std::int64_t counts[] = {
      1, std::int64_t(C.matrices_per_block) * (2 * C.stages + 3) - C.matrices_per_block / 2};
  for (const std::int64_t count : counts) {
    const SmallCheck check(one, count, 3);
    for (const Copies copies : {Copies::at_once, Copies::late}) {
      const std::string fault = run_once<T, S, C>(check, C.persistent ? 2 : 100, copies);
      EXPECT_EQ(fault, "") << describe(S) << " | " << describe(C) << " count " << count
                           << (copies == Copies::late ? ", late copies" : "");
    }
  }
}

}  // namespace tilewright::emulation
