// The C interface: batched factorizations, systems, inverses, determinants, eigenvalues and singular values
// in host memory.
#include "golden/c_calls.hpp"

namespace tilewright::golden {
namespace {

constexpr std::int64_t order = 3, sides = 2, problems = 4;

// Diagonal matrices, whose factors and inverses are found without rounding.
struct CBatch {
  static constexpr std::size_t room = 256;
  std::vector<double> a = std::vector<double>(room), b = std::vector<double>(room, 1.0);
  std::vector<double> det = std::vector<double>(16, -7.0);
  std::vector<int> pivots = std::vector<int>(32, 1), codes = std::vector<int>(16, 99);
  tilewright_context* context = handle();
  tilewright_dtype dtype = TILEWRIGHT_F64;
  tilewright_uplo uplo = TILEWRIGHT_LOWER;
  tilewright_side side = TILEWRIGHT_LEFT;
  tilewright_op op = TILEWRIGHT_NONE;
  tilewright_diag diag = TILEWRIGHT_NON_UNIT;
  tilewright_matrix_batch of_a{}, of_b{};
  const tilewright_matrix_batch *at_a = &of_a, *at_b = &of_b;
  tilewright_factor_options options{};
  tilewright_info_mode info_mode = TILEWRIGHT_INFO_ALL;
  int *info = codes.data(), *at_pivots = pivots.data();
  void* at_det = det.data();
  double scale = 1;
  const void* alpha = &scale;

  CBatch() {
    for (std::int64_t p = 0; p < problems; ++p)
      for (std::int64_t i = 0; i < order; ++i) {
        a[std::size_t((p * order + i) * order + i)] = 2;
        pivots[std::size_t(p * order + i)] = int(i + 1);
      }
    of_a.data = a.data(), of_a.count = problems, of_a.rows = of_a.cols = order;
    of_a.matrix_stride = order * order;
    of_b = of_a, of_b.data = b.data(), of_b.cols = sides, of_b.matrix_stride = order * sides;
  }
  CBatch(const CBatch&) = delete;
  CBatch& operator=(const CBatch&) = delete;
  const char* message() const { return tilewright_last_error(context); }
};

struct CPotrf : CBatch {
  std::vector<Area> areas() const { return {output("a", a), output("info", codes)}; }
  tilewright_status call() {
    return tilewright_potrf_batched(context, dtype, uplo, at_a, &options, info_mode, info);
  }
};
struct CGetrf : CBatch {
  std::vector<Area> areas() const {
    return {output("a", a), output("pivots", pivots), output("info", codes)};
  }
  tilewright_status call() {
    return tilewright_getrf_batched(context, dtype, at_a, at_pivots, &options, info_mode, info);
  }
};
struct CGetrs : CBatch {
  std::vector<Area> areas() const { return {input("a", a), input("pivots", pivots), output("b", b)}; }
  tilewright_status call() {
    return tilewright_getrs_batched(context, dtype, op, at_a, at_pivots, at_b, &options);
  }
};
struct CGesv : CBatch {
  std::vector<Area> areas() const { return {input("a", a), output("b", b), output("info", codes)}; }
  tilewright_status call() {
    return tilewright_gesv_batched(context, dtype, at_a, at_b, &options, info_mode, info);
  }
};
struct CDet : CBatch {
  std::vector<Area> areas() const { return {input("a", a), output("det", det)}; }
  tilewright_status call() { return tilewright_det_batched(context, dtype, at_a, at_det, &options); }
};
struct CTrsm : CBatch {
  std::vector<Area> areas() const { return {input("a", a), output("b", b)}; }
  tilewright_status call() {
    return tilewright_trsm_batched(context, dtype, side, uplo, op, diag, alpha, at_a, at_b, &options);
  }
};
// tau, eigenvalues and singular values lie where determinants do.
struct CGeqrf : CBatch {
  std::vector<Area> areas() const { return {output("a", a), output("tau", det)}; }
  tilewright_status call() { return tilewright_geqrf_batched(context, dtype, at_a, at_det, &options); }
};
struct COrmqr : CBatch {
  std::vector<Area> areas() const { return {input("a", a), input("tau", det), output("b", b)}; }
  tilewright_status call() {
    return tilewright_ormqr_batched(context, dtype, op, at_a, at_det, at_b, &options);
  }
};
struct CGels : CBatch {
  std::vector<Area> areas() const { return {input("a", a), output("b", b), output("info", codes)}; }
  tilewright_status call() {
    return tilewright_gels_batched(context, dtype, at_a, at_b, &options, info_mode, info);
  }
};
struct CSyev : CBatch {
  CSyev() { of_b.cols = order, of_b.matrix_stride = order * order; }
  std::vector<Area> areas() const {
    return {input("a", a), output("values", det), output("vectors", b), output("info", codes)};
  }
  tilewright_status call() {
    return tilewright_syev_batched(context, dtype, uplo, at_a, at_det, at_b, &options, info_mode, info);
  }
};
struct CGesvd : CBatch {
  std::vector<double> v = std::vector<double>(room, 1.0);
  tilewright_matrix_batch of_v{};
  const tilewright_matrix_batch* at_v = &of_v;
  CGesvd() {
    of_b.cols = order, of_b.matrix_stride = order * order;
    of_v = of_b, of_v.data = v.data();
  }
  std::vector<Area> areas() const {
    return {input("a", a), output("values", det), output("u", b), output("vh", v), output("info", codes)};
  }
  tilewright_status call() {
    return tilewright_gesvd_batched(context, dtype, at_a, at_det, at_b, at_v, &options, info_mode, info);
  }
};

// The faults of one batch; `get` returns it.
template <class X, class Get>
void spoil_c_batch(const Battery<X>& t, const std::string& name, Get get) {
  t.run(name + ".struct_size=0", [get](X& x) { get(x).struct_size = 0; });
  for (const int value : {-1, 7})
    t.run(name + ".layout=" + std::to_string(value), [get, value](X& x) { get(x).layout = value; });
  t.run(name + ".data=null", [get](X& x) { get(x).data = nullptr; });
  t.run(name + ".layout=pointer", [get](X& x) { get(x).layout = TILEWRIGHT_BATCH_POINTER; });
  t.run(name + ".layout=interleaved,row_stride=2",
        [get](X& x) { get(x).layout = TILEWRIGHT_BATCH_INTERLEAVED, get(x).row_stride = 2; });
  t.run(name + ".layout=interleaved,block=-1",
        [get](X& x) { get(x).layout = TILEWRIGHT_BATCH_INTERLEAVED, get(x).block = -1; });
  for (const std::int64_t value : {-1, 0, 2}) {
    const std::string text = "=" + std::to_string(value);
    t.run(name + ".count" + text, [get, value](X& x) { get(x).count = value; });
    t.run(name + ".rows" + text, [get, value](X& x) { get(x).rows = value; });
    t.run(name + ".col_stride" + text, [get, value](X& x) { get(x).col_stride = value; });
  }
  t.run(name + ".matrix_stride=0", [get](X& x) { get(x).matrix_stride = 0; });
}

template <class X>
void spoil_c_batches(const Battery<X>& t) {
  spoil_c_kind(t);
  t.null("a", AT(x.at_a));
  spoil_c_batch(
      t, "a", [](X & x) -> auto& { return x.of_a; });
  t.run("pivoting=7", [](X& x) { x.options.pivoting = 7; });
  t.run("threads=-1", [](X& x) { x.options.threads = -1; });
  t.run("candidate=x", [](X& x) { x.options.candidate = "x"; });
  t.run("options.struct_size=0", [](X& x) { x.options.struct_size = 0; });
}

template <class X>
void spoil_c_sides_of(const Battery<X>& t) {
  t.null("b", AT(x.at_b));
  spoil_c_batch(
      t, "b", [](X & x) -> auto& { return x.of_b; });
}

void tell_c_decompositions() {
  const Battery<CGeqrf> f("tilewright_geqrf_batched");
  f.null("a", AT(x.at_a));
  f.null("tau", AT(x.at_det));
  const Battery<COrmqr> m("tilewright_ormqr_batched");
  m.no_enumerator("op", AT(x.op));
  m.null("tau", AT(x.at_det));
  m.run("dtype=c128,op=t", [](COrmqr& x) { x.dtype = TILEWRIGHT_C128, x.op = TILEWRIGHT_TRANS; });
  m.run("b.rows=2", [](COrmqr& x) { x.of_b.rows = 2; });
  const Battery<CGels> l("tilewright_gels_batched");
  spoil_c_info(l);
  l.null("b", AT(x.at_b));
  l.run("a.rows=2", [](CGels& x) { x.of_a.rows = 2; });
  const Battery<CSyev> e("tilewright_syev_batched");
  spoil_c_info(e);
  e.no_enumerator("uplo", AT(x.uplo));
  e.null("values", AT(x.at_det));
  e.run("vectors=null", [](CSyev& x) { x.at_b = nullptr; });
  e.run("vectors.cols=2", [](CSyev& x) { x.of_b.cols = 2; });
  e.run("a.cols=2", [](CSyev& x) { x.of_a.cols = 2; });
  const Battery<CGesvd> v("tilewright_gesvd_batched");
  spoil_c_batches(v);
  v.null("values", AT(x.at_det));
  v.run("u=null", [](CGesvd& x) { x.at_b = nullptr; });
  v.run("vh=null", [](CGesvd& x) { x.at_v = nullptr; });
  v.run("u=null,vh=null", [](CGesvd& x) { x.at_b = x.at_v = nullptr; });
  v.run("u.cols=2", [](CGesvd& x) { x.of_b.cols = 2; });
  v.run("vh.rows=2", [](CGesvd& x) { x.of_v.rows = 2; });
}

}  // namespace

void tell_c_factor() {
  const Battery<CPotrf> p("tilewright_potrf_batched");
  spoil_c_batches(p);
  spoil_c_info(p);
  p.no_enumerator("uplo", AT(x.uplo));
  p.run("a=0", [](CPotrf& x) { x.a[0] = 0; });
  const Battery<CGetrf> f("tilewright_getrf_batched");
  spoil_c_batches(f);
  f.null("pivots", AT(x.at_pivots));
  f.run("pivoting=none,pivots=null",
        [](CGetrf& x) { x.options.pivoting = TILEWRIGHT_PIVOTING_NONE, x.at_pivots = nullptr; });
  const Battery<CGetrs> s("tilewright_getrs_batched");
  spoil_c_sides_of(s);
  s.no_enumerator("op", AT(x.op));
  s.null("pivots", AT(x.at_pivots));
  s.run("pivots[4]=4", [](CGetrs& x) { x.pivots[4] = order + 1; });
  const Battery<CGesv> v("tilewright_gesv_batched");
  spoil_c_batches(v);
  spoil_c_sides_of(v);
  const Battery<CDet> d("tilewright_det_batched");
  d.null("det", AT(x.at_det));
  d.run("a.cols=2", [](CDet& x) { x.of_a.cols = 2; });
  const Battery<CTrsm> t("tilewright_trsm_batched");
  t.no_enumerator("side", AT(x.side));
  t.no_enumerator("uplo", AT(x.uplo));
  t.no_enumerator("op", AT(x.op));
  t.no_enumerator("diag", AT(x.diag));
  t.null("alpha", AT(x.alpha));
  t.run("side=right", [](CTrsm& x) { x.side = TILEWRIGHT_RIGHT; });
  tell_c_decompositions();
}

}  // namespace tilewright::golden
