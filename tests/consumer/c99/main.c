/* A strict C99 program on the C interface: one product of 2x2 matrices and a refused one. A check that the
 * header and the exported symbols suffice, not of the arithmetic. */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

int main(void) {
  const double a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1}, one = 1, zero = 0;
  double c[] = {-1, -1, -1, -1};
  int right;
  tilewright_context_options how = TILEWRIGHT_CONTEXT_OPTIONS_INIT;
  tilewright_options by_rows = TILEWRIGHT_OPTIONS_INIT;
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
  right = right && tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, -2, 2, 2, &one,
                                   a, 2, b, 2, &zero, c, 2, NULL) == TILEWRIGHT_INVALID_ARGUMENT;
  if (right) puts(tilewright_last_error(context));
  tilewright_destroy(context);
  return right ? 0 : 1;
}
