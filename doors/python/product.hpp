// Computes products of arrays by the library's calls, in the type of their elements.
#pragma once

#include <complex>

#include "core/product/product.hpp"
#include "tilewright/gemm.hpp"
#include "view.hpp"

namespace tilewright::python {

// Returns a factor in the type of the elements.
template <class T>
T scalar(std::complex<double> value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return T(value.real());
  else
    return T(typename T::value_type(value.real()), typename T::value_type(value.imag()));
}

// Calls f(T()) with the type of the elements.
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

// Runs a product that needs no copies. It touches no Python object and does not need Python's lock.
void run_product(const Product& product, Context& context, const GemmOptions& options);

}  // namespace tilewright::python
