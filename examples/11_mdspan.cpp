// Views like std::mdspan are operands as they are: whatever has element_type, rank(), data_handle(), extent()
// and stride(). Where the standard library has std::mdspan, this uses it; elsewhere it has a view of its own.
#include <array>
#include <cstdio>
#include <tilewright/gemm.hpp>
#include <vector>
#include <version>

#ifdef __cpp_lib_mdspan
#include <mdspan>
template <class T, std::size_t Rank>
using View = std::mdspan<T, std::dextents<std::size_t, Rank>>;
#else
template <class T, std::size_t Rank>
struct View {
  using element_type = T;
  T* data;
  std::array<std::size_t, Rank> extents;

  template <class... Extents>
  explicit View(T* first, Extents... sizes) : data(first), extents{sizes...} {}
  static constexpr std::size_t rank() { return Rank; }
  T* data_handle() const { return data; }
  std::size_t extent(std::size_t r) const { return extents[r]; }
  std::size_t stride(std::size_t r) const { return r + 1 == Rank ? 1 : stride(r + 1) * extents[r + 1]; }
};
#endif

int main() {
  namespace tw = tilewright;
  const std::size_t count = 1000, m = 4, n = 3, k = 2;
  std::vector<float> a(count * m * k, 1), b(k * n, 0.5), c(count * m * n);
  const View<const float, 3> batch_a(a.data(), count, m, k);
  const View<const float, 2> one_b(b.data(), k, n);
  const View<float, 3> batch_c(c.data(), count, m, n);

  tw::Context context;
  // C[p] = A[p] * B for every p: a view of two dimensions is one matrix for the whole batch
  tw::gemm_batched(context, tw::Op::none, tw::Op::none, 1, batch_a, one_b, 0, batch_c);
  std::printf("every element is %g\n", static_cast<double>(c[0]));
  return c.front() == 1 && c.back() == 1 ? 0 : 1;
}
