// Sizes known when compiling: header-only, nothing to link, inlined into the caller's loop. Here each element
// of a mesh turns its own gradient by a rotation, and the sum is checked.
#include <cstdio>
#include <tilewright/small.hpp>
#include <vector>

int main() {
  namespace tw = tilewright;
  constexpr std::int64_t rows = 3, cols = 8, count = 1000;
  const double turn[] = {0, 1, 0, -1, 0, 0, 0, 0, 1};  // a quarter turn about the third axis, by columns
  std::vector<double> gradients(rows * cols * count, 2.0), turned(rows * cols * count);

  for (std::int64_t p = 0; p < count; ++p)
    tw::gemm<rows, cols, 3>(1.0, turn, gradients.data() + p * rows * cols, 0.0,
                            turned.data() + p * rows * cols);

  // (2, 2, 2) becomes (-2, 2, 2)
  std::printf("a column is %g %g %g\n", turned[0], turned[1], turned[2]);
  return turned[0] == -2 && turned[1] == 2 && turned[rows * cols * count - 1] == 2 ? 0 : 1;
}
