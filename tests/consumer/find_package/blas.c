/* Uses BLAS names of libtilewright_blas: a product by cblas_dgemm and a batch, in C. A check of headers and
 * linking, not of the arithmetic. */
#include <tilewright/tilewright_blas.h>

void cblas_dgemm(int layout, int op_a, int op_b, int m, int n, int k, double alpha, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc);

int main(void) {
  const double a[] = {1, 2, 3, 4, 1, 0, 0, 1}, b[] = {1, 0, 0, 1, 5, 6, 7, 8};
  double c[8] = {0};
  cblas_dgemm(102, 111, 111, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
  if (c[0] != 1 || c[1] != 2 || c[2] != 3 || c[3] != 4) return 1;
  cblas_dgemm_batch_strided(101, 111, 111, 2, 2, 2, 1, a, 2, 4, b, 2, 4, 1, c, 2, 4, 2);
  return c[0] == 2 && c[3] == 8 && c[4] == 5 && c[7] == 8 && tilewright_blas_version()[0] != 0 ? 0 : 2;
}
