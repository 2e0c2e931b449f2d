// The operands are matrices of ones, whose products are known.
#include "calls.hpp"

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "tilewright/gemm.hpp"
#include "tilewright/layout.hpp"
#include "tilewright/lu.hpp"
#include "tilewright/tilewright.h"

namespace {

// CBLAS takes complex scalars by address.
template <class T>
using Scalar = std::conditional_t<std::is_floating_point_v<T>, T, const void*>;

}  // namespace

extern "C" {
#define GEMM(letter, T)                                                                                      \
  void letter##gemm_(const char*, const char*, const int*, const int*, const int*, const T*, const T*,       \
                     const int*, const T*, const int*, const T*, T*, const int*);                            \
  void letter##syrk_(const char*, const char*, const int*, const int*, const T*, const T*, const int*,       \
                     const T*, T*, const int*);                                                              \
  void letter##gemmt_(const char*, const char*, const char*, const int*, const int*, const T*, const T*,     \
                      const int*, const T*, const int*, const T*, T*, const int*);                           \
  void letter##gemm_batch_strided_(const char*, const char*, const int*, const int*, const int*, const T*,   \
                                   const T*, const int*, const int*, const T*, const int*, const int*,       \
                                   const T*, T*, const int*, const int*, const int*);                        \
  void letter##gesv_(const int*, const int*, T*, const int*, int*, T*, const int*, int*);                    \
  int LAPACKE_##letter##gesv(int, int, int, T*, int, int*, T*, int);                                         \
  void letter##getrf_(const int*, const int*, T*, const int*, int*, int*);                                   \
  void letter##getrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, \
                      int*);                                                                                 \
  void cblas_##letter##gemm(int, int, int, int, int, int, Scalar<T>, const T*, int, const T*, int,           \
                            Scalar<T>, T*, int);                                                             \
  void blas_##letter##gemm_batch(int, const int*, int, const int*, const int*, const int*, const int*,       \
                                 const int*, const T*, T const* const*, const int*, T const* const*,         \
                                 const int*, const T*, T**, const int*, int*);
GEMM(s, float)
GEMM(d, double)
GEMM(c, std::complex<float>)
GEMM(z, std::complex<double>)
#undef GEMM
#define HERK(letter, T, Real)                                                                             \
  void letter##herk_(const char*, const char*, const int*, const int*, const Real*, const T*, const int*, \
                     const Real*, T*, const int*);
HERK(c, std::complex<float>, float)
HERK(z, std::complex<double>, double)
#undef HERK
}

namespace {

using namespace tilewright;

Context& context() {
  static Context& made = *new Context;
  return made;
}
tilewright_context* c_context() {
  static tilewright_context* made = [] {
    tilewright_context* created = nullptr;
    (void)tilewright_create(nullptr, nullptr, &created);
    return created;
  }();
  return made;
}

// A stack of `count` matrices.
template <class T>
struct Ones {
  std::int64_t n, count;
  std::vector<T> a, b, c;
  Ones(std::int64_t size, std::int64_t matrices) : n(size), count(matrices) {
    a.assign(std::size_t(n * n * count), T(1));
    b = a, c = a;
  }
  bool is(double value) const {
    for (const T& x : c)
      if (x != T(value)) return false;
    return true;
  }
};

template <class T>
struct Names;
#define NAMES(letter, T)                                         \
  template <>                                                    \
  struct Names<T> {                                              \
    static constexpr const char* of_type = #letter;              \
    static constexpr auto gemm = letter##gemm_;                  \
    static constexpr auto syrk = letter##syrk_;                  \
    static constexpr auto gemmt = letter##gemmt_;                \
    static constexpr auto batch = letter##gemm_batch_strided_;   \
    static constexpr auto gesv = letter##gesv_;                  \
    static constexpr auto lapacke_gesv = LAPACKE_##letter##gesv; \
    static constexpr auto getrf = letter##getrf_;                \
    static constexpr auto getrs = letter##getrs_;                \
    static constexpr auto cblas_gemm = cblas_##letter##gemm;     \
    static constexpr auto groups = blas_##letter##gemm_batch;    \
  };
NAMES(s, float)
NAMES(d, double)
NAMES(c, std::complex<float>)
NAMES(z, std::complex<double>)
#undef NAMES

template <class T>
constexpr T one = T(1);
template <class T>
constexpr T zero = T(0);

// Each element of the right C is m if all of C is computed; triangles leave ones elsewhere.
template <class T>
void add_blas(std::vector<NamedCall>& calls) {
  const auto add = [&](const std::string& name, std::function<bool()> run) {
    calls.push_back({std::string(Names<T>::of_type) + name, std::move(run)});
  };
  for (const int n : {1, 7, 64, 100})
    for (const char* op : {"N", "T"})
      add("gemm_ " + std::string(op) + "N " + std::to_string(n), [n, op] {
        Ones<T> x(n, 1);
        Names<T>::gemm(op, "N", &n, &n, &n, &one<T>, x.a.data(), &n, x.b.data(), &n, &zero<T>, x.c.data(),
                       &n);
        return x.is(n);
      });
  for (const int n : {1, 20}) {
    add("syrk_ " + std::to_string(n), [n] {
      Ones<T> x(n, 1);
      Names<T>::syrk("L", "N", &n, &n, &one<T>, x.a.data(), &n, &zero<T>, x.c.data(), &n);
      return x.c.front() == T(n) && x.c.back() == T(n);
    });
    add("gemmt_ " + std::to_string(n), [n] {
      Ones<T> x(n, 1);
      Names<T>::gemmt("U", "N", "N", &n, &n, &one<T>, x.a.data(), &n, x.b.data(), &n, &zero<T>, x.c.data(),
                      &n);
      return x.c.front() == T(n) && x.c.back() == T(n);
    });
    add("gemm_batch_strided_ " + std::to_string(n), [n] {
      const int count = 50, stride = n * n;
      Ones<T> x(n, count);
      Names<T>::batch("N", "T", &n, &n, &n, &one<T>, x.a.data(), &n, &stride, x.b.data(), &n, &stride,
                      &zero<T>, x.c.data(), &n, &stride, &count);
      return x.is(n);
    });
  }
}

template <class T>
void add_systems(std::vector<NamedCall>& calls) {
  const auto add = [&](const std::string& name, std::function<bool()> run) {
    calls.push_back({std::string(Names<T>::of_type) + name, std::move(run)});
  };
  for (const int n : {1, 20}) {
    const auto system = [n](auto solve) {
      std::vector<T> a(std::size_t(n) * n, T(0)), b(std::size_t(n), T(4));
      for (int i = 0; i < n; ++i) a[std::size_t(i) * n + i] = T(2);
      std::vector<int> pivots(static_cast<std::size_t>(n));
      if (solve(a.data(), pivots.data(), b.data()) != 0) return false;
      for (const T& x : b)
        if (x != T(2)) return false;
      return true;
    };
    add("gesv_ " + std::to_string(n), [n, system] {
      return system([n](T* a, int* pivots, T* b) {
        const int columns = 1;
        int info = -1;
        Names<T>::gesv(&n, &columns, a, &n, pivots, b, &n, &info);
        return info;
      });
    });
    add("getrf_ and getrs_ " + std::to_string(n), [n, system] {
      return system([n](T* a, int* pivots, T* b) {
        const int columns = 1;
        int info = -1, solved = -1;
        Names<T>::getrf(&n, &n, a, &n, pivots, &info);
        Names<T>::getrs("N", &n, &columns, a, &n, pivots, b, &n, &solved);
        return info == 0 ? solved : info;
      });
    });
    add("LAPACKE_gesv " + std::to_string(n), [n, system] {
      return system(
          [n](T* a, int* pivots, T* b) { return Names<T>::lapacke_gesv(102, n, 1, a, n, pivots, b, n); });
    });
  }
}

template <class T>
Scalar<T> by_cblas(const T& value) {
  if constexpr (std::is_floating_point_v<T>)
    return value;
  else
    return &value;
}

template <class T>
void add_c_blas(std::vector<NamedCall>& calls) {
  const auto add = [&](const std::string& name, std::function<bool()> run) {
    calls.push_back({std::string(Names<T>::of_type) + " " + name, std::move(run)});
  };
  for (const int n : {1, 7, 64, 100})
    add("cblas_gemm " + std::to_string(n), [n] {
      constexpr int row_major = 101, as_it_is = 111, transposed = 112;
      Ones<T> x(n, 1);
      Names<T>::cblas_gemm(row_major, as_it_is, transposed, n, n, n, by_cblas(one<T>), x.a.data(), n,
                           x.b.data(), n, by_cblas(zero<T>), x.c.data(), n);
      return x.is(n);
    });
  add("blas_gemm_batch", [] {
    constexpr int column_major = 102, as_it_is = 111, count = 10, n = 6, without_codes = 3;
    Ones<T> x(n, count);
    std::array<const T*, count> a{};
    std::array<T*, count> c{};
    for (std::size_t i = 0; i < count; ++i) a[i] = &x.a[i * n * n], c[i] = &x.c[i * n * n];
    int info = without_codes;
    Names<T>::groups(1, &count, column_major, &as_it_is, &as_it_is, &n, &n, &n, &one<T>, a.data(), &n,
                     a.data(), &n, &zero<T>, c.data(), &n, &info);
    return info == 0 && x.is(n);
  });
}

template <class T, class Real>
void add_herk(std::vector<NamedCall>& calls, const char* name,
              void (*herk)(const char*, const char*, const int*, const int*, const Real*, const T*,
                           const int*, const Real*, T*, const int*)) {
  for (const int n : {1, 20})
    calls.push_back({name + std::to_string(n), [n, herk] {
                       Ones<T> x(n, 1);
                       herk("L", "N", &n, &n, &one<Real>, x.a.data(), &n, &zero<Real>, x.c.data(), &n);
                       return x.c.front() == T(Real(n)) && x.c.back() == T(Real(n));
                     }});
}

template <class T>
void add_cpp(std::vector<NamedCall>& calls) {
  const auto add = [&](const std::string& name, std::function<bool()> run) {
    calls.push_back({std::string(Names<T>::of_type) + " " + name, std::move(run)});
  };
  for (const std::int64_t n : {1, 7, 64, 100})
    for (const Op op : {Op::none, Op::trans})
      add("gemm " + to_string(GemmProblem{.dtype = dtype_of<T>, .op_a = op, .m = n, .n = n, .k = n}),
          [n, op] {
            Ones<T> x(n, 1);
            gemm<T>(context(), op, Op::none, one<T>, {x.a.data(), n, n, n}, {x.b.data(), n, n, n}, zero<T>,
                    {x.c.data(), n, n, n});
            return x.is(double(n));
          });
  add("gemm of a long product", [] {
    const std::int64_t n = 8, m = 5000;
    std::vector<T> a(std::size_t(m * n), T(1)), b(std::size_t(n * n), T(1)), c(a);
    gemm<T>(context(), Op::none, Op::trans, one<T>, {a.data(), m, n, m}, {b.data(), n, n, n}, zero<T>,
            {c.data(), m, n, m});
    return c.front() == T(8) && c.back() == T(8);
  });
}

template <class T>
void add_cpp_batches(std::vector<NamedCall>& calls) {
  const auto add = [&](const std::string& name, std::function<bool()> run) {
    calls.push_back({std::string(Names<T>::of_type) + " " + name, std::move(run)});
  };
  for (const int threads : {1, 3})
    add("gemm_batched by " + std::to_string(threads), [threads] {
      const std::int64_t n = 9, count = 2000;
      Ones<T> x(n, count);
      const StridedBatch<const T> a{{x.a.data(), n, n, n}, n * n, count};
      gemm_batched<T>(context(), Op::trans, Op::none, one<T>, a, a, zero<T>,
                      {{x.c.data(), n, n, n}, n * n, count}, {.threads = threads});
      return x.is(9);
    });
  add("gemm_batched, interleaved", [] {
    const std::int64_t n = 5, count = 64;
    Ones<T> x(n, count);
    const InterleavedBatch<const T> a{x.a.data(), n, n, n, count, count};
    gemm_batched<T>(context(), Op::none, Op::none, one<T>, a, a, zero<T>,
                    {x.c.data(), n, n, n, count, count});
    return x.is(5);
  });
  add("gemm_batch_reduce", [] {
    const std::int64_t n = 6, count = 10;
    Ones<T> x(n, count);
    const StridedBatch<const T> a{{x.a.data(), n, n, n}, n * n, count};
    gemm_batch_reduce<T>(context(), Op::none, Op::none, one<T>, a, a, zero<T>, {x.c.data(), n, n, n});
    return x.c.front() == T(60);
  });
  add("gemm_grouped", [] {
    const std::int64_t n = 6, count = 10;
    Ones<T> x(n, count);
    std::vector<const T*> a;
    std::vector<T*> c;
    for (std::int64_t i = 0; i < count; ++i)
      a.push_back(&x.a[std::size_t(i * n * n)]), c.push_back(&x.c[std::size_t(i * n * n)]);
    const GemmGroup<T> group{Op::none, Op::none, n, n,       n,        one<T>, a.data(),
                             n,        a.data(), n, zero<T>, c.data(), n,      count};
    gemm_grouped<T>(context(), std::span(&group, 1));
    return x.is(6);
  });
  add("plan and run", [] {
    Ones<T> x(12, 1);
    const GemmPlan made =
        plan(context(),
             GemmProblem{.dtype = dtype_of<T>, .m = 12, .n = 12, .k = 12, .lda = 12, .ldb = 12, .ldc = 12});
    made.run<T>(one<T>, x.a.data(), x.b.data(), zero<T>, x.c.data());
    return x.is(12) && !made.explain().empty();
  });
  add("lu_factor and lu_solve", [] {
    std::vector<T> a{T(2), T(0), T(0), T(2)}, b{T(2), T(4)};
    std::array<std::int64_t, 2> pivots{};
    lu_factor<T>(context(), {a.data(), 2, 2, 2}, pivots);
    lu_solve<T>(context(), Op::none, {a.data(), 2, 2, 2}, pivots, {b.data(), 2, 1, 2});
    return b[0] == T(1) && b[1] == T(2);
  });
}

template <class T>
constexpr tilewright_dtype c_dtype = static_cast<tilewright_dtype>(dtype_of<T>);

template <class T>
void add_c_lists(std::vector<NamedCall>& calls) {
  const auto add = [&](const std::string& name, std::function<bool()> run) {
    calls.push_back({std::string(Names<T>::of_type) + " tilewright_" + name, std::move(run)});
  };
  add("gemm_stack", [] {
    const std::int64_t n = 6, count = 10;
    Ones<T> x(n, count);
    std::array<tilewright_stack_offsets, 10> offsets{};
    for (std::int64_t i = 0; i < count; ++i) offsets[std::size_t(i)] = {i * n * n, i * n * n, 0};
    const tilewright_stack stack{
        TILEWRIGHT_NONE, TILEWRIGHT_NONE, n,    n, n, &one<T>, x.a.data(), n, x.b.data(), n, x.c.data(), n,
        offsets.data(),  nullptr,         count};
    return tilewright_gemm_stack(c_context(), c_dtype<T>, &stack, 1, &zero<T>, nullptr) == TILEWRIGHT_OK &&
           x.c.front() == T(60);
  });
  add("run_chain", [] {
    const std::int64_t n = 6, count = 12;
    Ones<T> x(n, count);
    const std::string problem = to_string(packed(
        {.dtype = dtype_of<T>, .m = n, .n = n, .k = n, .layout = Layout::strided, .batch_count = count}));
    tilewright_plan* made = nullptr;
    if (tilewright_plan_create(c_context(), problem.c_str(), nullptr, &made) != TILEWRIGHT_OK) return false;
    const tilewright_chain_pass pass{made, &one<T>, x.a.data(), x.b.data(), &zero<T>, x.c.data(), 0, 0, 0};
    const bool ran = tilewright_run_chain(c_context(), count, &pass, 1, nullptr) == TILEWRIGHT_OK;
    tilewright_plan_destroy(made);
    return ran && x.is(n);
  });
}

template <class T>
void add_c(std::vector<NamedCall>& calls) {
  const auto add = [&](const std::string& name, std::function<bool()> run) {
    calls.push_back({std::string(Names<T>::of_type) + " tilewright_" + name, std::move(run)});
  };
  for (const std::int64_t n : {1, 64, 100})
    add("gemm " + std::to_string(n), [n] {
      Ones<T> x(n, 1);
      return tilewright_gemm(c_context(), c_dtype<T>, TILEWRIGHT_TRANS, TILEWRIGHT_NONE, n, n, n, &one<T>,
                             x.a.data(), n, x.b.data(), n, &zero<T>, x.c.data(), n,
                             nullptr) == TILEWRIGHT_OK &&
             x.is(double(n));
    });
  add("gemm_strided_batched", [] {
    const std::int64_t n = 9, count = 2000;
    Ones<T> x(n, count);
    return tilewright_gemm_strided_batched(c_context(), c_dtype<T>, TILEWRIGHT_NONE, TILEWRIGHT_NONE, n, n, n,
                                           &one<T>, x.a.data(), n, n * n, x.b.data(), n, n * n, &zero<T>,
                                           x.c.data(), n, n * n, count, nullptr, TILEWRIGHT_INFO_NONE,
                                           nullptr) == TILEWRIGHT_OK &&
           x.is(9);
  });
  add("gemm that is refused", [] {
    Ones<T> x(4, 1);
    return tilewright_gemm(c_context(), c_dtype<T>, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 4, 4, 4, &one<T>,
                           x.a.data(), 3, x.b.data(), 4, &zero<T>, x.c.data(), 4,
                           nullptr) == TILEWRIGHT_INVALID_ARGUMENT &&
           x.is(1) && std::string(tilewright_last_error(c_context())).find("lda") != std::string::npos;
  });
  add("lu_factor", [] {
    std::vector<T> a{T(2), T(0), T(0), T(2)};
    std::array<std::int64_t, 2> pivots{};
    std::int64_t info = -1;
    return tilewright_lu_factor(c_context(), c_dtype<T>, 2, 2, a.data(), 2, pivots.data(), &info, nullptr) ==
               TILEWRIGHT_OK &&
           info == 0 && a[3] == T(2);
  });
}

}  // namespace

std::vector<NamedCall> all_calls() {
  std::vector<NamedCall> calls;
  const auto add_type = [&]<class T>(T) {
    add_blas<T>(calls);
    add_systems<T>(calls);
    add_c_blas<T>(calls);
    add_cpp<T>(calls);
    add_cpp_batches<T>(calls);
    add_c<T>(calls);
    add_c_lists<T>(calls);
  };
  add_type(float());
  add_type(double());
  add_type(std::complex<float>());
  add_type(std::complex<double>());
  add_herk<std::complex<float>, float>(calls, "cherk_ ", cherk_);
  add_herk<std::complex<double>, double>(calls, "zherk_ ", zherk_);
  calls.push_back({"Context", [] { return !Context().cpu().empty(); }});
  calls.push_back(
      {"explain", [] { return explain(context(), parse_problem("gemm:f64:nn:m=8,n=8,k=8")).size() > 100; }});
  calls.push_back({"prepare", [] {
                     const GemmProblem problem = parse_problem("gemm:f64:nn:m=9,n=8,k=8");
                     prepare(context(), std::span(&problem, 1));
                     return true;
                   }});
  calls.push_back({"tilewright_plan_create", [] {
                     tilewright_plan* plan = nullptr;
                     const bool made = tilewright_plan_create(c_context(), "gemm:f64:nn:m=8,n=8,k=8", nullptr,
                                                              &plan) == TILEWRIGHT_OK;
                     tilewright_plan_destroy(plan);
                     return made;
                   }});
  return calls;
}
