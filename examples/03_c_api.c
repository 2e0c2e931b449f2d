/* The C interface: a batch of products, a plan that is made once and run twice, and what an error looks like.
 * Everything goes through one opaque context; every call returns a status. */
#include <stdio.h>
#include <tilewright/tilewright.h>

enum { N = 4, COUNT = 1000 };
static double a[N * N * COUNT], b[N * N * COUNT], c[N * N * COUNT];

int main(void) {
  const double one = 1, zero = 0;
  tilewright_context* context = NULL;
  tilewright_plan* plan = NULL;
  int i, right;

  for (i = 0; i < N * N * COUNT; ++i) a[i] = 1, b[i] = 2, c[i] = -1;
  if (tilewright_create(NULL, NULL, &context) != TILEWRIGHT_OK) {
    fprintf(stderr, "no context: %s\n", context ? tilewright_last_error(context) : "out of memory");
    tilewright_destroy(context);
    return 1;
  }
  printf("tilewright %s\n", tilewright_version());

  /* C[p] = A[p] * B[p] */
  if (tilewright_gemm_strided_batched(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, N, N, N,
                                      &one, a, N, N * N, b, N, N * N, &zero, c, N, N * N, COUNT, NULL,
                                      TILEWRIGHT_INFO_NONE, NULL) != TILEWRIGHT_OK)
    fprintf(stderr, "%s\n", tilewright_last_error(context));
  right = c[0] == 8 && c[N * N * COUNT - 1] == 8;

  /* C[p] += A[p] * B[p], twice through one plan */
  if (tilewright_plan_create(context, "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=1000:beta=one", NULL,
                             &plan) == TILEWRIGHT_OK) {
    for (i = 0; i < 2; ++i)
      if (tilewright_plan_run(plan, &one, a, b, &one, c) != TILEWRIGHT_OK)
        fprintf(stderr, "%s\n", tilewright_plan_last_error(plan));
    tilewright_plan_destroy(plan);
  } else {
    fprintf(stderr, "%s\n", tilewright_last_error(context));
  }
  right = right && c[0] == 24 && c[N * N * COUNT - 1] == 24;

  /* A bad argument writes nothing and is named. */
  if (tilewright_gemm(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, N, N, N, &one, a, N - 1, b,
                      N, &zero, c, N, NULL) == TILEWRIGHT_INVALID_ARGUMENT)
    printf("as expected: %s\n", tilewright_last_error(context));
  else
    right = 0;
  right = right && c[0] == 24;
  tilewright_destroy(context);
  return right ? 0 : 1;
}
