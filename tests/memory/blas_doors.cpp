// The names of BLAS and LAPACK, which return no status: whatever fails, their results are right.
#include <array>

#include "batch.hpp"

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
            const int*, const double*, const int*, const double*, double*, const int*);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                 double*, int);
void dgemm_batch_strided_(const char*, const char*, const int*, const int*, const int*, const double*,
                          const double*, const int*, const int*, const double*, const int*, const int*,
                          const double*, double*, const int*, const int*, const int*);
void dgemm_batch_(const char*, const char*, const int*, const int*, const int*, const double*,
                  const double* const*, const int*, const double* const*, const int*, const double*,
                  double* const*, const int*, const int*, const int*);
void blas_dgemm_batch(int, const int*, int, const int*, const int*, const int*, const int*, const int*,
                      const double*, double const* const*, const int*, double const* const*, const int*,
                      const double*, double**, const int*, int*);
void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*,
            const double*, double*, const int*);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgetrs_(const char*, const int*, const int*, const double*, const int*, const int*, double*, const int*,
             int*);
int LAPACKE_dgesv(int, int, int, double*, int, int*, double*, int);
}

namespace tilewright::memory {
namespace {

constexpr int col_major = 102, as_is = 111;

struct Sizes {
  explicit Sizes(const Batch& x) : m(int(x.m)), n(int(x.n)), k(int(x.k)), count(int(x.count)) {}
  int m, n, k, count;
};

Door door(std::string name, Batch& x, std::function<void(Batch&, const Sizes&)> call) {
  return {std::move(name),
          [] {},
          [&x, call = std::move(call), sizes = Sizes(x)] {
            call(x, sizes);
            return TILEWRIGHT_OK;
          },
          {x.output}};
}

void fortran(Batch& x, const Sizes& s) {
  dgemm_("N", "N", &s.m, &s.n, &s.k, &x.alpha, x.a.data(), &s.m, x.b.data(), &s.k, &x.beta, x.c.data(), &s.m);
}
void cblas(Batch& x, const Sizes& s) {
  cblas_dgemm(col_major, as_is, as_is, s.m, s.n, s.k, x.alpha, x.a.data(), s.m, x.b.data(), s.k, x.beta,
              x.c.data(), s.m);
}
void strided(Batch& x, const Sizes& s) {
  const int a = s.m * s.k, b = s.k * s.n, c = s.m * s.n;
  dgemm_batch_strided_("N", "N", &s.m, &s.n, &s.k, &x.alpha, x.a.data(), &s.m, &a, x.b.data(), &s.k, &b,
                       &x.beta, x.c.data(), &s.m, &c, &s.count);
}
// Computes two groups of half the problems.
void grouped(Batch& x, const Sizes& s) {
  const std::array<int, 2> m{s.m, s.m}, n{s.n, s.n}, k{s.k, s.k}, half{s.count / 2, s.count - s.count / 2};
  const std::array<double, 2> alpha{x.alpha, x.alpha}, beta{x.beta, x.beta};
  const int groups = 2;
  dgemm_batch_("NN", "NN", m.data(), n.data(), k.data(), alpha.data(),
               reinterpret_cast<const double* const*>(x.a_of.data()), m.data(),
               reinterpret_cast<const double* const*>(x.b_of.data()), k.data(), beta.data(),
               reinterpret_cast<double* const*>(x.c_of.data()), m.data(), &groups, half.data());
}
void standard(Batch& x, const Sizes& s) {
  int info[64] = {};  // one code for each problem
  blas_dgemm_batch(1, &s.count, col_major, &as_is, &as_is, &s.m, &s.n, &s.k, &x.alpha,
                   reinterpret_cast<const double* const*>(x.a_of.data()), &s.m,
                   reinterpret_cast<const double* const*>(x.b_of.data()), &s.k, &x.beta,
                   reinterpret_cast<double**>(x.c_of.data()), &s.m, info);
  for (int p = 0; p < s.count; ++p)
    if (info[p] != 0) x.c[0] = -1e300;
}

// The lower triangle of 2 A A^T + 3 C; the rest is unchanged.
struct Triangle {
  Triangle(int size, int inner)
      : n(size), k(inner), a(std::size_t(size * inner)), c(std::size_t(size * size)) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = double(i * 7 % 11) - 5;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = double(i % 9);
    Values right = c;
    for (int j = 0; j < n; ++j)
      for (int i = j; i < n; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += a[std::size_t(l * n + i)] * a[std::size_t(l * n + j)];
        double& element = right[std::size_t(j * n + i)];
        element = 2 * sum + 3 * element;
      }
    output = {&c, c, std::move(right)};
  }
  int n, k;
  Values a, c;
  Output output;
};
Door triangle(std::string name, Triangle& x) {
  return {std::move(name),
          [] {},
          [&x] {
            const double two = 2, three = 3;
            dsyrk_("L", "N", &x.n, &x.k, &two, x.a.data(), &x.n, &three, x.c.data(), &x.n);
            return TILEWRIGHT_OK;
          },
          {x.output}};
}

// Solves A X = B with solution 1, 2, 3, ..., by each of the routines.
struct System {
  explicit System(int size)
      : n(size), a(std::size_t(size * size)), b(std::size_t(size)), x(b), pivots(b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = double(i * 37 % 101) / 50 - 1;
    for (std::size_t i = 0; i < b.size(); ++i)
      a[i * b.size() + (i + 1) % b.size()] += 4, x[i] = double(i + 1);
    for (std::size_t j = 0; j < b.size(); ++j)
      for (std::size_t i = 0; i < b.size(); ++i) b[i] += a[j * b.size() + i] * x[j];
    factors = a, solution = b;
  }
  Output output() { return {&solution, b, x, 1e-7}; }
  int n;
  Values a, b, x, factors, solution;
  std::vector<int> pivots;
};
enum class By { gesv, getrf, lapacke };
Door system(std::string name, System& s, By by) {
  return {
      std::move(name),
      [] {},
      [&s, by] {
        const int one = 1;
        int info = 0;
        std::copy(s.a.begin(), s.a.end(), s.factors.begin());
        if (by == By::gesv) {
          dgesv_(&s.n, &one, s.factors.data(), &s.n, s.pivots.data(), s.solution.data(), &s.n, &info);
        } else if (by == By::getrf) {
          dgetrf_(&s.n, &s.n, s.factors.data(), &s.n, s.pivots.data(), &info);
          dgetrs_("N", &s.n, &one, s.factors.data(), &s.n, s.pivots.data(), s.solution.data(), &s.n, &info);
        } else {
          info = LAPACKE_dgesv(col_major, s.n, 1, s.factors.data(), s.n, s.pivots.data(), s.solution.data(),
                               s.n);
        }
        constexpr int no_memory = -1011;
        return info == 0 ? TILEWRIGHT_OK : info == no_memory ? TILEWRIGHT_OUT_OF_MEMORY : TILEWRIGHT_INTERNAL;
      },
      {s.output()}};
}

}  // namespace

Doors all_doors() {
  static Batch small(7, 6, 5, 1), large(90, 80, 70, 1), batch(7, 6, 5, 12);
  static Triangle narrow(20, 9), wide(150, 30);
  static System few(6), many(120);
  return {door("dgemm.small", small, fortran),  door("dgemm.large", large, fortran),
          door("cblas_dgemm", small, cblas),    door("dgemm_batch_strided", batch, strided),
          door("dgemm_batch", batch, grouped),  door("blas_dgemm_batch", batch, standard),
          triangle("dsyrk.small", narrow),      triangle("dsyrk.large", wide),
          system("dgesv.small", few, By::gesv), system("dgesv.large", many, By::gesv),
          system("dgetrf", many, By::getrf),    system("LAPACKE_dgesv", many, By::lapacke)};
}

}  // namespace tilewright::memory
