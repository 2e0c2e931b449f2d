/// @file
/// Matrices and batches with any strides: views by rows, std::mdspan and all types with its members. gemm.hpp
/// and lu.hpp accept them. The library finds the operations and the order of the factors with which its
/// column-major kernels compute the product on the elements as they lie; nothing is copied. A product that
/// cannot be computed so is an Error that names the argument and its strides.
/// @par Units Extents and strides count elements.
/// @par Memory Views own nothing and point at the caller's memory.
/// @par Threads The functions share no state; any thread may call them.
/// @par Errors The functions throw nothing unless their comment says so.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/context.hpp"
#include "tilewright/options.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

/// An array of Rank dimensions: element (i, j, ...) lies at data[i * strides[0] + j * strides[1] + ...]. The
/// last two dimensions are rows and columns, those before them a batch. It has the members of std::mdspan
/// that MdspanLike asks for.
template <class T, std::size_t Rank, Location L = Location::host>
struct StridedView {
  using element_type = T;
  static constexpr Location location = L;

  T* data = nullptr;
  std::array<std::int64_t, Rank> extents{};
  std::array<std::int64_t, Rank> strides{};

  /// Return the number of dimensions, the address of the first element, and what belongs to one dimension.
  static constexpr std::size_t rank() noexcept { return Rank; }
  constexpr T* data_handle() const noexcept { return data; }
  constexpr std::int64_t extent(std::size_t dimension) const noexcept { return extents[dimension]; }
  constexpr std::int64_t stride(std::size_t dimension) const noexcept { return strides[dimension]; }

  /// Returns `part_count` arrays like this one, each `part_stride` elements behind the one before it: a
  /// batch, or a level around a batch.
  template <std::integral Stride, std::integral Count>
  constexpr StridedView<T, Rank + 1, L> repeat(Stride part_stride, Count part_count) const {
    StridedView<T, Rank + 1, L> more;
    more.data = data;
    more.extents[0] = static_cast<std::int64_t>(part_count);
    more.strides[0] = static_cast<std::int64_t>(part_stride);
    for (std::size_t i = 0; i < Rank; ++i) more.extents[i + 1] = extents[i], more.strides[i + 1] = strides[i];
    return more;
  }
};

/// A type with the members of std::mdspan: layout_left, layout_right, layout_stride and padded layouts with
/// the default accessor, of any library.
template <class V>
concept MdspanLike = requires(const V& view, std::size_t dimension) {
  typename V::element_type;
  { V::rank() } -> std::convertible_to<std::size_t>;
  { view.data_handle() } -> std::convertible_to<typename V::element_type*>;
  { view.extent(dimension) } -> std::convertible_to<std::int64_t>;
  { view.stride(dimension) } -> std::convertible_to<std::int64_t>;
};

namespace detail {

template <class V>
struct ViewTraits;
template <class T, Location L>
struct ViewTraits<MatrixView<T, L>> {
  using Element = T;
  static constexpr Location location = L;
  static constexpr std::size_t rank = 2;
};
template <class T, Location L>
struct ViewTraits<StridedBatch<T, L>> {
  using Element = T;
  static constexpr Location location = L;
  static constexpr std::size_t rank = 5;  // at most
};
template <MdspanLike V>
struct ViewTraits<V> {
  using Element = typename V::element_type;
  static constexpr Location location = [] {
    if constexpr (requires {
                    { V::location } -> std::convertible_to<Location>;
                  })
      return V::location;
    else
      return Location::host;
  }();
  static constexpr std::size_t rank = V::rank();
};

// A view as the library receives it: `rank` extents and strides.
template <class T>
struct Array {
  T* data;
  int rank;
  const std::int64_t* extents;
  const std::int64_t* strides;
};

// Copies of a view's extents and strides, for the duration of a call.
template <std::size_t Rank>
class Shape {
 public:
  template <MdspanLike V>
  explicit Shape(const V& view) : rank_(static_cast<int>(Rank)) {
    for (std::size_t i = 0; i < Rank; ++i) {
      using Index = std::remove_cvref_t<decltype(view.extent(0))>;
      static_assert(std::integral<Index>, "extents and strides are whole numbers");
      extents_[i] = static_cast<std::int64_t>(view.extent(static_cast<decltype(V::rank())>(i)));
      strides_[i] = static_cast<std::int64_t>(view.stride(static_cast<decltype(V::rank())>(i)));
    }
  }
  template <class T, Location L>
  explicit Shape(const MatrixView<T, L>& x) : rank_(2), extents_{x.rows, x.cols}, strides_{1, x.ld} {}
  // Levels of one part are left out, so that the batch broadcasts with those of fewer dimensions.
  template <class T, Location L>
  explicit Shape(const StridedBatch<T, L>& x) : rank_(0) {
    if (x.outermost_count != 1) add(x.outermost_count, x.outermost_stride);
    if (rank_ > 0 || x.outer_count != 1) add(x.outer_count, x.outer_stride);
    add(x.count, x.stride), add(x.rows, 1), add(x.cols, x.ld);
  }

  template <class T>
  Array<T> of(T* data) const {
    return {data, rank_, extents_.data(), strides_.data()};
  }

 private:
  void add(std::int64_t extent, std::int64_t stride) {
    extents_[static_cast<std::size_t>(rank_)] = extent, strides_[static_cast<std::size_t>(rank_)] = stride;
    ++rank_;
  }

  int rank_;
  std::array<std::int64_t, Rank> extents_{};
  std::array<std::int64_t, Rank> strides_{};
};

template <MdspanLike V>
constexpr typename V::element_type* data_of(const V& view) {
  return view.data_handle();
}
template <class T, Location L>
constexpr T* data_of(const MatrixView<T, L>& view) {
  return view.data;
}
template <class T, Location L>
constexpr T* data_of(const StridedBatch<T, L>& view) {
  return view.data;
}

[[noreturn]] void refuse_columns(const char* name, std::int64_t row_stride, std::int64_t col_stride);

}  // namespace detail

/// A view of one matrix, of any strides.
template <class V>
concept StridedMatrix = detail::ViewTraits<V>::rank == 2;
/// A view of a batch whose matrices lie at strides, or of one matrix, which every problem then uses.
template <class V>
concept StridedArray = detail::ViewTraits<V>::rank >= 2 && detail::ViewTraits<V>::rank <= 64;

/// The element type of a view, without const.
template <class V>
using ElementOf = std::remove_const_t<typename detail::ViewTraits<V>::Element>;

/// The operands of one product: at least one of them is like std::mdspan; for column-major views alone there
/// are other overloads. All have one element type and location, and C is not const.
template <class A, class B, class C>
concept StridedOperands = StridedArray<A> && StridedArray<B> && StridedArray<C> &&
    (MdspanLike<A> || MdspanLike<B> || MdspanLike<C>);

/// Returns the view of a matrix of rows x cols elements at `data`, element (i, j) at data[i * row_stride + j
/// * col_stride]. Sizes and strides may be of any integer type; strided<Location::device>(...) describes
/// device memory.
template <Location L = Location::host, class T, std::integral Rows, std::integral Cols,
          std::integral RowStride, std::integral ColStride>
constexpr StridedView<T, 2, L> strided(T* data, Rows rows, Cols cols, RowStride row_stride,
                                       ColStride col_stride) {
  return {data,
          {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols)},
          {static_cast<std::int64_t>(row_stride), static_cast<std::int64_t>(col_stride)}};
}

/// Returns the view of a row-major matrix, as C, C++ and NumPy lay arrays out; rows lie `ld` elements apart,
/// cols without it.
template <Location L = Location::host, class T, std::integral Rows, std::integral Cols, std::integral Ld>
constexpr StridedView<T, 2, L> row_major(T* data, Rows rows, Cols cols, Ld ld) {
  return strided<L>(data, rows, cols, ld, 1);
}
template <Location L = Location::host, class T, std::integral Rows, std::integral Cols>
constexpr StridedView<T, 2, L> row_major(T* data, Rows rows, Cols cols) {
  return strided<L>(data, rows, cols, cols, 1);
}

/// Returns a batch of such matrices, as strided_batch() of column-major ones.
template <class T, std::size_t Rank, Location L, std::integral Stride, std::integral Count>
constexpr StridedView<T, Rank + 1, L> strided_batch(const StridedView<T, Rank, L>& first, Stride stride,
                                                    Count count) {
  return first.repeat(stride, count);
}

/// Returns a view of the same elements with rows and columns exchanged; nothing moves.
template <class T, std::size_t Rank, Location L>
constexpr StridedView<T, Rank, L> transposed(StridedView<T, Rank, L> view) {
  static_assert(Rank >= 2, "a matrix has rows and columns");
  const auto swap = [](std::array<std::int64_t, Rank>& of) {
    const std::int64_t last = of[Rank - 1];
    of[Rank - 1] = of[Rank - 2], of[Rank - 2] = last;
  };
  swap(view.extents), swap(view.strides);
  return view;
}
template <class T, Location L>
constexpr StridedView<T, 2, L> transposed(const MatrixView<T, L>& view) {
  return strided<L>(view.data, view.cols, view.rows, view.ld, 1);
}

/// Returns the view with its addresses marked as device memory, for views like std::mdspan, which do not say
/// where they lie.
template <MdspanLike V>
constexpr StridedView<typename V::element_type, V::rank(), Location::device> on_device(const V& view) {
  StridedView<typename V::element_type, V::rank(), Location::device> same;
  same.data = view.data_handle();
  for (std::size_t i = 0; i < V::rank(); ++i) {
    same.extents[i] = static_cast<std::int64_t>(view.extent(static_cast<decltype(V::rank())>(i)));
    same.strides[i] = static_cast<std::int64_t>(view.stride(static_cast<decltype(V::rank())>(i)));
  }
  return same;
}

/// Returns the view as a column-major one.
/// @throws Error invalid_argument with `name` and the strides if the elements of a column are not neighbours.
template <class T, Location L>
constexpr MatrixView<T, L> as_columns(const char*, const MatrixView<T, L>& view) {
  return view;
}
template <MdspanLike V>
requires StridedMatrix<V> MatrixView<typename V::element_type, detail::ViewTraits<V>::location> as_columns(
    const char* name, const V& view) {
  const auto rows = static_cast<std::int64_t>(view.extent(0)),
             cols = static_cast<std::int64_t>(view.extent(1));
  const auto row_stride = static_cast<std::int64_t>(view.stride(0));
  const auto col_stride = static_cast<std::int64_t>(view.stride(1));
  const std::int64_t least = rows > 1 ? rows : 1;
  if ((rows > 1 && row_stride != 1) || (cols > 1 && col_stride < least))
    detail::refuse_columns(name, row_stride, col_stride);
  return {view.data_handle(), rows, cols, cols > 1 ? col_stride : least};
}

}  // namespace v0_2
}  // namespace tilewright
