/* A block-sparse product as codes of electronic structure have it: blocks of 5, 13 and 23 in any combination,
 * one dgemm each. */
#include <stdio.h>
#include <stdlib.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
            const int*, const double*, const int*, const double*, double*, const int*);

int main(int count, char** arguments) {
  static const int sizes[] = {5, 13, 23};
  enum { places = 60, largest = 23 * 23 };
  double *a = malloc(sizeof(double) * places * largest), *b = malloc(sizeof(double) * places * largest),
         *c = calloc(places * largest, sizeof(double));
  const int calls = 4000000 * (count > 1 ? atoi(arguments[1]) : 1);
  unsigned state = 1;
  const double one = 1;
  double sum = 0;
  for (int i = 0; i < places * largest; ++i) a[i] = b[i] = (double)(i % 7) / 100;
  for (int i = 0; i < calls; ++i) {
    state = state * 1664525u + 1013904223u;
    const int m = sizes[state >> 8 & 1], n = sizes[(state >> 10) % 3], k = sizes[(state >> 14) % 3];
    dgemm_("N", "N", &m, &n, &k, &one, a + (state >> 16) % places * largest, &m,
           b + (state >> 22) % places * largest, &k, &one, c + (state >> 12) % places * largest, &m);
  }
  for (int i = 0; i < places * largest; ++i) sum += c[i];
  printf("%g\n", sum);
  free(a), free(b), free(c);
  return 0;
}
