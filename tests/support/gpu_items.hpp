// Problems of different sizes in device memory, each with matrices of its own somewhere in three buffers, for
// tests of grouped and variable batches and values per problem. Guards, NaN and exact data are those of
// gpu_batch.hpp.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "gemm/run/reference.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::testing {

enum class ItemFault { none, null_a, null_b, null_c, negative_m, large_n, small_ldb };

// Returns minus the BLAS number of the invalid argument.
inline int code_of(ItemFault fault) {
  const std::map<ItemFault, int> codes = {{ItemFault::none, 0},        {ItemFault::null_a, -7},
                                          {ItemFault::null_b, -9},     {ItemFault::null_c, -12},
                                          {ItemFault::negative_m, -3}, {ItemFault::large_n, -4},
                                          {ItemFault::small_ldb, -10}};
  return codes.at(fault);
}

template <class T>
struct Item {
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t gap = 0;  // added to all leading dimensions
  T alpha = T(1), beta = T(0);
  ItemFault fault = ItemFault::none;
};

template <class T>
class GpuItems {
 public:
  GpuItems(const Gpu& gpu, std::vector<Item<T>> items, std::uint64_t seed = 1)
      : gpu_(&gpu), items_(std::move(items)), random_(seed) {
    for (const Item<T>& x : items_) add(x);
    for (int i = 0; i < 3; ++i) upload(i);
    expect();
  }

  std::int64_t count() const { return std::int64_t(items_.size()); }
  const Item<T>& item(std::int64_t q) const { return items_[std::size_t(q)]; }
  // Return addresses on the device, from problem `first` on.
  const T* const* a(std::int64_t first = 0) { return pointers(0) + first; }
  const T* const* b(std::int64_t first = 0) { return pointers(1) + first; }
  T* const* c(std::int64_t first = 0) { return pointers(2) + first; }
  const T* alphas() {
    return array(alphas_, [](const Item<T>& x) { return x.alpha; });
  }
  const T* betas() {
    return array(betas_, [](const Item<T>& x) { return x.beta; });
  }
  VariableSizes sizes() {
    return {
        sizes(0, [](const Stored& s) { return s.m; }),     sizes(1, [](const Stored& s) { return s.n; }),
        sizes(2, [](const Stored& s) { return s.k; }),     sizes(3, [](const Stored& s) { return s.ld[0]; }),
        sizes(4, [](const Stored& s) { return s.ld[1]; }), sizes(5, [](const Stored& s) { return s.ld[2]; })};
  }

  // Restores the first contents of C.
  void reset() { buffers_[2]->write(host_[2].data(), host_[2].size() * sizeof(T)); }
  // Returns "" if C is right for valid problems and nothing else has changed. The device must have finished.
  std::string check() const { return compare(expected_); }
  std::string check_untouched() const { return compare(host_[2]); }

 private:
  struct Stored {
    std::int64_t m, n, k;
    std::int64_t ld[3];
    std::int64_t at[3];  // offsets of the first elements
  };
  static constexpr std::int64_t guard = 16;

  static T nan() { return T(std::numeric_limits<decltype(std::abs(T()))>::quiet_NaN()); }
  T value() {
    const auto one = [&] { return decltype(std::abs(T()))(std::int64_t(random_() % 9) - 4) / 4; };
    if constexpr (is_complex(dtype_of<T>)) {
      const auto re = one();
      return T(re, one());
    } else {
      return one();
    }
  }

  // A and B are NaN if alpha is zero, and C if beta is.
  void add(const Item<T>& x) {
    const bool tall_a = x.op_a == Op::none, tall_b = x.op_b == Op::none;
    const std::int64_t rows[] = {tall_a ? x.m : x.k, tall_b ? x.k : x.n, x.m};
    const std::int64_t columns[] = {tall_a ? x.k : x.m, tall_b ? x.n : x.k, x.n};
    Stored s{x.m, x.n, x.k, {}, {}};
    for (int i = 0; i < 3; ++i) {
      s.ld[i] = std::max<std::int64_t>(1, rows[i] + x.gap);
      s.at[i] = std::int64_t(host_[i].size()) + guard;
      host_[i].resize(std::size_t(s.at[i] + s.ld[i] * columns[i] + guard), nan());
      if ((i < 2 && x.alpha == T(0)) || (i == 2 && x.beta == T(0))) continue;
      for (std::int64_t j = 0; j < columns[i]; ++j)
        for (std::int64_t r = 0; r < rows[i]; ++r) host_[i][std::size_t(s.at[i] + j * s.ld[i] + r)] = value();
    }
    stored_.push_back(s);
  }
  void upload(int i) {
    buffers_.push_back(std::make_unique<GpuBuffer>(*gpu_, host_[i].size() * sizeof(T)));
    buffers_.back()->write(host_[i].data(), host_[i].size() * sizeof(T));
  }
  template <class V>
  V* keep(const std::vector<V>& values) {
    arrays_.push_back(
        std::make_unique<GpuBuffer>(*gpu_, std::max<std::size_t>(1, values.size()) * sizeof(V)));
    arrays_.back()->write(values.data(), values.size() * sizeof(V));
    return arrays_.back()->template as<V>();
  }
  T* const* pointers(int i) {
    if (pointers_[i] != nullptr) return pointers_[i];
    std::vector<T*> all;
    const ItemFault null[] = {ItemFault::null_a, ItemFault::null_b, ItemFault::null_c};
    for (std::size_t q = 0; q < items_.size(); ++q)
      all.push_back(items_[q].fault == null[i]
                        ? nullptr
                        : buffers_[std::size_t(i)]->template as<T>() + stored_[q].at[i]);
    return pointers_[i] = keep(all);
  }
  template <class F>
  const T* array(const T*& kept, F&& f) {
    if (kept != nullptr) return kept;
    std::vector<T> all;
    for (const Item<T>& x : items_) all.push_back(f(x));
    return kept = keep(all);
  }
  template <class F>
  const std::int64_t* sizes(int which, F&& f) {
    if (sizes_[which] != nullptr) return sizes_[which];
    std::vector<std::int64_t> all;
    for (std::size_t q = 0; q < items_.size(); ++q) {
      const ItemFault fault = items_[q].fault;
      std::int64_t size = f(stored_[q]);
      if (which == 0 && fault == ItemFault::negative_m) size = -1;
      if (which == 1 && fault == ItemFault::large_n) size = 1000;
      if (which == 4 && fault == ItemFault::small_ldb) size = 0;
      all.push_back(size);
    }
    return sizes_[which] = keep(all);
  }

  void expect() {
    expected_ = host_[2];
    for (std::size_t q = 0; q < items_.size(); ++q) {
      const Item<T>& x = items_[q];
      const Stored& s = stored_[q];
      if (x.fault != ItemFault::none || s.m * s.n == 0) continue;
      GemmProblem p;
      p.dtype = dtype_of<T>;
      p.op_a = x.op_a, p.op_b = x.op_b;
      p.m = s.m, p.n = s.n, p.k = s.k;
      p.lda = s.ld[0], p.ldb = s.ld[1], p.ldc = s.ld[2];
      const auto kind = [](T v) {
        return v == T(0) ? Scalar::zero : v == T(1) ? Scalar::one : Scalar::general;
      };
      p.alpha = kind(x.alpha), p.beta = kind(x.beta);
      gemm_reference(p, {host_[0].data() + s.at[0], host_[1].data() + s.at[1], expected_.data() + s.at[2],
                         &x.alpha, &x.beta});
    }
  }
  std::string compare(const std::vector<T>& wanted) const {
    for (int i = 0; i < 3; ++i) {
      const std::vector<T>& is_to_be = i == 2 ? wanted : host_[i];
      std::vector<T> is(is_to_be.size());
      buffers_[std::size_t(i)]->read(is.data(), is.size() * sizeof(T));
      for (std::size_t e = 0; e < is.size(); ++e)
        if (std::memcmp(&is[e], &is_to_be[e], sizeof(T)) != 0 && !(is[e] == is_to_be[e]))
          return std::string(1, "ABC"[i]) + ": " + place(i, std::int64_t(e)) + " is " +
                 std::to_string(std::real(is[e])) + " and must be " + std::to_string(std::real(is_to_be[e]));
    }
    return "";
  }
  std::string place(int i, std::int64_t e) const {
    std::size_t q = 0;
    while (q + 1 < stored_.size() && stored_[q + 1].at[i] <= e) ++q;
    return "element " + std::to_string(e - stored_[q].at[i]) + " of problem " + std::to_string(q);
  }

  const Gpu* gpu_;
  std::vector<Item<T>> items_;
  std::mt19937_64 random_;
  std::vector<Stored> stored_;
  std::vector<T> host_[3], expected_;
  std::vector<std::unique_ptr<GpuBuffer>> buffers_, arrays_;
  T* const* pointers_[3] = {};
  const std::int64_t* sizes_[6] = {};
  const T *alphas_ = nullptr, *betas_ = nullptr;
};

// Codes in device memory, set to a value that no call reports.
class GpuCodes {
 public:
  GpuCodes(const Gpu& gpu, std::int64_t count)
      : count_(std::size_t(count)), buffer_(gpu, count_ * sizeof(int)) {
    const std::vector<int> before(count_, 99);
    buffer_.write(before.data(), count_ * sizeof(int));
  }
  int* device() const { return buffer_.as<int>(); }
  std::vector<int> read() const {
    std::vector<int> codes(count_);
    buffer_.read(codes.data(), count_ * sizeof(int));
    return codes;
  }

 private:
  std::size_t count_;
  GpuBuffer buffer_;
};

}  // namespace tilewright::testing
