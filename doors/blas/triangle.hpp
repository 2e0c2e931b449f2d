// Computes one triangle of C = alpha op(A) op(B) + beta C by products, for xSYRK, xHERK and xGEMMT of Fortran
// and CBLAS. The square below (above) the diagonal is a product, the two triangles beside it are halved
// again; small ones are computed whole and copied, or left to the program's BLAS.
#pragma once

#include "blas/calls.hpp"
#include "blas/triangle_arguments.hpp"

namespace tilewright::blas {

// Computes a small triangle by other means: a reference to a callable that outlives it, or null.
template <class T>
class TriangleLeaf {
 public:
  TriangleLeaf() = default;
  template <class F>
  TriangleLeaf(const F& f)
      : object_(&f), call_([](const void* object, const TriangleArguments<T>& x) {
          (*static_cast<const F*>(object))(x);
        }) {}
  explicit operator bool() const { return call_ != nullptr; }
  void operator()(const TriangleArguments<T>& x) const { call_(object_, x); }

 private:
  const void* object_ = nullptr;
  void (*call_)(const void*, const TriangleArguments<T>&) = nullptr;
};

}  // namespace tilewright::blas
