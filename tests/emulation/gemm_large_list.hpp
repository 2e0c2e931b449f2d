// Runs an instance of the stencil of large GEMM on the host for a batch whose problems have sizes, addresses,
// alphas and betas of their own, some of them bad, and compares every problem with plain loops.
#pragma once

#include <algorithm>
#include <vector>

#include "emulation/gemm_large.hpp"
#include "kernel/gemm_large/list.cuh"

namespace tilewright::emulation {

// A problem with its faults: codes that it must get, 0 for a good one.
template <class T>
struct ListItem {
  int m, n, k;
  T alpha = T(0.75), beta = T(-1.25);
  int code = 0;
};

template <class T, GemmLargeShape S, GemmLargeConfig C>
class LargeList {
 public:
  using D = typename DeviceType<T>::type;
  using R = typename DeviceType<T>::real;

  // No item is larger than `most`, except one whose code says so. With `vary` alphas and betas come from
  // arrays, else those of the first item are of all.
  LargeList(const LargeCase& most, std::vector<ListItem<T>> items, ScalarsVary vary, unsigned seed = 5)
      : most_(most), items_(std::move(items)), vary_(vary), random_(seed) {
    for (ListItem<T>& x : items_) {
      if (!vary.alpha) x.alpha = items_.front().alpha;
      if (!vary.beta) x.beta = items_.front().beta;
      const int m = std::max(x.m, 0), n = std::max(x.n, 0), k = std::max(x.k, 0);
      LargeCase one = most;
      one.pad = most.pad + int(random_() % 4);
      a_.emplace_back(S.trans_a ? k : m, S.trans_a ? m : k, one, random_);
      b_.emplace_back(S.trans_b ? n : k, S.trans_b ? k : n, one, random_);
      c_.emplace_back(m, n, one, random_);
      if (x.alpha == T(0)) forget(a_.back()), forget(b_.back());
      if (x.beta == T(0)) forget(c_.back());
    }
  }

  // Makes the addresses null of A and B that are not multiplied.
  void hide_unread() { hides_unread_ = true; }

  void expect(Copies copies) {
    const std::string what =
        fmt::format("{} | {} | {} problems up to {} x {} x {}, {} {}", describe(S), describe(C),
                    items_.size(), most_.m, most_.n, most_.k, vary_.alpha, vary_.beta);
    const GemmProblem p = problem();
    const GemmLargeShape shape = gemm_large_shape(p, gemm_large_alignment(p, 16), MathMode::full, vary_);
    EXPECT_EQ(describe(shape), describe(S)) << what;
    const auto space = gemm_large_space(p, shape, fictional_gpu(90, most_.multiprocessors));
    for (const auto& reason : space.explain(C)) ADD_FAILURE() << what << ": " << reason;
    std::vector<std::vector<T>> before;
    for (LargeMatrix<T>& c : c_) before.push_back(c.values());
    std::vector<int> codes(items_.size(), 0);
    ASSERT_EQ(run_on(p, copies, codes), "") << what;
    for (std::size_t q = 0; q < items_.size(); ++q) {
      EXPECT_EQ(codes[q], items_[q].code) << what << ": problem " << q;
      compare(q, before[q], what);
    }
  }

 private:
  static void forget(LargeMatrix<T>& x) {
    for (T& value : x.values()) value = T(std::numeric_limits<R>::quiet_NaN());
  }
  GemmProblem problem() const {
    GemmProblem p;
    p.dtype = dtype_of<T>;
    p.m = most_.m, p.n = most_.n, p.k = most_.k;
    p.op_a = S.conj_a ? Op::conj_trans : S.trans_a ? Op::trans : Op::none;
    p.op_b = S.conj_b ? Op::conj_trans : S.trans_b ? Op::trans : Op::none;
    p.alpha = Scalar::general;
    p.beta = S.reads_c ? Scalar::general : Scalar::zero;
    p.layout = Layout::variable;
    p.batch_count = std::int64_t(items_.size());
    return packed(p);
  }

  // The arrays of a launch.
  struct Arrays {
    std::vector<const T*> a, b;
    std::vector<T*> c;
    std::vector<T> alphas, betas;
    std::vector<long long> m, n, k, lda, ldb, ldc;
  };
  Arrays arrays() {
    Arrays x;
    for (std::size_t q = 0; q < items_.size(); ++q) {
      const ListItem<T>& one = items_[q];
      const bool hidden = hides_unread_ && (one.alpha == T(0) || one.k == 0);
      x.a.push_back(hidden || one.code == -7 ? nullptr : a_[q].data());
      x.b.push_back(hidden || one.code == -9 ? nullptr : b_[q].data());
      x.c.push_back(one.code == -12 ? nullptr : c_[q].data());
      x.alphas.push_back(one.alpha), x.betas.push_back(one.beta);
      x.m.push_back(one.m), x.n.push_back(one.n), x.k.push_back(one.k);
      const auto leading = [&](LargeMatrix<T>& matrix, int code, int rows) {
        return one.code == code ? rows - 1ll : std::max(1ll, matrix.ld());
      };
      x.lda.push_back(leading(a_[q], -8, S.trans_a ? one.k : one.m));
      x.ldb.push_back(leading(b_[q], -10, S.trans_b ? one.n : one.k));
      x.ldc.push_back(leading(c_[q], -13, one.m));
    }
    return x;
  }

  std::string run_on(const GemmProblem& p, Copies copies, std::vector<int>& codes) {
    const Arrays x = arrays();
    GemmLargeListArgs<D> args{};
    if (!vary_.alpha) std::memcpy(static_cast<void*>(&args.alpha), x.alphas.data(), sizeof(T));
    if (!vary_.beta) std::memcpy(static_cast<void*>(&args.beta), x.betas.data(), sizeof(T));
    if (vary_.alpha) args.alphas = reinterpret_cast<const D*>(x.alphas.data());
    if (vary_.beta) args.betas = reinterpret_cast<const D*>(x.betas.data());
    args.a = reinterpret_cast<const D*>(x.a.data()), args.b = reinterpret_cast<const D*>(x.b.data());
    args.c = reinterpret_cast<D*>(const_cast<T**>(x.c.data()));
    args.sizes_m = x.m.data(), args.sizes_n = x.n.data(), args.sizes_k = x.k.data();
    args.sizes_lda = x.lda.data(), args.sizes_ldb = x.ldb.data(), args.sizes_ldc = x.ldc.data();
    args.m = p.m, args.n = p.n, args.k = p.k;
    args.info = codes.data(), args.info_step = 1;
    args.problems = int(items_.size());
    args.addresses = true;
    const GemmLargeLaunch needs = gemm_large_launch(p, S, C, fictional_gpu(90, most_.multiprocessors), 1);
    Launch launch;
    launch.blocks = needs.launch.blocks, launch.threads = needs.launch.threads;
    launch.shared_bytes = needs.launch.shared_bytes;
    launch.copies = copies;
    launch.global = {{large.filled, sizeof(large.filled)}};
    for (std::size_t q = 0; q < items_.size(); ++q) {
      const ListItem<T>& one = items_[q];
      if (one.m <= 0 || one.n <= 0 || one.k <= 0 || one.alpha == T(0) || one.code != 0) continue;
      launch.global.push_back(a_[q].region(S.trans_a ? one.k : one.m));
      launch.global.push_back(b_[q].region(S.trans_b ? one.n : one.k));
    }
    return run(launch, [&] { gemm_large_list<D, S, C>(args); });
  }

  T wanted(std::size_t q, long long i, long long j, T before, double& size) {
    const ListItem<T>& x = items_[q];
    const Op op_a = S.conj_a ? Op::conj_trans : S.trans_a ? Op::trans : Op::none;
    const Op op_b = S.conj_b ? Op::conj_trans : S.trans_b ? Op::trans : Op::none;
    T sum{};
    for (long long l = 0; l < (x.alpha == T(0) ? 0 : x.k); ++l) {
      const T left = op_element(a_[q], op_a, i, l), right = op_element(b_[q], op_b, l, j);
      sum += left * right;
      size += std::abs(x.alpha * left) * std::abs(right);
    }
    if (x.beta != T(0)) size += std::abs(x.beta * before);
    return x.beta == T(0) ? x.alpha * sum : x.alpha * sum + x.beta * before;
  }

  // Nothing is written of bad problems, nor beyond a C.
  void compare(std::size_t q, const std::vector<T>& before, const std::string& what) {
    const ListItem<T>& x = items_[q];
    const std::vector<T>& after = c_[q].values();
    const auto first = static_cast<std::size_t>(c_[q].data() - after.data());
    std::vector<bool> inside(after.size(), false);
    int wrong = 0;
    for (long long j = 0; j < x.n && x.code == 0; ++j)
      for (long long i = 0; i < x.m; ++i) {
        const std::size_t at = first + static_cast<std::size_t>(j * c_[q].ld() + i);
        inside[at] = true;
        double size = 1e-30;
        const double error = std::abs(after[at] - wanted(q, i, j, before[at], size));
        if (!(error <= (double(x.k) + 4) * std::numeric_limits<R>::epsilon() * size) && ++wrong < 4)
          ADD_FAILURE() << what << ": element (" << i << ", " << j << ") of " << q << " differs by " << error;
      }
    EXPECT_EQ(wrong, 0) << what;
    for (std::size_t at = 0; at < after.size(); ++at)
      if (!inside[at] && std::memcmp(&after[at], &before[at], sizeof(T)) != 0) {
        ADD_FAILURE() << what << ": something outside C of " << q << " was written";
        break;
      }
  }

  LargeCase most_;
  std::vector<ListItem<T>> items_;
  ScalarsVary vary_;
  std::mt19937 random_;
  bool hides_unread_ = false;
  std::vector<LargeMatrix<T>> a_, b_, c_;
};

// Runs the instance on problems of the largest size, with less than a tile and with nothing to do, with
// copies that arrive at once and late.
template <class T, GemmLargeShape S, GemmLargeConfig C>
void expect_large_list(const LargeCase& most, ScalarsVary vary) {
  using Real = typename DeviceType<T>::real;
  const auto item = [&](int m, int n, int k, double alpha, double beta) {
    return ListItem<T>{m, n, k, T(static_cast<Real>(alpha)), T(static_cast<Real>(S.reads_c ? beta : 0))};
  };
  const int m = most.m, n = most.n, k = most.k;
  const std::vector<ListItem<T>> items{item(m, n, k, 0.75, -1.25),  item(1, 1, 1, 2, 0),
                                       item(m, 3, k / 2 + 1, 1, 1), item(0, n, k, 1, 1),
                                       item(m / 2, n, 0, 1, 2),     item(m - 1, n - 1, k - 1, 0, 2),
                                       item(5, n, 8, 0, 1),         item(m, n, k, -0.5, 0)};
  for (const Copies copies : {Copies::at_once, Copies::late})
    LargeList<T, S, C>(most, items, vary).expect(copies);
}

}  // namespace tilewright::emulation
