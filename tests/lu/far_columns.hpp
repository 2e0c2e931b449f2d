// A matrix whose columns lie so far apart that offsets pass 2^31: address space without memory behind it.
#pragma once

#include "lu_cases.hpp"
#include "support/pages.hpp"

namespace tilewright::testing {

template <class T>
class FarColumns {
 public:
  FarColumns(const LuMatrixOf<T>& a, std::int64_t ld_)
      : ld(ld_), pages_(std::size_t(ld * (a.cols - 1) + a.rows) * sizeof(T)) {
    if (!*this) return;
    for (std::int64_t j = 0; j < a.cols; ++j)
      for (std::int64_t i = 0; i < a.rows; ++i) data()[j * ld + i] = a(i, j);
  }
  explicit operator bool() const { return bool(pages_); }
  T* data() const { return reinterpret_cast<T*>(pages_.data()); }
  // The matrix with the shape of `like`.
  LuMatrixOf<T> near(LuMatrixOf<T> like) const {
    for (std::int64_t j = 0; j < like.cols; ++j)
      for (std::int64_t i = 0; i < like.rows; ++i) like(i, j) = data()[j * ld + i];
    return like;
  }

  const std::int64_t ld;

 private:
  SparsePages pages_;
};

}  // namespace tilewright::testing
