// Runs an instance of the stencil of large GEMM on the host for a batch: strided, with gaps between matrices,
// or through arrays of addresses, and compares every problem with plain loops.
#pragma once

#include <vector>

#include "emulation/gemm_large.hpp"

namespace tilewright::emulation {

// All problems of an operand, side by side in one matrix whose columns they share out.
template <class T>
struct BatchOperand {
  LargeMatrix<T> all;
  long long columns;

  BatchOperand(long long rows, long long of_one, int problems, const LargeCase& one, std::mt19937& random)
      : all(rows, (of_one + gap) * problems, one, random), columns(of_one) {
    using R = typename DeviceType<T>::real;
    for (int q = 0; q < problems; ++q)
      for (long long j = of_one; j < of_one + gap; ++j)
        for (long long i = 0; i < rows; ++i)
          all.at(i, q * (of_one + gap) + j) = T(std::numeric_limits<R>::quiet_NaN());
  }
  long long stride() const { return (columns + gap) * all.ld(); }
  T* at(int q) { return all.data() + q * stride(); }

  static constexpr long long gap = 2;  // columns of NaN
};

template <class T, GemmLargeShape S, GemmLargeConfig C>
class LargeBatch {
 public:
  using D = typename DeviceType<T>::type;

  LargeBatch(const LargeCase& one, int problems, unsigned seed)
      : one_(one),
        p_(problem_of(one, problems)),
        random_(seed),
        a_(p_.a_rows(), p_.a_cols(), problems, one, random_),
        b_(p_.b_rows(), p_.b_cols(), problems, one, random_),
        c_(p_.m, p_.n, problems, one, random_) {
    p_.lda = a_.all.ld(), p_.ldb = b_.all.ld(), p_.ldc = c_.all.ld();
    if (S.batch == GemmLargeBatch::strided)
      p_.stride_a = a_.stride(), p_.stride_b = b_.stride(), p_.stride_c = c_.stride();
    if (!S.reads_c)
      for (T& value : c_.all.values())
        value = T(std::numeric_limits<typename DeviceType<T>::real>::quiet_NaN());
  }

  void expect(T alpha, Copies copies) {
    const std::string what = fmt::format("{} | {} | {} of {} x {} x {}", describe(S), describe(C),
                                         p_.batch_count, p_.m, p_.n, p_.k);
    const int bytes =
        S.batch == GemmLargeBatch::pointers ? S.align_a : one_.offset * static_cast<int>(sizeof(T)) + 256;
    const GemmLargeShape shape = gemm_large_shape(p_, gemm_large_alignment(p_, bytes));
    EXPECT_EQ(describe(shape), describe(S)) << what;
    const auto space = gemm_large_space(p_, shape, fictional_gpu(90, one_.multiprocessors));
    for (const auto& reason : space.explain(C)) ADD_FAILURE() << what << ": " << reason;
    const std::vector<T> before = c_.all.values();
    const T beta = S.reads_c ? T(-1.25) : T(0);
    ASSERT_EQ(run_on(alpha, beta, copies), "") << what;
    compare(before, alpha, beta, what);
  }

 private:
  static GemmProblem problem_of(const LargeCase& one, int problems) {
    GemmProblem p;
    p.dtype = dtype_of<T>;
    p.m = one.m, p.n = one.n, p.k = one.k;
    p.op_a = S.conj_a ? Op::conj_trans : S.trans_a ? Op::trans : Op::none;
    p.op_b = S.conj_b ? Op::conj_trans : S.trans_b ? Op::trans : Op::none;
    p.alpha = Scalar::general;
    p.beta = S.reads_c ? Scalar::general : Scalar::zero;
    p.layout = S.batch == GemmLargeBatch::pointers ? Layout::pointer : Layout::strided;
    p.batch_count = problems;
    return p;
  }

  // Problems of a pointer batch come in reverse.
  void set_addresses(GemmLargeArgs<D>& args) {
    for (int q = 0; q < p_.batch_count; ++q) {
      const int other = int(p_.batch_count) - 1 - q;
      addresses_[0].push_back(a_.at(other)), addresses_[1].push_back(b_.at(other));
      addresses_[2].push_back(c_.at(other));
    }
    const bool reads = args.k > 0;  // else there may be no arrays of A and B
    args.a = reads ? reinterpret_cast<const D*>(addresses_[0].data()) : nullptr;
    args.b = reads ? reinterpret_cast<const D*>(addresses_[1].data()) : nullptr;
    args.c = reinterpret_cast<D*>(addresses_[2].data());
  }

  std::string run_on(T alpha, T beta, Copies copies) {
    GemmLargeArgs<D> args{};
    if (C.load == GemmLargeLoad::tensor) {
      args.map_a = describe_tensor(gemm_large_tensor(p_, S, C, GemmLargeSide::a, a_.all.data(), 0));
      args.map_b = describe_tensor(gemm_large_tensor(p_, S, C, GemmLargeSide::b, b_.all.data(), 0));
    }
    args.a = reinterpret_cast<const D*>(a_.all.data());
    args.b = reinterpret_cast<const D*>(b_.all.data());
    args.c = reinterpret_cast<D*>(c_.all.data());
    std::memcpy(static_cast<void*>(&args.alpha), &alpha, sizeof(T));
    std::memcpy(static_cast<void*>(&args.beta), &beta, sizeof(T));
    args.lda = p_.lda, args.ldb = p_.ldb, args.ldc = p_.ldc;
    args.m = p_.m, args.n = p_.n, args.k = alpha == T(0) ? 0 : p_.k;
    args.stride_a = p_.stride_a, args.stride_b = p_.stride_b, args.stride_c = p_.stride_c;
    args.problems = int(p_.batch_count);
    if (S.batch == GemmLargeBatch::pointers) set_addresses(args);
    const GemmLargeLaunch needs = gemm_large_launch(p_, S, C, fictional_gpu(90, one_.multiprocessors), 1);
    EXPECT_EQ(needs.workspace_bytes + needs.counter_count, 0);
    Launch launch;
    launch.blocks = needs.launch.blocks;
    launch.threads = needs.launch.threads;
    launch.shared_bytes = needs.launch.shared_bytes;
    launch.copies = copies;
    launch.global = {
        a_.all.region(p_.a_rows()), b_.all.region(p_.b_rows()), {large.filled, sizeof(large.filled)}};
    return run(launch, [&] {
      if (threadIdx.x == 0) {
        large.workers = gemm_large_workers(C);
        barrier_init(&large.barriers[0], gemm_large_workers(C));
        barrier_init(&large.barriers[1], gemm_large_writers(C));
      }
      large.own_parity(0) = large.own_parity(1) = 0;
      __syncthreads();
      gemm_large<D, S, C>(args);
    });
  }

  T sum_of(long long i, long long j, int q, double& size) {
    T sum{};
    const auto element = [](BatchOperand<T>& x, Op op, int problem, long long row, long long column) {
      const long long first = problem * (x.columns + BatchOperand<T>::gap);
      const T value = op == Op::none ? x.all.at(row, first + column) : x.all.at(column, first + row);
      if constexpr (sizeof(T) > sizeof(typename DeviceType<T>::real))
        if (op == Op::conj_trans) return std::conj(value);
      return value;
    };
    for (long long l = 0; l < p_.k; ++l) {
      const T x = element(a_, p_.op_a, q, i, l), y = element(b_, p_.op_b, q, l, j);
      sum += x * y;
      size += std::abs(x) * std::abs(y);
    }
    return sum;
  }

  void compare(const std::vector<T>& before, T alpha, T beta, const std::string& what) {
    using R = typename DeviceType<T>::real;
    const std::vector<T>& after = c_.all.values();
    const auto first = static_cast<std::size_t>(c_.all.data() - after.data());
    std::vector<bool> inside(after.size(), false);
    int wrong = 0;
    for (int q = 0; q < p_.batch_count; ++q)
      for (long long j = 0; j < p_.n; ++j)
        for (long long i = 0; i < p_.m; ++i) {
          double size = 1e-30;
          const T sum = alpha == T(0) ? T(0) : alpha * sum_of(i, j, q, size);
          const std::size_t at = first + static_cast<std::size_t>(q * c_.stride() + j * p_.ldc + i);
          inside[at] = true;
          const T value = beta == T(0) ? sum : sum + beta * before[at];
          if (beta != T(0)) size += std::abs(beta * before[at]);
          const double error = std::abs(after[at] - value);
          if (!(error <= (double(p_.k) + 4) * std::numeric_limits<R>::epsilon() * size) && ++wrong < 4)
            ADD_FAILURE() << what << ": element (" << i << ", " << j << ") of " << q << " differs by "
                          << error;
        }
    EXPECT_EQ(wrong, 0) << what;
    for (std::size_t at = 0; at < after.size(); ++at)
      if (!inside[at] && std::memcmp(&after[at], &before[at], sizeof(T)) != 0) {
        ADD_FAILURE() << what << ": something outside C was written";
        break;
      }
  }

  LargeCase one_;
  GemmProblem p_;
  std::mt19937 random_;
  BatchOperand<T> a_, b_, c_;
  std::vector<T*> addresses_[3];
};

// Runs the instance on a batch with copies that arrive at once and late.
template <class T, GemmLargeShape S, GemmLargeConfig C>
void expect_large_batch(const LargeCase& one, int problems, T alpha = T(0.75)) {
  for (const Copies copies : {Copies::at_once, Copies::late})
    LargeBatch<T, S, C>(one, problems, 11).expect(alpha, copies);
}

}  // namespace tilewright::emulation
