// The smallest program on the library: one product of 2x2 matrices, to see that the flags of pkg-config
// suffice.
#include <tilewright/gemm.hpp>

int main() {
  tilewright::Context context;
  const double a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1};
  double c[] = {0, 0, 0, 0};
  tilewright::gemm<double>(context, tilewright::Op::none, tilewright::Op::none, 1, {a, 2, 2, 2}, {b, 2, 2, 2},
                           0, {c, 2, 2, 2});
  return c[0] == 1 && c[1] == 2 && c[2] == 3 && c[3] == 4 ? 0 : 1;
}
