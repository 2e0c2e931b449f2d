/* A program that knows nothing of us: products and systems by the names of BLAS and LAPACK, checked against
 * what they must be, from two threads, and again in a child of fork. Prints "right" and, per argument, does
 * more: threads, fork; locked: from now on one thread at a time, as a BLAS built for one thread wants it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, size_t, size_t);
extern void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                        double*, int);
extern void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*,
                   const double*, double*, const int*, size_t, size_t);
extern void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);

enum { small = 24, large = 100, rounds = 20 };

/* A is 2 I + a 1 beside the diagonal, B all 1. */
static int multiplies(int n) {
  const double one = 1, zero = 0;
  double *a = malloc(sizeof(double) * n * n), *b = malloc(sizeof(double) * n * n),
         *c = malloc(sizeof(double) * n * n);
  int *pivots = malloc(sizeof(int) * n), right = 1, info = -1, i, columns = 1;
  memset(a, 0, sizeof(double) * n * n);
  for (i = 0; i < n; ++i) a[i * n + i] = 2, a[i * n + (i + 1) % n] = 1;
  for (i = 0; i < n * n; ++i) b[i] = 1;
  dgemm_("N", "T", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
  for (i = 0; i < n * n; ++i) right = right && c[i] == 3;
  cblas_dgemm(101, 111, 111, n, n, n, 1, a, n, b, n, 1, c, n);
  for (i = 0; i < n * n; ++i) right = right && c[i] == 6;
  dsyrk_("L", "N", &n, &n, &one, b, &n, &zero, c, &n, 1, 1);
  right = right && c[0] == n && c[n - 1] == n && c[(n - 1) * n] == 6;
  for (i = 0; i < n; ++i) b[i] = 3;
  dgesv_(&n, &columns, a, &n, pivots, b, &n, &info);
  right = right && info == 0;
  for (i = 0; i < n; ++i) right = right && b[i] > 0.9999 && b[i] < 1.0001;
  free(a), free(b), free(c), free(pivots);
  return right;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int locked;

static void* work(void* result) {
  int i, right = 1;
  for (i = 0; i < rounds; ++i) {
    if (locked) pthread_mutex_lock(&mutex);
    right = right && multiplies(small) && multiplies(large);
    if (locked) pthread_mutex_unlock(&mutex);
  }
  *(int*)result = right;
  return NULL;
}

int main(int count, char** arguments) {
  int right = 0, i;
  work(&right);
  for (i = 1; i < count; ++i) {
    locked = locked || strcmp(arguments[i], "locked") == 0;
    if (strcmp(arguments[i], "threads") == 0) {
      pthread_t threads[2];
      int results[2] = {0, 0}, t;
      for (t = 0; t < 2; ++t) pthread_create(&threads[t], NULL, work, &results[t]);
      for (t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
      right = right && results[0] && results[1];
    }
    if (strcmp(arguments[i], "fork") == 0) {
      int status = 1, child_right = 0;
      const pid_t child = fork();
      if (child == 0) {
        work(&child_right);
        exit(child_right ? 0 : 3);
      }
      waitpid(child, &status, 0);
      right = right && status == 0;
    }
  }
  puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
