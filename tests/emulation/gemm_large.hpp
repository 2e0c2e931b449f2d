// Runs an instance of the stencil of large GEMM on the host, with leading dimensions above the rows, NaN in
// memory that must not be read and marks in memory that must not be written, and compares the result with
// plain loops.
#pragma once

// The kernels are written for the device's compiler; the headers that they include must precede the
// definitions of its keywords.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "emulation/fields.hpp"
#include "emulation/gpu.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/gemm_large/stencil.cuh"
#include "support/gpu_limits.hpp"

namespace tilewright::emulation {

template <class T>
struct DeviceType {
  using type = T;
  using real = T;
};
template <class R>
struct DeviceType<std::complex<R>> {
  using type = Complex<R>;
  using real = R;
};

struct LargeCase {
  int m = 0, n = 0, k = 0;
  int pad = 0;     // added to all leading dimensions
  int offset = 0;  // elements between an address that is a multiple of 256 bytes and the operand
  int multiprocessors = 3;
};

// A matrix whose padding, and some bytes on both sides, are NaN.
template <class T>
class LargeMatrix {
 public:
  LargeMatrix(long long rows, long long columns, const LargeCase& one, std::mt19937& random)
      : ld_(rows + one.pad), columns_(columns), values_(static_cast<std::size_t>(ld_ * columns + 128)) {
    using R = typename DeviceType<T>::real;
    std::uniform_real_distribution<double> uniform(-0.5, 0.5);
    const auto address = reinterpret_cast<std::uintptr_t>(values_.data());
    first_ = (256 - address % 256) % 256 / sizeof(T) + static_cast<std::size_t>(one.offset);
    for (T& value : values_) value = T(std::numeric_limits<R>::quiet_NaN());
    for (long long j = 0; j < columns; ++j)
      for (long long i = 0; i < rows; ++i)
        if constexpr (sizeof(T) > sizeof(R))
          at(i, j) = T(static_cast<R>(uniform(random)), static_cast<R>(uniform(random)));
        else
          at(i, j) = static_cast<T>(uniform(random));
  }
  T& at(long long i, long long j) { return values_[first_ + static_cast<std::size_t>(j * ld_ + i)]; }
  T* data() { return values_.data() + first_; }
  long long ld() const { return ld_; }
  std::vector<T>& values() { return values_; }
  // The region from the first element to the last, which a kernel may read, padding between columns included.
  Region region(long long rows) {
    return {data(), static_cast<std::size_t>((columns_ - 1) * ld_ + rows) * sizeof(T)};
  }

 private:
  long long ld_, columns_;
  std::size_t first_ = 0;
  std::vector<T> values_;
};

template <class T>
T op_element(LargeMatrix<T>& x, Op op, long long i, long long j) {
  const T value = op == Op::none ? x.at(i, j) : x.at(j, i);
  if constexpr (sizeof(T) > sizeof(typename DeviceType<T>::real))
    if (op == Op::conj_trans) return std::conj(value);
  return value;
}

// Encodes a tensor map like the device's driver, with the same checks.
inline GemmLargeMap describe_tensor(const GpuTensor& t) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.address) % 16, 0u);
  EXPECT_EQ(t.stride_bytes % 16, 0u);
  EXPECT_TRUE(t.inner > 0 && t.outer > 0 && t.box_inner > 0 && t.box_outer > 0);
  EXPECT_LE(std::max(t.box_inner, t.box_outer), 256u);
  Tensor tensor;
  tensor.address = static_cast<const unsigned char*>(t.address);
  tensor.inner = static_cast<long long>(t.inner);
  tensor.outer = static_cast<long long>(t.outer);
  tensor.stride_bytes = static_cast<long long>(t.stride_bytes);
  tensor.swizzled = t.swizzled;
  tensor.element_bytes = t.type == GpuTensorType::f32 ? 4 : 8;
  tensor.box_inner = t.box_inner;
  tensor.box_outer = t.box_outer;
  EXPECT_EQ(t.matrix_bytes % 16, 0u);
  tensor.matrices = static_cast<long long>(t.matrices);
  tensor.matrix_bytes = static_cast<long long>(t.matrix_bytes);
  GemmLargeMap map{};
  std::memcpy(&map, &tensor, sizeof(tensor));
  return map;
}

template <class T>
struct LargeOperandSet {
  LargeMatrix<T> a, b, c;
};

// The operands, and the marks of C, are NaN until the preceding kernel in the stream ends.
template <class T>
void hide_until_launch_before_ends(LargeOperandSet<T>& o) {
  std::vector<std::pair<LargeMatrix<T>*, std::vector<T>>> hidden;
  for (LargeMatrix<T>* const x : {&o.a, &o.b, &o.c}) {
    hidden.emplace_back(x, x->values());
    for (T& value : x->values()) value = T(std::numeric_limits<typename DeviceType<T>::real>::quiet_NaN());
  }
  large.waits = large.next_launches = 0;
  large.launch_before = [hidden] {
    for (const auto& [matrix, values] : hidden) matrix->values() = values;
  };
}

template <class T, GemmLargeShape S, GemmLargeConfig C, class Args>
void describe_operands(const GemmProblem& p, LargeOperandSet<T>& o, Args& args) {
  const auto describe = [&](GemmLargeSide side, const void* address, int turn) {
    return describe_tensor(gemm_large_tensor(p, S, C, side, address, turn));
  };
  args.map_a = describe(GemmLargeSide::a, o.a.data(), 0);
  args.map_b = describe(GemmLargeSide::b, o.b.data(), 0);
  if (gemm_large_maps(C, S.align_a) > 1) args.odd_a = describe(GemmLargeSide::a, o.a.data(), 1);
  if (gemm_large_maps(C, S.align_b) > 1) args.odd_b = describe(GemmLargeSide::b, o.b.data(), 1);
}

template <class T, GemmLargeShape S, GemmLargeConfig C>
std::string run_large(const GemmProblem& p, LargeOperandSet<T>& o, T alpha, T beta, int multiprocessors,
                      Copies copies) {
  using D = typename DeviceType<T>::type;
  GemmLargeArgs<D> args{};
  const bool reads = p.k > 0 && alpha != T(0);
  if (C.load == GemmLargeLoad::tensor && p.k > 0) describe_operands<T, S, C>(p, o, args);
  args.a = reinterpret_cast<const D*>(o.a.data());
  args.b = reinterpret_cast<const D*>(o.b.data());
  args.c = reinterpret_cast<D*>(o.c.data());
  std::memcpy(static_cast<void*>(&args.alpha), &alpha, sizeof(T));
  std::memcpy(static_cast<void*>(&args.beta), &beta, sizeof(T));
  args.lda = p.lda;
  args.ldb = p.ldb;
  args.ldc = p.ldc;
  args.m = p.m;
  args.n = p.n;
  args.k = reads ? p.k : 0;
  const GemmLargeLaunch needs = gemm_large_launch(p, S, C, fictional_gpu(90, multiprocessors), 1);
  std::vector<unsigned char> workspace(static_cast<std::size_t>(needs.workspace_bytes) + 16, 0xFF);
  std::vector<unsigned> counters(static_cast<std::size_t>(needs.counter_count) + 1, 0u);
  args.workspace = workspace.data();
  args.counters = counters.data();
  Launch launch;
  launch.blocks = needs.launch.blocks;
  launch.threads = needs.launch.threads;
  launch.shared_bytes = needs.launch.shared_bytes;
  launch.cluster = needs.launch.cluster;
  launch.copies = copies;
  launch.global = {o.a.region(S.trans_a ? p.k : p.m),
                   o.b.region(S.trans_b ? p.n : p.k),
                   {large.filled, sizeof(large.filled)}};
  if (C.dependent_launch) hide_until_launch_before_ends(o);
  const std::string fault = run(launch, [&] {
    if (threadIdx.x == 0) {
      large.workers = gemm_large_workers(C);
      barrier_init(&large.barriers[0], gemm_large_workers(C));
      barrier_init(&large.barriers[1], gemm_large_writers(C));
    }
    large.own_parity(0) = large.own_parity(1) = 0;
    __syncthreads();
    gemm_large<D, S, C>(args);
  });
  if (C.dependent_launch && std::exchange(large.launch_before, nullptr))
    return "the kernel before was not waited for";
  const int threads = static_cast<int>(launch.blocks * launch.threads);
  if (C.dependent_launch && (large.waits != threads || large.next_launches != threads))
    return "not every thread waits for the kernel before and then lets the next one begin";
  for (const unsigned counter : counters)
    if (counter != 0 && fault.empty()) return "a counter is left above zero";
  for (std::size_t i = 0; i < 16; ++i)
    if (workspace[static_cast<std::size_t>(needs.workspace_bytes) + i] != 0xFF)
      return "the workspace overflows";
  return fault;
}

template <class T>
void compare_large(const GemmProblem& p, LargeOperandSet<T>& o, std::vector<T> before, T alpha, T beta,
                   const std::string& what) {
  using R = typename DeviceType<T>::real;
  const std::vector<T> after = o.c.values();
  o.c.values() = before;
  LargeMatrix<T> wanted = o.c;
  std::vector<bool> inside(after.size(), false);
  const auto first = static_cast<std::size_t>(&o.c.at(0, 0) - o.c.values().data());
  int wrong = 0;
  for (long long j = 0; j < p.n; ++j)
    for (long long i = 0; i < p.m; ++i) {
      T sum{};
      double size = 0;
      if (alpha != T(0))
        for (long long l = 0; l < p.k; ++l) {
          const T x = op_element(o.a, p.op_a, i, l), y = op_element(o.b, p.op_b, l, j);
          sum += x * y;
          size += std::abs(x) * std::abs(y);
        }
      const std::size_t at = first + static_cast<std::size_t>(j * o.c.ld() + i);
      inside[at] = true;
      T value = alpha * sum;
      size = size * std::abs(alpha) + 1e-30;
      if (beta != T(0)) value += beta * before[at], size += std::abs(beta * before[at]);
      const double error = std::abs(after[at] - value);
      if (!(error <= (double(p.k) + 4) * std::numeric_limits<R>::epsilon() * size) && ++wrong < 4)
        ADD_FAILURE() << what << ": element (" << i << ", " << j << ") differs by " << error;
    }
  EXPECT_EQ(wrong, 0) << what;
  for (std::size_t at = 0; at < after.size(); ++at)
    if (!inside[at] && std::memcmp(&after[at], &before[at], sizeof(T)) != 0) {
      ADD_FAILURE() << what << ": something outside C was written";
      break;
    }
}

// Runs the instance on one case with copies that arrive at once and late. `alpha` 0 means a call that reads
// neither A nor B.
template <class T, GemmLargeShape S, GemmLargeConfig C>
void expect_large(const LargeCase& one, T alpha = T(0.75)) {
  GemmProblem p;
  p.dtype = dtype_of<T>;
  p.m = one.m;
  p.n = one.n;
  p.k = one.k;
  p.op_a = S.conj_a ? Op::conj_trans : S.trans_a ? Op::trans : Op::none;
  p.op_b = S.conj_b ? Op::conj_trans : S.trans_b ? Op::trans : Op::none;
  p.alpha = Scalar::general;
  p.beta = S.reads_c ? Scalar::general : Scalar::zero;
  std::mt19937 random(11);
  for (const Copies copies : {Copies::at_once, Copies::late}) {
    LargeOperandSet<T> o{LargeMatrix<T>(p.a_rows(), p.a_cols(), one, random),
                         LargeMatrix<T>(p.b_rows(), p.b_cols(), one, random),
                         LargeMatrix<T>(p.m, p.n, one, random)};
    p.lda = o.a.ld();
    p.ldb = o.b.ld();
    p.ldc = o.c.ld();
    const std::string what = fmt::format("{} | {} | {} x {} x {}", describe(S), describe(C), p.m, p.n, p.k);
    const T beta = S.reads_c ? T(-1.25) : T(0);
    if (!S.reads_c)
      for (T& value : o.c.values()) value = T(std::numeric_limits<typename DeviceType<T>::real>::quiet_NaN());
    const std::vector<T> before = o.c.values();
    const int bytes = one.offset * static_cast<int>(sizeof(T)) + 256;
    const GemmLargeShape shape = gemm_large_shape(p, {bytes, bytes, bytes});
    EXPECT_EQ(describe(shape), describe(S)) << what;
    const auto space = gemm_large_space(p, shape, fictional_gpu(90, one.multiprocessors));
    for (const auto& reason : space.explain(C)) ADD_FAILURE() << what << ": " << reason;
    const std::string fault = run_large<T, S, C>(p, o, alpha, beta, one.multiprocessors, copies);
    ASSERT_EQ(fault, "") << what;
    compare_large(p, o, before, alpha, beta, what);
  }
}

}  // namespace tilewright::emulation
