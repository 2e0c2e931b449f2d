// The C interface: LU factorizations and what they serve, in host memory and as plans on a GPU.
#include "golden/c_calls.hpp"
#include "tilewright/tilewright_multinode.h"

namespace tilewright::golden {
namespace {

constexpr std::int64_t order = 3, sides = 2;

struct CFactors {
  static constexpr std::size_t room = 128;
  std::vector<double> a = std::vector<double>(room), b = std::vector<double>(room, 1.0);
  std::vector<double> x = std::vector<double>(room, 1.0), errors = std::vector<double>(8, -7.0), matrix;
  std::vector<std::int64_t> pivots{1, 2, 3, 4, 5, 6, 7, 8}, infos{99};
  tilewright_context* context = handle();
  tilewright_dtype dtype = TILEWRIGHT_F64;
  tilewright_op op = TILEWRIGHT_NONE;
  std::int64_t m = order, n = order, nb = 1, nrhs = sides;
  std::int64_t lda = order, ldlu = order, ldb = order, ldx = order;
  void *at_a = a.data(), *at_b = b.data(), *at_x = x.data();
  std::int64_t *at_pivots = pivots.data(), *info = infos.data();
  double* at_errors = errors.data();
  tilewright_lu_options options{};

  CFactors() {
    for (std::int64_t i = 0; i < order; ++i) a[std::size_t(i * order + i)] = 2;
    matrix = a;
  }
  const char* message() const { return tilewright_last_error(context); }
};

struct CFactor : CFactors {
  std::vector<Area> areas() const {
    return {output("a", a), output("pivots", pivots), output("info", infos)};
  }
  tilewright_status call() {
    return tilewright_lu_factor(context, dtype, m, n, at_a, lda, at_pivots, info, &options);
  }
};
struct CCyclic : CFactor {
  tilewright_lu_team team{2, 1, [](void*, void*, std::int64_t, int) { return 0; }, nullptr};
  const tilewright_lu_team* at_team = &team;
  tilewright_status call() {
    return tilewright_lu_factor_cyclic(context, dtype, m, n, nb, at_a, lda, at_pivots, info, at_team,
                                       &options);
  }
};
struct CCanFactor : CCyclic {
  tilewright_status call() {
    return tilewright_lu_can_factor_cyclic(context, dtype, m, n, nb, at_team, &options);
  }
};
struct CSolve : CFactors {
  std::vector<Area> areas() const { return {input("a", a), input("pivots", pivots), output("b", b)}; }
  tilewright_status call() {
    return tilewright_lu_solve(context, dtype, op, n, nrhs, at_a, lda, at_pivots, at_b, ldb, &options);
  }
};
struct CInverse : CFactors {
  std::vector<Area> areas() const { return {output("a", a), input("pivots", pivots), output("info", infos)}; }
  tilewright_status call() {
    return tilewright_lu_inverse(context, dtype, n, at_a, lda, at_pivots, info, &options);
  }
};
struct CRefine : CFactors {
  void* at_matrix = matrix.data();
  std::vector<Area> areas() const {
    return {input("a", matrix), input("lu", a), input("b", b), output("x", x), output("errors", errors)};
  }
  tilewright_status call() {
    return tilewright_lu_refine(context, dtype, op, n, nrhs, at_matrix, lda, at_a, ldlu, at_pivots, at_b, ldb,
                                at_x, ldx, at_errors, &options);
  }
};

template <class X>
void spoil_c_factors(const Battery<X>& t, const char* name = "a") {
  t.run("context=null", [](X& x) { x.context = nullptr; });
  for (const int value : {-1, 7})
    t.run("dtype=" + std::to_string(value), [value](X& x) { x.dtype = c_enum<tilewright_dtype>(value); });
  t.numbers("n", 0, AT(x.n));
  t.numbers("lda", order, AT(x.lda));
  t.null(name, AT(x.at_a));
  t.null("pivots", AT(x.at_pivots));
}

template <class X>
void spoil_c_sides(const Battery<X>& t) {
  for (const int value : {-1, 7})
    t.run("op=" + std::to_string(value), [value](X& x) { x.op = c_enum<tilewright_op>(value); });
  t.numbers("nrhs", 0, AT(x.nrhs));
  t.numbers("ldb", order, AT(x.ldb));
  t.null("b", AT(x.at_b));
  t.run("pivots[1]=4", [](X& x) { x.pivots[1] = order + 1; });
}

template <class X>
void spoil_c_team(const Battery<X>& t) {
  t.numbers("m", 0, AT(x.m));
  t.numbers("nb", 1, AT(x.nb));
  t.null("team", AT(x.at_team));
  t.run("team.members=0", [](X& x) { x.team.members = 0; });
  t.run("team.own=2", [](X& x) { x.team.own = 2; });
  t.run("team.broadcast=null", [](X& x) { x.team.broadcast = nullptr; });
}

void tell_on_host() {
  const Battery<CFactor> t("tilewright_lu_factor");
  t.numbers("m", 0, AT(x.m));
  spoil_c_factors(t);
  t.null("info", AT(x.info));
  spoil_options(t, spoiled_c_lu_options());
  const Battery<CCyclic> y("tilewright_lu_factor_cyclic");
  spoil_c_factors(y);
  spoil_c_team(y);
  y.null("info", AT(x.info));
  const Battery<CCanFactor> w("tilewright_lu_can_factor_cyclic");
  spoil_c_team(w);
  const Battery<CSolve> s("tilewright_lu_solve");
  spoil_c_factors(s);
  spoil_c_sides(s);
  s.run("b=a", [](CSolve& x) { x.at_b = x.at_a; });
  spoil_options(s, spoiled_c_lu_options());
  const Battery<CInverse> v("tilewright_lu_inverse");
  spoil_c_factors(v);
  v.null("info", AT(x.info));
  v.run("pivots[1]=4", [](CInverse& x) { x.pivots[1] = order + 1; });
  spoil_options(v, spoiled_c_lu_options());
  const Battery<CRefine> r("tilewright_lu_refine");
  spoil_c_factors(r, "lu");
  spoil_c_sides(r);
  r.numbers("ldlu", order, AT(x.ldlu));
  r.numbers("ldx", order, AT(x.ldx));
  r.null("a", AT(x.at_matrix));
  r.null("x", AT(x.at_x));
  r.null("backward_errors", AT(x.at_errors));
  r.run("x=b", [](CRefine& x) { x.at_b = x.at_x; });
}

// Of what plans say the texts are those of the C++ interface: here are null handles and their own arguments.
struct CPlanLu : CFactors {
  tilewright_lu_plan* made = nullptr;
  tilewright_lu_plan** plan = &made;
  int steps = 2;
  std::vector<Area> areas() const { return {}; }
};
struct CPlanFactor : CPlanLu {
  tilewright_status call() { return tilewright_lu_plan_create(context, dtype, m, n, lda, &options, plan); }
};
struct CPlanSolve : CPlanLu {
  tilewright_status call() {
    return tilewright_lu_solve_plan_create(context, dtype, op, n, nrhs, lda, ldb, &options, plan);
  }
};
struct CPlanInverse : CPlanLu {
  tilewright_status call() {
    return tilewright_lu_inverse_plan_create(context, dtype, n, lda, ldx, &options, plan);
  }
};
struct CPlanRefine : CPlanLu {
  tilewright_status call() {
    return tilewright_lu_refine_plan_create(context, dtype, op, n, nrhs, lda, ldlu, ldb, ldx, steps, &options,
                                            plan);
  }
};

template <class X>
Battery<X> tell_lu_plan(const char* call) {
  const Battery<X> t(call);
  t.run("context=null", [](X& x) { x.context = nullptr; });
  for (const int value : {-1, 7})
    t.run("dtype=" + std::to_string(value), [value](X& x) { x.dtype = c_enum<tilewright_dtype>(value); });
  t.null("plan", AT(x.plan));
  t.numbers("n", 0, AT(x.n));
  t.numbers("lda", order, AT(x.lda));
  t.run("threads=-1", [](X& x) { x.options.threads = -1; });
  t.run("select=7", [](X& x) { x.options.select = 7; });
  t.run("candidate=x", [](X& x) { x.options.candidate = "x"; });
  return t;
}

void tell_lu_plans() {
  tell_lu_plan<CPlanFactor>("tilewright_lu_plan_create");
  const auto s = tell_lu_plan<CPlanSolve>("tilewright_lu_solve_plan_create");
  s.run("op=7", [](CPlanSolve& x) { x.op = c_enum<tilewright_op>(7); });
  s.numbers("nrhs", 0, AT(x.nrhs));
  s.numbers("ldb", order, AT(x.ldb));
  const auto v = tell_lu_plan<CPlanInverse>("tilewright_lu_inverse_plan_create");
  v.numbers("ldinv", order, AT(x.ldx));
  const auto r = tell_lu_plan<CPlanRefine>("tilewright_lu_refine_plan_create");
  r.run("op=7", [](CPlanRefine& x) { x.op = c_enum<tilewright_op>(7); });
  r.numbers("ldlu", order, AT(x.ldlu));
  r.run("steps=-1", [](CPlanRefine& x) { x.steps = -1; });
  const auto refused = [](tilewright_status status) {
    return refused_by(status, tilewright_lu_plan_last_error(nullptr));
  };
  tell("tilewright_lu_plan_factor", "plan=null",
       refused(tilewright_lu_plan_factor(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr)));
  tell("tilewright_lu_plan_solve", "plan=null",
       refused(tilewright_lu_plan_solve(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr)));
  tell("tilewright_lu_plan_invert", "plan=null",
       refused(tilewright_lu_plan_invert(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr)));
  tell("tilewright_lu_plan_refine", "plan=null",
       refused(tilewright_lu_plan_refine(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                         nullptr, nullptr)));
}

}  // namespace

void tell_c_lu() {
  tell_on_host();
  tell_lu_plans();
}

}  // namespace tilewright::golden
