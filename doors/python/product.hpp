// Products of views with any strides: how the matrices of a NumPy-like call become operands of the library,
// in as few calls as its levels of batches allow and without copies.
#pragma once

#include <complex>
#include <vector>

#include "tilewright/gemm.hpp"
#include "view.hpp"

namespace tilewright::python {

// A factor in the type of the elements.
template <class T>
T scalar(std::complex<double> value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return T(value.real());
  else
    return T(typename T::value_type(value.real()), typename T::value_type(value.imag()));
}

// What a factor is to kernels.
Scalar scalar_class(std::complex<double> value);

// f(T()) for the type of the elements.
template <class F>
void with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float());
    case DType::f64:
      return f(double());
    case DType::c64:
      return f(std::complex<float>());
    case DType::c128:
      return f(std::complex<double>());
  }
}

struct Factors {
  std::complex<double> alpha = 1, beta = 0;
  bool conj_a = false, conj_b = false;
  bool sum = false;  // the products of the batch are added up in one c, whose strides along the batch are 0
};

// Operands that no problem can express as they lie, as bits. The caller replaces them by packed copies (of c:
// by a packed result that it copies back) and asks again.
enum Copies : unsigned { copy_none = 0, copy_a = 1, copy_b = 2, copy_c = 4 };

// c = alpha op(a) op(b) + beta c for each matrix of the batch, where op conjugates or not. a is (batch...,
// m, k), b (batch..., k, n), c (batch..., m, n); batches of a and b broadcast to that of c. All of one type
// and memory. What is returned says what has to be copied; then nothing has been computed. Throws Error for
// shapes that do not fit, naming both.
class Product {
 public:
  Product(const View& a, const View& b, const View& c, const Factors& factors);

  unsigned copies() const noexcept { return copies_; }
  bool swapped() const noexcept { return swapped_; }  // whether the problem's A is b
  double work() const noexcept;                       // multiplications of elements in all
  // The problem of one call; of a product that takes several, that of each.
  GemmProblem problem() const;
  // Where the matrices of each problem of the batch begin, as the problem's A, B and C.
  struct Addresses {
    std::vector<char*> a, b, c;
  };
  Addresses addresses() const;
  // Only where there is nothing to copy. Neither looks at Python nor needs its lock.
  void run(Context& context, const GemmOptions& options) const;

 private:
  struct Matrix {
    char* data = nullptr;
    std::int64_t ld = 1;
    Op op = Op::none;
  };
  struct Level {
    std::int64_t count, a, b, c;
  };
  // Of one matrix: sizes and strides of its rows and columns.
  struct Shape {
    std::int64_t rows, cols, row_stride, col_stride;
    Shape transposed() const { return {cols, rows, col_stride, row_stride}; }
  };

  static bool by_columns(const Shape& x, std::int64_t& ld);
  static bool as_operand(const Shape& x, bool conj, Matrix& to);
  void describe_empty(const View& c);
  void find_sizes(const View& a, const View& b, const View& c);
  void find_levels(const View& a, const View& b, const View& c);
  bool may_repeat(const Shape& c) const;
  void join_levels();
  void describe_sum(GemmProblem& p) const;
  unsigned find_operands(const Shape& a, const Shape& b, const Shape& c, bool by_rows);
  template <class T>
  void run_sum(Context& context, const GemmOptions& options) const;
  template <class T, Location L>
  void run_as(Context& context, const GemmOptions& options) const;
  template <class T, Location L>
  void run_from(Context& context, const GemmOptions& options, std::int64_t at_a, std::int64_t at_b,
                std::int64_t at_c) const;

  DType dtype_;
  Location location_;
  Factors factors_;
  unsigned copies_ = copy_none;
  std::int64_t m_ = 0, n_ = 0, k_ = 0;  // of the call, whose sides may have been swapped
  Matrix left_, right_, result_;
  bool swapped_ = false;
  bool empty_ = false, no_elements_ = false;  // no products; a result without elements
  // A sum of no products is written to.
  bool is_written() const noexcept { return factors_.sum ? !no_elements_ : !empty_; }

  int level_count_ = 0;
  Level levels_[View::most_dims];  // NOLINT: level_count_ of them are set, the outermost first
};

}  // namespace tilewright::python
