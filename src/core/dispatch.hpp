// Turns a run-time DType into a C++ type exactly once: dispatch(dtype, [&]<class T>() { ... }).
#pragma once

#include <complex>
#include <utility>

#include "tilewright/types.hpp"

namespace tilewright {

template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::c64:
      return f.template operator()<std::complex<float>>();
    case DType::c128:
      return f.template operator()<std::complex<double>>();
  }
  throw Error(ErrorCode::internal, "dtype", "dtype holds no known value");
}

}  // namespace tilewright
