// The header-only half without the library: one product of compile-time size. Linked against nothing of
// tilewright.
#include <tilewright/small.hpp>

int main() {
  const double a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1};
  double c[] = {0, 0, 0, 0};
  tilewright::gemm<2, 2, 2>(1.0, a, b, 0.0, c);
  return c[0] == 1 && c[1] == 2 && c[2] == 3 && c[3] == 4 ? 0 : 1;
}
