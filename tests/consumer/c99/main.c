/* A strict C99 program on the C interface: products and a determinant of 2x2 matrices and a refused call. A
 * check that the header and the exported symbols suffice, not of the arithmetic. */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

int main(void) {
  const double a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1}, one = 1, zero = 0;
  double c[] = {-1, -1, -1, -1}, matrix[] = {1, 2, 3, 4}, det = 0;
  int right;
  tilewright_context_options how = TILEWRIGHT_CONTEXT_OPTIONS_INIT;
  tilewright_options by_rows = TILEWRIGHT_OPTIONS_INIT;
  tilewright_matrix_batch batch = TILEWRIGHT_MATRIX_BATCH_INIT;
  tilewright_context* context = NULL;
  how.no_notices = 1, by_rows.row_major = 1;
  if (tilewright_create_with(&how, &context) != TILEWRIGHT_OK) return 1;
  right = tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_TRANS, 2, 2, 2, &one, a, 2, b,
                          2, &zero, c, 2, NULL) == TILEWRIGHT_OK &&
          memcmp(a, c, sizeof c) == 0;
  right = right &&
          tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_TRANS, 2, 2, 2, &one, b, 2, a,
                          2, &zero, c, 2, &by_rows) == TILEWRIGHT_OK &&
          c[1] == 3;
  batch.data = matrix, batch.count = 1, batch.rows = batch.cols = 2;
  right = right && tilewright_det_batched(context, TILEWRIGHT_F64, &batch, &det, NULL) == TILEWRIGHT_OK &&
          det < -1.99 && det > -2.01;
  right = right && tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, -2, 2, 2, &one,
                                   a, 2, b, 2, &zero, c, 2, NULL) == TILEWRIGHT_INVALID_ARGUMENT;
  if (right) puts(tilewright_last_error(context));
  tilewright_destroy(context);
  return right ? 0 : 1;
}
