// A batch in device memory with known contents: guard bytes around every operand, NaN in memory that must not
// be read, and the check of every byte against the CPU reference. It runs nothing itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "gemm/operand.hpp"
#include "gemm/run/reference.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::testing {

// Data choices that a problem does not contain. The data are multiples of 1/4, whose sums are exact in every
// type and compared with ==; `uniform` ones are compared within the rounding of k + 4 operations.
struct GpuDraw {
  double alpha = 1, beta = 0;  // in the problem's classes
  std::int64_t offset = 0;     // elements by which every operand misses the alignment of an allocation
  std::uint64_t seed = 1;
  bool uniform = false;
};

// Returns a value of the class: general ones are neither 0 nor 1.
inline double value_of(Scalar kind) { return kind == Scalar::zero ? 0 : kind == Scalar::one ? 1 : -0.75; }

template <class T>
class GpuOperand {
 public:
  GpuOperand(const Gpu& gpu, const GemmProblem& p, const OperandLayout& layout, std::int64_t offset)
      : layout_(layout),
        block_(is_interleaved(p) ? p.block : 1),
        is_pointer_(p.layout == Layout::pointer),
        problems_(!is_pointer_ && layout.offset(p.batch_count) == 0 && !has_levels(p) && p.batch_count > 1
                      ? 1
                      : p.batch_count),
        host_(element_count(), nan()),
        lead_bytes_(guard_bytes + std::size_t(offset) * sizeof(T)),
        device_(gpu, lead_bytes_ + host_.size() * sizeof(T) + guard_bytes) {
    // In reverse order, so that no kernel can rely on the order.
    std::vector<T*> addresses;
    for (std::int64_t q = 0; is_pointer_ && q < problems_; ++q)
      addresses.push_back(device() + index(q, 0, 0));
    if (addresses.empty()) return;
    addresses_.emplace(gpu, addresses.size() * sizeof(T*));
    addresses_->write(addresses.data(), addresses.size() * sizeof(T*));
  }

  static T nan() { return T(std::numeric_limits<decltype(std::abs(T()))>::quiet_NaN()); }

  template <class F>
  void each(F&& f) {
    for (std::int64_t p = 0; p < problems_; ++p)
      for (std::int64_t j = 0; j < layout_.cols; ++j)
        for (std::int64_t i = 0; i < layout_.rows; ++i) f(host_[index(p, i, j)]);
  }
  void upload() {
    std::vector<std::byte> all(device_.bytes(), guard);
    if (!host_.empty()) std::memcpy(all.data() + lead_bytes_, host_.data(), host_.size() * sizeof(T));
    device_.write(all.data(), all.size());
  }
  // Returns "" if the device holds these elements and whole guards; calls `same` for elements that differ in
  // a byte. Unused slots of the last block may hold anything.
  template <class Same>
  std::string compare(const std::vector<T>& wanted, Same&& same) const {
    std::vector<std::byte> all(device_.bytes());
    device_.read(all.data(), all.size());
    const std::size_t end = lead_bytes_ + host_.size() * sizeof(T);
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((i < lead_bytes_ || i >= end) && all[i] != guard)
        return "the byte " + std::to_string(std::int64_t(i) - std::int64_t(lead_bytes_)) + " was written";
    for (std::size_t e = 0; e < wanted.size(); ++e) {
      T is;
      std::memcpy(&is, all.data() + lead_bytes_ + e * sizeof(T), sizeof(T));
      if (std::memcmp(&is, &wanted[e], sizeof(T)) != 0 && !is_unused_slot(e) && !same(e, is, wanted[e]))
        return "element " + std::to_string(e) + " is " + text(is) + " and must be " + text(wanted[e]);
    }
    return "";
  }
  std::string unchanged() const {
    return compare(host_, [](std::size_t, T, T) { return false; });
  }

  std::vector<T>& host() { return host_; }
  T* device() const { return device_.template as<T>(lead_bytes_); }
  T** device_pointers() const { return addresses_ ? addresses_->template as<T*>() : nullptr; }
  // Returns the addresses of the matrices inside another copy of host().
  std::vector<T*> pointers_into(std::vector<T>& copy) const {
    std::vector<T*> pointers;
    for (std::int64_t q = 0; is_pointer_ && q < problems_; ++q)
      pointers.push_back(copy.data() + index(q, 0, 0));
    return pointers;
  }

 private:
  static constexpr std::size_t guard_bytes = 256;
  static constexpr std::byte guard{0xA5};

  // In a pointer batch each matrix begins at a multiple of 16 bytes, with three pieces of 16 between two.
  std::int64_t pointer_step() const {
    const std::int64_t piece = std::max<std::int64_t>(1, 16 / std::int64_t(sizeof(T)));
    return (layout_.ld * layout_.cols / piece + 4) * piece;
  }
  std::size_t element_count() const {
    if (problems_ == 0) return 0;
    if (is_pointer_) return std::size_t(problems_ * pointer_step());
    if (block_ > 1) return std::size_t(((problems_ - 1) / block_ + 1) * layout_.step);
    return std::size_t(layout_.offset(problems_ - 1) + layout_.ld * layout_.cols);
  }
  std::size_t index(std::int64_t p, std::int64_t i, std::int64_t j) const {
    if (is_pointer_) return std::size_t((problems_ - 1 - p) * pointer_step() + j * layout_.ld + i);
    return std::size_t(layout_.offset(p / block_) + (j * layout_.ld + i) * block_ + p % block_);
  }
  bool is_unused_slot(std::size_t e) const {
    return block_ > 1 && std::int64_t(e) / layout_.step * block_ + std::int64_t(e) % block_ >= problems_;
  }
  static std::string text(T x) {
    return std::to_string(std::real(x)) +
           (is_complex(dtype_of<T>) ? " + i " + std::to_string(std::imag(x)) : "");
  }

  OperandLayout layout_;
  std::int64_t block_;
  bool is_pointer_;
  std::int64_t problems_;
  std::vector<T> host_;
  std::size_t lead_bytes_;
  GpuBuffer device_;
  std::optional<GpuBuffer> addresses_;
};

template <class T>
class GpuBatch {
 public:
  GpuBatch(const Gpu& gpu, const GemmProblem& problem, const GpuDraw& draw)
      : problem_(problem),
        draw_(draw),
        alpha_(T(draw.alpha)),
        beta_(T(draw.beta)),
        a_(gpu, problem, layout_a(problem), draw.offset),
        b_(gpu, problem, layout_b(problem), draw.offset),
        c_(gpu, problem, layout_c(problem), draw.offset) {
    if constexpr (is_complex(dtype_of<T>)) {
      // An imaginary part distinguishes a conjugate from its original here, too.
      if (problem.alpha == Scalar::general && draw.alpha != 0) alpha_ += T(0, 0.25);
      if (problem.beta == Scalar::general && draw.beta != 0) beta_ += T(0, 0.5);
    }
    std::mt19937_64 random(draw.seed);
    if (alpha_ != T(0)) {
      a_.each([&](T& x) { x = value(random); });
      b_.each([&](T& x) { x = value(random); });
    }
    for (T& x : c_.host()) x = value(random);  // gaps too, so that the check finds writes there
    if (beta_ == T(0)) c_.each([](T& x) { x = GpuOperand<T>::nan(); });
    for (GpuOperand<T>* x : {&a_, &b_, &c_}) x->upload();
    expect();
  }

  const T& alpha() const { return alpha_; }
  const T& beta() const { return beta_; }
  T* a() const { return a_.device(); }
  T* b() const { return b_.device(); }
  T* c() const { return c_.device(); }
  // Runs a plan, whatever the layout.
  void run(const GemmPlan& made, CUstream_st* stream = nullptr) const {
    if (problem_.layout == Layout::pointer)
      made.run<T>(alpha_, a_.device_pointers(), b_.device_pointers(), beta_, c_.device_pointers(), stream);
    else
      made.run<T>(alpha_, a(), b(), beta_, c(), stream);
  }
  StridedBatch<const T, Location::device> view_a() const {
    return view<const T>(a(), problem_.a_rows(), problem_.a_cols(), problem_.lda,
                         {problem_.stride_a, problem_.outer_a, problem_.outermost_a});
  }
  StridedBatch<const T, Location::device> view_b() const {
    return view<const T>(b(), problem_.b_rows(), problem_.b_cols(), problem_.ldb,
                         {problem_.stride_b, problem_.outer_b, problem_.outermost_b});
  }
  StridedBatch<T, Location::device> view_c() const {
    return view<T>(c(), problem_.m, problem_.n, problem_.ldc,
                   {problem_.stride_c, problem_.outer_c, problem_.outermost_c});
  }

  // Restores the first contents of C.
  void reset() { c_.upload(); }
  // Returns "" if C is right and nothing else has changed. The device must have finished.
  std::string check() const {
    if (auto wrong = a_.unchanged(); !wrong.empty()) return "A: " + wrong;
    if (auto wrong = b_.unchanged(); !wrong.empty()) return "B: " + wrong;
    auto wrong = c_.compare(expected_, [&](std::size_t e, T is, T wanted) {
      return draw_.uniform ? std::abs(is - wanted) <= bounds_[e] : is == wanted;
    });
    return wrong.empty() ? "" : "C: " + wrong;
  }
  // The same if nothing was to run.
  std::string check_untouched() const { return c_.unchanged(); }

 private:
  using Real = decltype(std::abs(T()));

  template <class U>
  StridedBatch<U, Location::device> view(U* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                         const std::array<std::int64_t, 3>& strides) const {
    const GemmProblem& p = problem_;
    const std::int64_t around = p.outer_count * p.outermost_count;
    return StridedBatch<U, Location::device>({data, rows, cols, ld}, strides[0], p.batch_count / around)
        .repeat(strides[1], p.outer_count)
        .repeat(strides[2], p.outermost_count);
  }

  T value(std::mt19937_64& random) const {
    const auto one = [&] {
      if (draw_.uniform) return Real(std::uniform_real_distribution<double>(-0.5, 0.5)(random));
      return Real(std::int64_t(random() % 9) - 4) / Real(4);
    };
    if constexpr (is_complex(dtype_of<T>)) {
      const Real re = one();
      return T(re, one());
    } else {
      return one();
    }
  }

  void expect() {
    GemmProblem p = problem_;
    p.location = Location::host;
    expected_ = c_.host();
    if (p.m * p.n * p.batch_count == 0) return;
    const auto pa = a_.pointers_into(a_.host()), pb = b_.pointers_into(b_.host()),
               pc = c_.pointers_into(expected_);
    if (p.layout == Layout::pointer)
      gemm_reference(p, {pa.data(), pb.data(), const_cast<T**>(pc.data()), &alpha_, &beta_});
    else
      gemm_reference(p, {a_.host().data(), b_.host().data(), expected_.data(), &alpha_, &beta_});
    if (draw_.uniform) find_bounds(p);
  }
  // The bound is (k + 4) eps (|alpha| |A| |B| + |beta C|), doubled for complex, and as much again for the
  // reference's own error.
  void find_bounds(const GemmProblem& p) {
    const Real most = is_complex(dtype_of<T>) ? Real(0.5) : Real(0.25);
    const Real factor =
        Real(p.k + 4) * std::numeric_limits<Real>::epsilon() * (is_complex(dtype_of<T>) ? 4 : 2);
    bounds_.assign(expected_.size(),
                   factor * (std::abs(alpha_) * Real(p.k) * most + std::abs(beta_) * Real(0.75)));
  }

  GemmProblem problem_;
  GpuDraw draw_;
  T alpha_, beta_;
  GpuOperand<T> a_, b_, c_;
  std::vector<T> expected_;
  std::vector<Real> bounds_;
};

}  // namespace tilewright::testing
