// Prints what libtilewright_blas tells of bad arguments, a line for each call: the routine and position that
// xerbla hears, info, or the codes of the Batched BLAS standard. tests/golden/messages_test.py compares them
// with the recorded ones; no other BLAS may be found, for calls that it has would be told by it.
#include "golden/blas_names.hpp"
#include "golden/operands.hpp"

namespace {

std::string told;  // by the call

void take(const char* name, std::size_t length, int position) {
  std::string routine = std::string(name, length).c_str();
  while (!routine.empty() && routine.back() == ' ') routine.pop_back();
  told += " " + routine + " " + std::to_string(position);
}

}  // namespace

extern "C" {
// The routines that the library finds in the program.
void xerbla_(const char* name, const int* info, std::size_t length) { take(name, length, *info); }
void xerbla_64_(const char* name, const std::int64_t* info, std::size_t length) {
  take(name, length, int(*info));
}
void cblas_xerbla(int position, const char* name, const char*, ...) {
  take(name, std::string(name).size(), position);
}
void cblas_xerbla64_(std::int64_t position, const char* name, const char*, ...) {
  take(name, std::string(name).size(), int(position));
}
}

namespace tilewright::golden {
namespace {

constexpr int by_rows = 101, by_columns = 102, as_it_is = 111, upper = 121;

// Returns the report of the call, which is a refusal.
template <class F>
Outcome heard(F f) {
  told.clear();
  f();
  return told.empty() ? Outcome{false, "accepted"} : Outcome{true, "told" + told};
}

// Arguments of all products; what a routine does not take is not spoiled.
struct Product : Operands {
  char letter_a = 'N', letter_b = 'N', triangle_letter = 'U';
  int layout = by_columns, op_a = as_it_is, op_b = as_it_is, triangle = upper;
  int rows = int(m), cols = int(n), depth = int(k), lda = int(m), ldb = int(k), ldc = int(m);
  int stride_a = int(m * k), stride_b = int(k * n), stride_c = int(m * n), count = int(batch);
  const double *at_a = a.data(), *at_b = b.data();
  double* at_c = c.data();
};

struct FortranGemm : Product {
  Outcome call() {
    return heard([&] {
      dgemm_(&letter_a, &letter_b, &rows, &cols, &depth, alphas.data(), at_a, &lda, at_b, &ldb, betas.data(),
             at_c, &ldc);
    });
  }
};
struct FortranGemm64 : Product {
  Outcome call() {
    const std::int64_t wide_m = rows, wide_n = cols, wide_k = depth, wide_a = lda, wide_b = ldb, wide_c = ldc;
    return heard([&] {
      dgemm_64_(&letter_a, &letter_b, &wide_m, &wide_n, &wide_k, alphas.data(), at_a, &wide_a, at_b, &wide_b,
                betas.data(), at_c, &wide_c);
    });
  }
};
struct CblasGemm : Product {
  Outcome call() {
    return heard(
        [&] { cblas_dgemm(layout, op_a, op_b, rows, cols, depth, 1, at_a, lda, at_b, ldb, 0, at_c, ldc); });
  }
};
struct FortranStrided : Product {
  Outcome call() {
    return heard([&] {
      dgemm_batch_strided_(&letter_a, &letter_b, &rows, &cols, &depth, alphas.data(), at_a, &lda, &stride_a,
                           at_b, &ldb, &stride_b, betas.data(), at_c, &ldc, &stride_c, &count);
    });
  }
};
struct CblasStrided : Product {
  Outcome call() {
    return heard([&] {
      cblas_dgemm_batch_strided(layout, op_a, op_b, rows, cols, depth, 1, at_a, lda, stride_a, at_b, ldb,
                                stride_b, 0, at_c, ldc, stride_c, count);
    });
  }
};
// C is 3 x 3 here, and A and B are 3 x 4 and 4 x 3.
struct Triangle : Product {
  Triangle() { cols = rows; }
};
struct FortranSyrk : Triangle {
  Outcome call() {
    return heard([&] {
      dsyrk_(&triangle_letter, &letter_a, &rows, &depth, alphas.data(), at_a, &lda, betas.data(), at_c, &ldc);
    });
  }
};
struct CblasSyrk : Triangle {
  Outcome call() {
    return heard([&] { cblas_dsyrk(layout, triangle, op_a, rows, depth, 1, at_a, lda, 0, at_c, ldc); });
  }
};
struct FortranHerk : Triangle {
  Outcome call() {
    return heard([&] {
      zherk_(&triangle_letter, &letter_a, &rows, &depth, alphas.data(),
             reinterpret_cast<const Complexes*>(at_a), &lda, betas.data(), reinterpret_cast<Complexes*>(at_c),
             &ldc);
    });
  }
};
struct CblasHerk : Triangle {
  Outcome call() {
    return heard([&] { cblas_zherk(layout, triangle, op_a, rows, depth, 1, at_a, lda, 0, at_c, ldc); });
  }
};
struct FortranGemmt : Triangle {
  Outcome call() {
    return heard([&] {
      dgemmt_(&triangle_letter, &letter_a, &letter_b, &rows, &depth, alphas.data(), at_a, &lda, at_b, &ldb,
              betas.data(), at_c, &ldc);
    });
  }
};
struct CblasGemmt : Triangle {
  Outcome call() {
    return heard([&] {
      cblas_dgemmt(layout, triangle, op_a, op_b, rows, depth, 1, at_a, lda, at_b, ldb, 0, at_c, ldc);
    });
  }
};
// By rows leading dimensions are columns.
template <class X>
struct ByRows : X {
  ByRows() {
    X::layout = by_rows;
    X::lda = int(k), X::ldb = X::cols, X::ldc = X::cols;
  }
};

// A group of two problems and one of one; the second is spoiled.
struct Groups : Product {
  char letters_a[2] = {'N', 'N'}, letters_b[2] = {'N', 'N'};
  int ops_a[2] = {as_it_is, as_it_is}, ops_b[2] = {as_it_is, as_it_is};
  int all_m[2] = {int(m), int(m)}, all_n[2] = {int(n), int(n)}, all_k[2] = {int(k), int(k)};
  int all_lda[2] = {int(m), int(m)}, all_ldb[2] = {int(k), int(k)}, all_ldc[2] = {int(m), int(m)};
  int sizes[2] = {2, 1}, group_count = 2;
  int codes[batch + 1] = {0, 99, 99, 99};
};
struct FortranGroups : Groups {
  Outcome call() {
    return heard([&] {
      dgemm_batch_(letters_a, letters_b, all_m, all_n, all_k, alphas.data(), a_pointers, all_lda, b_pointers,
                   all_ldb, betas.data(), c_pointers, all_ldc, &group_count, sizes);
    });
  }
};
struct CblasGroups : Groups {
  Outcome call() {
    return heard([&] {
      cblas_dgemm_batch(layout, ops_a, ops_b, all_m, all_n, all_k, alphas.data(), a_pointers, all_lda,
                        b_pointers, all_ldb, betas.data(), c_pointers, all_ldc, group_count, sizes);
    });
  }
};
// The codes tell, and problems that have one are left as they are.
struct Standard : Groups {
  template <class F>
  Outcome coded(F f) {
    Outcome outcome = heard(f);
    outcome.text = "codes";
    for (const int code : codes) outcome.text += " " + std::to_string(code);
    outcome.text += ", " + written();
    return outcome;
  }
};
struct StandardGroups : Standard {
  Outcome call() {
    return coded([&] {
      blas_dgemm_batch(group_count, sizes, layout, ops_a, ops_b, all_m, all_n, all_k, alphas.data(),
                       a_pointers, all_lda, b_pointers, all_ldb, betas.data(), c_pointers, all_ldc, codes);
    });
  }
};
struct StandardFixed : Standard {
  Outcome call() {
    return coded([&] {
      blas_dgemm_batchf(count, layout, op_a, op_b, rows, cols, depth, 1, a_pointers, lda, b_pointers, ldb, 0,
                        c_pointers, ldc, codes);
    });
  }
};

// A system of three unknowns and two right sides.
struct System {
  std::vector<double> a = std::vector<double>(64), b = std::vector<double>(64, 1.0);
  std::vector<int> pivots{1, 2, 3, 4, 5, 6, 7, 8};
  char op = 'N';
  int layout = by_columns, m = 3, n = 3, nrhs = 2, lda = 3, ldb = 3, info = 0;
  System() {
    for (std::size_t i = 0; i < 3; ++i) a[i * 3 + i] = 2;
  }
  std::vector<Area> areas() const { return {output("a", a), output("b", b), output("pivots", pivots)}; }
  template <class F>
  Outcome informed(F f) {
    Outcome outcome = heard(f);
    if (info != 0)
      outcome = {info < 0, (told.empty() ? "" : outcome.text + ", ") + "info " + std::to_string(info)};
    return outcome;
  }
};
struct Getrf : System {
  Outcome call() {
    return informed([&] { dgetrf_(&m, &n, a.data(), &lda, pivots.data(), &info); });
  }
};
struct Getrs : System {
  Outcome call() {
    return informed([&] { dgetrs_(&op, &n, &nrhs, a.data(), &lda, pivots.data(), b.data(), &ldb, &info); });
  }
};
struct Gesv : System {
  Outcome call() {
    return informed([&] { dgesv_(&n, &nrhs, a.data(), &lda, pivots.data(), b.data(), &ldb, &info); });
  }
};
struct LapackeGetrf : System {
  Outcome call() {
    return informed([&] { info = LAPACKE_dgetrf(layout, m, n, a.data(), lda, pivots.data()); });
  }
};
struct LapackeGetrs : System {
  Outcome call() {
    return informed(
        [&] { info = LAPACKE_dgetrs(layout, op, n, nrhs, a.data(), lda, pivots.data(), b.data(), ldb); });
  }
};
struct LapackeGesv : System {
  Outcome call() {
    return informed(
        [&] { info = LAPACKE_dgesv(layout, n, nrhs, a.data(), lda, pivots.data(), b.data(), ldb); });
  }
};

// Each of the numbers -1, 0, 1 and one too few that is below `least`.
template <class X, class Get>
void too_small(const Battery<X>& t, const std::string& name, int least, Get get) {
  t.small_numbers(name, least, get);
}

template <class X>
void spoil_sizes(const Battery<X>& t, bool has_n = true) {
  const X sample;
  too_small(t, has_n ? "m" : "n", 0, AT(x.rows));
  if (has_n) too_small(t, "n", 0, AT(x.cols));
  too_small(t, "k", 0, AT(x.depth));
  too_small(t, "lda", sample.lda, AT(x.lda));
  if (has_n) too_small(t, "ldb", sample.ldb, AT(x.ldb));
  too_small(t, "ldc", sample.ldc, AT(x.ldc));
}

template <class X>
void spoil_letters(const Battery<X>& t, bool has_b) {
  for (const char letter : {'X', '\0'}) {
    const std::string text = letter == 'X' ? "X" : "0";
    t.run("transa=" + text, [letter](X& x) { x.letter_a = letter; });
    if (has_b) t.run("transb=" + text, [letter](X& x) { x.letter_b = letter; });
  }
}

template <class X>
void spoil_numbers(const Battery<X>& t, bool has_b) {
  for (const int value : {0, 7, 100, 103})
    t.run("layout=" + std::to_string(value), [value](X& x) { x.layout = value; });
  for (const int value : {0, 7, 110, 114}) {
    t.run("transa=" + std::to_string(value), [value](X& x) { x.op_a = value; });
    if (has_b) t.run("transb=" + std::to_string(value), [value](X& x) { x.op_b = value; });
  }
}

template <class X>
void spoil_strides(const Battery<X>& t) {
  for (const int value : {-1, 0}) {
    t.run("stridea=" + std::to_string(value), [value](X& x) { x.stride_a = value; });
    t.run("strideb=" + std::to_string(value), [value](X& x) { x.stride_b = value; });
  }
  for (const int value : {-1, 0, 5})
    t.run("stridec=" + std::to_string(value), [value](X& x) { x.stride_c = value; });
  too_small(t, "batch_size", 0, AT(x.count));
  t.null("a", AT(x.at_a));
  t.null("b", AT(x.at_b));
  t.null("c", AT(x.at_c));
}

template <class X>
Battery<X> tell_fortran(const char* name) {
  const Battery<X> t(name);
  spoil_letters(t, true);
  spoil_sizes(t);
  return t;
}
template <class X>
Battery<X> tell_cblas(const char* name) {
  const Battery<X> t(name);
  spoil_numbers(t, true);
  spoil_sizes(t);
  return t;
}

void tell_gemm() {
  tell_fortran<FortranGemm>("dgemm_");
  tell_fortran<FortranGemm64>("dgemm_64_");
  tell_cblas<CblasGemm>("cblas_dgemm");
  tell_cblas<ByRows<CblasGemm>>("cblas_dgemm(rows)");
  spoil_strides(tell_fortran<FortranStrided>("dgemm_batch_strided_"));
  spoil_strides(tell_cblas<CblasStrided>("cblas_dgemm_batch_strided"));
  spoil_strides(tell_cblas<ByRows<CblasStrided>>("cblas_dgemm_batch_strided(rows)"));
}

template <class X>
void tell_triangle(const char* name, bool is_fortran, bool has_b) {
  const Battery<X> t(name);
  if (is_fortran) {
    t.run("uplo=X", [](X& x) { x.triangle_letter = 'X'; });
    spoil_letters(t, has_b);
  } else {
    t.run("uplo=7", [](X& x) { x.triangle = 7; });
    spoil_numbers(t, has_b);
  }
  spoil_sizes(t, false);
  if (has_b) too_small(t, "ldb", X().ldb, AT(x.ldb));
}

void tell_triangles() {
  tell_triangle<FortranSyrk>("dsyrk_", true, false);
  tell_triangle<CblasSyrk>("cblas_dsyrk", false, false);
  tell_triangle<ByRows<CblasSyrk>>("cblas_dsyrk(rows)", false, false);
  tell_triangle<FortranHerk>("zherk_", true, false);
  tell_triangle<CblasHerk>("cblas_zherk", false, false);
  tell_triangle<ByRows<CblasHerk>>("cblas_zherk(rows)", false, false);
  tell_triangle<FortranGemmt>("dgemmt_", true, true);
  tell_triangle<CblasGemmt>("cblas_dgemmt", false, true);
  tell_triangle<ByRows<CblasGemmt>>("cblas_dgemmt(rows)", false, true);
}

template <class X>
void tell_groups(const char* name, bool is_fortran) {
  const Battery<X> t(name);
  if (is_fortran) {
    t.run("transa[1]=X", [](X& x) { x.letters_a[1] = 'X'; });
    t.run("transb[1]=X", [](X& x) { x.letters_b[1] = 'X'; });
  } else {
    for (const int value : {0, 100})
      t.run("layout=" + std::to_string(value), [value](X& x) { x.layout = value; });
    t.run("transa[1]=7", [](X& x) { x.ops_a[1] = 7; });
    t.run("transb[1]=7", [](X& x) { x.ops_b[1] = 7; });
  }
  too_small(t, "m[1]", 0, AT(x.all_m[1]));
  too_small(t, "n[1]", 0, AT(x.all_n[1]));
  too_small(t, "k[1]", 0, AT(x.all_k[1]));
  too_small(t, "lda[1]", int(m), AT(x.all_lda[1]));
  too_small(t, "ldb[1]", int(k), AT(x.all_ldb[1]));
  too_small(t, "ldc[1]", int(m), AT(x.all_ldc[1]));
  too_small(t, "group_count", 0, AT(x.group_count));
  too_small(t, "group_size[1]", 0, AT(x.sizes[1]));
  t.run("a[2]=null", [](X& x) { x.a_pointers[2] = nullptr; });
  t.run("b[2]=null", [](X& x) { x.b_pointers[2] = nullptr; });
  t.run("c[2]=null", [](X& x) { x.c_pointers[2] = nullptr; });
}

void tell_standard() {
  const Battery<StandardFixed> t("blas_dgemm_batchf");
  spoil_numbers(t, true);
  spoil_sizes(t);
  too_small(t, "group_size", 0, AT(x.count));
  t.run("a[1]=null", [](StandardFixed& x) { x.a_pointers[1] = nullptr; });
  t.run("c[1]=null", [](StandardFixed& x) { x.c_pointers[1] = nullptr; });
  const Battery<StandardGroups> g("blas_dgemm_batch");
  for (const int mode : {-1, 1, 2, 3, 4}) {
    const std::string name = "info[0]=" + std::to_string(mode);
    g.run(name, [mode](StandardGroups& x) { x.codes[0] = mode; });
    g.run(name + ",m[1]=-1", [mode](StandardGroups& x) { x.codes[0] = mode, x.all_m[1] = -1; });
    g.run(name + ",layout=7", [mode](StandardGroups& x) { x.codes[0] = mode, x.layout = 7; });
    g.run(name + ",group_count=-1", [mode](StandardGroups& x) { x.codes[0] = mode, x.group_count = -1; });
    g.run(name + ",group_size[1]=-1", [mode](StandardGroups& x) { x.codes[0] = mode, x.sizes[1] = -1; });
  }
  g.run("rows,transa[1]=7", [](StandardGroups& x) { x.layout = by_rows, x.ops_a[1] = 7; });
  g.run("rows,m[1]=-1", [](StandardGroups& x) { x.layout = by_rows, x.all_m[1] = -1; });
}

template <class X>
void tell_factor(const char* name, bool is_lapacke) {
  const Battery<X> t(name);
  if (is_lapacke) t.run("layout=7", [](X& x) { x.layout = 7; });
  too_small(t, "m", 0, AT(x.m));
  too_small(t, "n", 0, AT(x.n));
  too_small(t, "lda", 3, AT(x.lda));
  if (is_lapacke) t.run("rows,lda=2", [](X& x) { x.layout = by_rows, x.lda = 2; });
  if (is_lapacke) t.run("a=nan", [](X& x) { x.a[4] = std::nan(""); });
}

template <class X>
void tell_system(const char* name, bool is_lapacke, bool has_op) {
  const Battery<X> t(name);
  if (is_lapacke) t.run("layout=7", [](X& x) { x.layout = 7; });
  if (has_op) t.run("trans=X", [](X& x) { x.op = 'X'; });
  too_small(t, "n", 0, AT(x.n));
  too_small(t, "nrhs", 0, AT(x.nrhs));
  too_small(t, "lda", 3, AT(x.lda));
  too_small(t, "ldb", 3, AT(x.ldb));
  if (!is_lapacke) return;
  t.run("rows,lda=2", [](X& x) { x.layout = by_rows, x.lda = 2; });
  t.run("rows,ldb=1", [](X& x) { x.layout = by_rows, x.ldb = 1; });
  t.run("a=nan", [](X& x) { x.a[4] = std::nan(""); });
  t.run("b=nan", [](X& x) { x.b[1] = std::nan(""); });
}

void tell_systems() {
  tell_factor<Getrf>("dgetrf_", false);
  tell_factor<LapackeGetrf>("LAPACKE_dgetrf", true);
  tell_system<Getrs>("dgetrs_", false, true);
  tell_system<LapackeGetrs>("LAPACKE_dgetrs", true, true);
  tell_system<Gesv>("dgesv_", false, false);
  tell_system<LapackeGesv>("LAPACKE_dgesv", true, false);
}

}  // namespace
}  // namespace tilewright::golden

int main() {
  using namespace tilewright::golden;
  begin_door("blas");
  tell_gemm();
  tell_triangles();
  tell_groups<FortranGroups>("dgemm_batch_", true);
  tell_groups<CblasGroups>("cblas_dgemm_batch", false);
  tell_groups<StandardGroups>("blas_dgemm_batch", false);
  tell_standard();
  tell_systems();
  return fault_count() > 0 ? 1 : 0;
}
