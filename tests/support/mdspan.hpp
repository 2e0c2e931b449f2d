// A stand-in for std::mdspan, which this compiler lacks: the members that MdspanLike asks for, with the names
// and types of the standard, and no others.
#pragma once

#include <array>
#include <cstddef>

namespace tilewright::testing {

template <class T, std::size_t Rank, class Index = std::size_t>
class Mdspan {
 public:
  using element_type = T;
  using index_type = Index;
  using rank_type = std::size_t;

  Mdspan(T* data, std::array<Index, Rank> extents, std::array<Index, Rank> strides)
      : data_(data), extents_(extents), strides_(strides) {}

  static constexpr rank_type rank() noexcept { return Rank; }
  constexpr T* data_handle() const noexcept { return data_; }
  constexpr index_type extent(rank_type r) const noexcept { return extents_[r]; }
  constexpr index_type stride(rank_type r) const { return strides_[r]; }

 private:
  T* data_;
  std::array<Index, Rank> extents_, strides_;
};

// The layouts of the standard, packed.
template <class T, std::size_t Rank>
Mdspan<T, Rank> layout_right(T* data, std::array<std::size_t, Rank> extents) {
  std::array<std::size_t, Rank> strides{};
  std::size_t stride = 1;
  for (std::size_t i = Rank; i-- > 0; stride *= extents[i]) strides[i] = stride;
  return {data, extents, strides};
}
template <class T, std::size_t Rank>
Mdspan<T, Rank> layout_left(T* data, std::array<std::size_t, Rank> extents) {
  std::array<std::size_t, Rank> strides{};
  std::size_t stride = 1;
  for (std::size_t i = 0; i < Rank; stride *= extents[i++]) strides[i] = stride;
  return {data, extents, strides};
}

}  // namespace tilewright::testing
