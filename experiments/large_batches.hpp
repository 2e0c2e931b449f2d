// A batch of matrices of 65 to 512 in device memory, of one of four kinds, for the program large_batches:
// its operands, the call of this library, the vendor's calls of the same products, and the check of results.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/gpu/blas.hpp"
#include "device/gpu/gpu.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/plan.hpp"

namespace tilewright::experiment {

enum class BatchKind { variable, grouped, pointers, interleaved };

struct LargeBatch {
  BatchKind kind = BatchKind::variable;
  DType dtype = DType::f64;
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t low = 65, high = 512;  // sizes are drawn between them; pointers, interleaved: all are `low`
  std::int64_t count = 100;
  std::int64_t each = 1;  // problems of a group, or of an interleaved block
  double beta = 0;
  std::int64_t gap = 0;  // elements behind each column
};

template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using Type = R;
};

// Results beside the vendor's and beside sums on the host: the largest errors over the bound of rounding
// k eps, and the elements that must not change and did.
struct LargeErrors {
  double peer = 0, host = 0;
  std::int64_t changed_gaps = 0;
  bool is_right() const { return peer <= 8 && host <= 8 && changed_gaps == 0; }
};

template <class T>
class LargeBatchRun {
 public:
  using R = typename RealOf<T>::Type;

  LargeBatchRun(const Gpu& gpu, CUstream_st* stream, const LargeBatch& batch)
      : gpu_(gpu), stream_(stream), batch_(batch) {
    draw_sizes();
    a_host_ = values(elements_a_, 1), b_host_ = values(elements_b_, 2), c_host_ = values(elements_c_, 3);
    for (const auto* from : {&a_host_, &b_host_, &c_host_, &c_host_}) upload(*from);
    make_arrays();
    if (batch.kind == BatchKind::interleaved)
      for (int which = 0; which < 3; ++which) upload(interleaved(which));
  }

  double flops() const {
    double sum = 0;
    for (const Product& p : products_) sum += 2.0 * double(p.m) * double(p.n) * double(p.k);
    return sizeof(T) == sizeof(R) ? sum : 4 * sum;
  }

  // Runs the candidate that the library chooses, or the one that is named.
  void run(Context& context, const std::string& candidate = {}) {
    GemmOptions options;
    options.queue.stream = stream_;
    options.candidate = candidate;
    switch (batch_.kind) {
      case BatchKind::variable:
        return gemm_variable<T>(context, variable(), options);
      case BatchKind::grouped:
        return gemm_grouped<T, Location::device>(context, groups(), options);
      case BatchKind::pointers:
        return run_pointers(context, options);
      case BatchKind::interleaved:
        return run_interleaved(context, options);
    }
  }

  // Returns the name of the candidate that the call, or that of the first group, runs.
  std::string candidate(Context& context) const {
    const Product& first = products_[0];
    GemmProblem p;
    p.dtype = dtype_of<T>, p.location = Location::device, p.op_a = batch_.op_a, p.op_b = batch_.op_b;
    p.m = first.m, p.n = first.n, p.k = first.k;
    p.alpha = Scalar::general, p.beta = batch_.beta == 0 ? Scalar::zero : Scalar::one;
    p.batch_count = batch_.kind == BatchKind::grouped ? std::min(batch_.each, batch_.count) : batch_.count;
    p.layout = Layout::pointer;
    if (batch_.kind == BatchKind::variable) p.layout = Layout::variable, p.m = p.n = p.k = batch_.high;
    if (batch_.kind == BatchKind::interleaved) p.layout = Layout::block_interleaved, p.block = batch_.each;
    if (batch_.kind != BatchKind::variable) p.lda = first.lda, p.ldb = first.ldb, p.ldc = first.ldc;
    GemmOptions options;
    options.align_bytes = int(sizeof(T));
    return plan(context, packed(p), options).candidate();
  }

  // Returns the vendor's ways to the same products, each with its name; C is another one.
  std::vector<std::pair<std::string, std::function<void()>>> peers(GpuBlas& blas) {
    std::vector<std::pair<std::string, std::function<void()>>> all;
    all.emplace_back("cublas_loop", [this, &blas] { loop(blas); });
    if (sizeof(T) == sizeof(R)) all.emplace_back("cublas_grouped", [this, &blas] { grouped(blas); });
    if (batch_.kind != BatchKind::pointers && batch_.kind != BatchKind::interleaved) return all;
    all.emplace_back("cublas_pointers", [this, &blas] { blas.gemm_pointers(group_of(0, batch_.count)); });
    all.emplace_back("cublas_strided", [this, &blas] { strided(blas); });
    return all;
  }

  void restore() {
    memory_[2].write(c_host_.data(), c_host_.size() * sizeof(T));
    memory_[3].write(c_host_.data(), c_host_.size() * sizeof(T));
    if (batch_.kind != BatchKind::interleaved) return;
    const std::vector<T> c = interleaved(2);
    memory_[last_buffer()].write(c.data(), c.size() * sizeof(T));
  }

  // After one run() and one call of a peer from restored operands.
  LargeErrors errors() const {
    LargeErrors most;
    const std::vector<T> ours = result(), peer = read(3);
    std::mt19937 random(9);
    for (const Product& p : products_) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        for (std::int64_t i = 0; i < p.ldc; ++i) {
          const auto at = std::size_t(p.c + j * p.ldc + i);
          if (i >= p.m)
            most.changed_gaps += std::memcmp(&ours[at], &c_host_[at], sizeof(T)) != 0;
          else
            raise(most.peer, std::abs(ours[at] - peer[at]), p);
        }
      }
      for (int sample = 0; sample < samples; ++sample) {
        const std::int64_t i = sample == 0 ? p.m - 1 : std::int64_t(random() % unsigned(p.m));
        const std::int64_t j = sample == 0 ? p.n - 1 : std::int64_t(random() % unsigned(p.n));
        const auto at = std::size_t(p.c + j * p.ldc + i);
        raise(most.host, std::abs(ours[at] - expected(p, i, j, c_host_[at])), p);
      }
    }
    return most;
  }

 private:
  static constexpr int samples = 6;
  struct Product {
    std::int64_t m, n, k, lda, ldb, ldc, a, b, c;
  };

  static void raise(double& most, double error, const Product& p) {
    const double unit = double(std::numeric_limits<R>::epsilon()) * std::sqrt(double(p.k)) * 4;
    if (!(error / unit <= most) && !std::isnan(most)) most = error / unit;  // keeps what is no number
  }

  void draw_sizes() {
    std::mt19937 random(unsigned(batch_.low * 1000 + batch_.high));
    const bool fixed = batch_.kind == BatchKind::pointers || batch_.kind == BatchKind::interleaved;
    const auto size = [&] {
      return fixed ? batch_.low
                   : batch_.low + std::int64_t(random() % unsigned(batch_.high - batch_.low + 1));
    };
    const std::int64_t same = batch_.kind == BatchKind::grouped ? batch_.each : 1;
    Product p{};
    for (std::int64_t q = 0; q < batch_.count; ++q) {
      if (q % same == 0) p.m = size(), p.n = size(), p.k = size();
      const bool a_is_turned = batch_.op_a != Op::none, b_is_turned = batch_.op_b != Op::none;
      p.lda = (a_is_turned ? p.k : p.m) + batch_.gap, p.ldb = (b_is_turned ? p.n : p.k) + batch_.gap;
      p.ldc = p.m + batch_.gap;
      p.a = take(elements_a_, p.lda * (a_is_turned ? p.m : p.k));
      p.b = take(elements_b_, p.ldb * (b_is_turned ? p.k : p.n));
      p.c = take(elements_c_, p.ldc * p.n);
      products_.push_back(p);
    }
  }
  // Matrices begin at multiples of 256 bytes, as allocations do, or follow one another where columns have
  // gaps.
  std::int64_t take(std::int64_t& taken, std::int64_t elements) const {
    constexpr std::int64_t whole = 256 / std::int64_t(sizeof(T));
    const std::int64_t at = taken;
    taken += batch_.gap > 0 ? elements : (elements + whole - 1) / whole * whole;
    return at;
  }

  static std::vector<T> values(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<T> some(1000003), all(static_cast<std::size_t>(count));
    const auto one = [&] { return R(int(random() % 20001) - 10000) / R(10000); };
    for (T& x : some) {
      if constexpr (sizeof(T) == sizeof(R))
        x = one();
      else
        x = {one(), one()};
    }
    for (std::size_t at = 0; at < all.size(); at += some.size())
      std::copy_n(some.begin(), std::min(some.size(), all.size() - at), all.begin() + std::ptrdiff_t(at));
    return all;
  }

  template <class U>
  void upload(const std::vector<U>& from) {
    memory_.emplace_back(gpu_, std::max<std::size_t>(16, from.size() * sizeof(U)));
    memory_.back().write(from.data(), from.size() * sizeof(U));
  }
  // Addresses of A, B, C and the peer's C, then m, n, k, lda, ldb, ldc.
  void make_arrays() {
    std::vector<T*> addresses;
    for (int which = 0; which < 4; ++which)
      for (const Product& p : products_)
        addresses.push_back(memory_[std::size_t(which)].template as<T>() + (which == 0   ? p.a
                                                                            : which == 1 ? p.b
                                                                                         : p.c));
    upload(addresses);
    std::vector<std::int64_t> sizes;
    for (std::int64_t Product::*field :
         {&Product::m, &Product::n, &Product::k, &Product::lda, &Product::ldb, &Product::ldc})
      for (const Product& p : products_) sizes.push_back(p.*field);
    upload(sizes);
  }
  T* const* addresses(int which, std::int64_t first = 0) const {
    return memory_[4].as<T*>() + which * batch_.count + first;
  }
  const std::int64_t* sizes(int which) const { return memory_[5].as<std::int64_t>() + which * batch_.count; }

  VariableBatch<T> variable() const {
    VariableBatch<T> x;
    x.op_a = batch_.op_a, x.op_b = batch_.op_b;
    x.max_m = x.max_n = x.max_k = batch_.high;
    x.m = sizes(0), x.n = sizes(1), x.k = sizes(2), x.lda = sizes(3), x.ldb = sizes(4), x.ldc = sizes(5);
    x.a = addresses(0), x.b = addresses(1), x.c = addresses(2);
    x.alpha = alpha_, x.beta = T(R(batch_.beta)), x.count = batch_.count;
    return x;
  }
  std::vector<GemmGroup<T, Location::device>> groups() const {
    std::vector<GemmGroup<T, Location::device>> all;
    for (std::int64_t first = 0; first < batch_.count; first += batch_.each) {
      const Product& p = products_[std::size_t(first)];
      GemmGroup<T, Location::device> g;
      g.op_a = batch_.op_a, g.op_b = batch_.op_b, g.m = p.m, g.n = p.n, g.k = p.k;
      g.alpha = alpha_, g.beta = T(R(batch_.beta));
      g.a = addresses(0, first), g.b = addresses(1, first), g.c = addresses(2, first);
      g.lda = p.lda, g.ldb = p.ldb, g.ldc = p.ldc;
      g.count = std::min(batch_.each, batch_.count - first);
      all.push_back(g);
    }
    return all;
  }
  std::int64_t rows(int which) const {
    const bool turned = which == 0 ? batch_.op_a != Op::none : which == 1 && batch_.op_b != Op::none;
    const Product& p = products_[0];
    return which == 0 ? (turned ? p.k : p.m) : which == 1 ? (turned ? p.n : p.k) : p.m;
  }
  std::int64_t cols(int which) const {
    const Product& p = products_[0];
    return (which == 0 ? p.m * p.k : which == 1 ? p.k * p.n : p.m * p.n) / rows(which);
  }
  std::int64_t ld(int which) const { return rows(which) + batch_.gap; }
  void run_pointers(Context& context, const GemmOptions& options) {
    using In = PointerBatch<const T, Location::device>;
    const std::int64_t count = batch_.count;
    gemm_batched<T>(context, batch_.op_a, batch_.op_b, alpha_,
                    In{addresses(0), rows(0), cols(0), ld(0), count},
                    In{addresses(1), rows(1), cols(1), ld(1), count}, T(R(batch_.beta)),
                    PointerBatch<T, Location::device>{addresses(2), rows(2), cols(2), ld(2), count}, options);
  }

  std::size_t last_buffer() const { return memory_.size() - 1; }
  // The interleaved copies of A, B and C are the last buffers.
  void run_interleaved(Context& context, const GemmOptions& options) {
    using In = InterleavedBatch<const T, Location::device>;
    const auto at = [&](int which) {
      return memory_[last_buffer() - 2 + std::size_t(which)].template as<T>();
    };
    const std::int64_t count = batch_.count, block = batch_.each;
    gemm_batched<T>(
        context, batch_.op_a, batch_.op_b, alpha_, In{at(0), rows(0), cols(0), ld(0), block, count},
        In{at(1), rows(1), cols(1), ld(1), block, count}, T(R(batch_.beta)),
        InterleavedBatch<T, Location::device>{at(2), rows(2), cols(2), ld(2), block, count}, options);
  }
  // Calls f(place among interleaved elements, place among those that are not) for all elements of an operand.
  template <class F>
  void each_element(int which, F&& f) const {
    const std::int64_t block = batch_.each, of_matrix = ld(which) * cols(which);
    for (std::int64_t q = 0; q < batch_.count; ++q) {
      const Product& p = products_[std::size_t(q)];
      const std::int64_t from = which == 0 ? p.a : which == 1 ? p.b : p.c;
      const std::int64_t to = q / block * block * of_matrix + q % block;
      for (std::int64_t e = 0; e < of_matrix; ++e) f(std::size_t(to + e * block), std::size_t(from + e));
    }
  }
  std::vector<T> interleaved(int which) const {
    const std::vector<T>& from = which == 0 ? a_host_ : which == 1 ? b_host_ : c_host_;
    const std::int64_t block = batch_.each, blocks = (batch_.count + block - 1) / block;
    std::vector<T> all(std::size_t(blocks * block * ld(which) * cols(which)), T(0));
    each_element(which, [&](std::size_t to, std::size_t at) { all[to] = from[at]; });
    return all;
  }

  GpuBlas::Batch group_of(std::int64_t first, std::int64_t count) const {
    const Product& p = products_[std::size_t(first)];
    GpuBlas::Batch b;
    b.dtype = dtype_of<T>, b.op_a = batch_.op_a, b.op_b = batch_.op_b;
    b.m = int(p.m), b.n = int(p.n), b.k = int(p.k);
    b.alpha = &alpha_, b.beta = &beta_;
    b.a = addresses(0, first), b.b = addresses(1, first), b.c = const_cast<T**>(addresses(3, first));
    b.lda = int(p.lda), b.ldb = int(p.ldb), b.ldc = int(p.ldc), b.count = int(count);
    return b;
  }
  GpuBlas::Batch matrix_of(std::int64_t q) const {
    const Product& p = products_[std::size_t(q)];
    GpuBlas::Batch b = group_of(q, 1);
    b.a = memory_[0].as<T>() + p.a, b.b = memory_[1].as<T>() + p.b, b.c = memory_[3].as<T>() + p.c;
    return b;
  }
  void loop(GpuBlas& blas) const {
    for (std::int64_t q = 0; q < batch_.count; ++q) blas.gemm(matrix_of(q));
  }
  void strided(GpuBlas& blas) const {
    GpuBlas::Batch b = matrix_of(0);
    const Product& next = products_[products_.size() > 1 ? 1 : 0];
    b.stride_a = next.a, b.stride_b = next.b, b.stride_c = next.c, b.count = int(batch_.count);
    blas.gemm_strided(b);
  }
  void grouped(GpuBlas& blas) const {
    const bool fixed = batch_.kind == BatchKind::pointers || batch_.kind == BatchKind::interleaved;
    const std::int64_t each = fixed ? batch_.count : batch_.kind == BatchKind::grouped ? batch_.each : 1;
    std::vector<GpuBlas::Batch> all;
    for (std::int64_t first = 0; first < batch_.count; first += each)
      all.push_back(group_of(first, std::min(each, batch_.count - first)));
    blas.gemm_grouped(all);
  }

  std::vector<T> read(std::size_t which) const {
    std::vector<T> all(c_host_.size());
    memory_[which].read(all.data(), all.size() * sizeof(T));
    return all;
  }
  std::vector<T> result() const {
    if (batch_.kind != BatchKind::interleaved) return read(2);
    std::vector<T> blocks(memory_[last_buffer()].bytes() / sizeof(T)), all = c_host_;
    memory_[last_buffer()].read(blocks.data(), blocks.size() * sizeof(T));
    each_element(2, [&](std::size_t from, std::size_t to) { all[to] = blocks[from]; });
    return all;
  }
  T expected(const Product& p, std::int64_t i, std::int64_t j, T c) const {
    std::complex<long double> sum = 0;
    const auto element = [](const std::vector<T>& of, std::int64_t first, std::int64_t ld, Op op,
                            std::int64_t row, std::int64_t col) {
      const T x = of[std::size_t(first + (op == Op::none ? col * ld + row : row * ld + col))];
      const std::complex<long double> wide(std::real(x), std::imag(x));
      return op == Op::conj_trans ? std::conj(wide) : wide;
    };
    for (std::int64_t l = 0; l < p.k; ++l)
      sum +=
          element(a_host_, p.a, p.lda, batch_.op_a, i, l) * element(b_host_, p.b, p.ldb, batch_.op_b, l, j);
    const std::complex<long double> wide(std::real(c), std::imag(c));
    sum = sum * static_cast<long double>(alpha_real) + wide * static_cast<long double>(batch_.beta);
    if constexpr (sizeof(T) == sizeof(R))
      return T(sum.real());
    else
      return T(R(sum.real()), R(sum.imag()));
  }

  static constexpr double alpha_real = 0.75;
  const Gpu& gpu_;
  CUstream_st* stream_;
  LargeBatch batch_;
  T alpha_ = T(R(alpha_real)), beta_ = T(R(batch_.beta));
  std::vector<Product> products_;
  std::int64_t elements_a_ = 0, elements_b_ = 0, elements_c_ = 0;
  std::vector<T> a_host_, b_host_, c_host_;
  std::vector<GpuBuffer> memory_;  // A, B, C, the peer's C, addresses, sizes; interleaved A, B, C
};

}  // namespace tilewright::experiment
