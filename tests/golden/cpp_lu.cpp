// The C++ interface: LU factorizations, systems, inverses and refinement in host memory, a team's part of a
// factorization, and plans of matrices on a GPU as far as none is needed to refuse them.
#include "golden/messages.hpp"
#include "golden/spoiled_options.hpp"
#include "tilewright/multinode.hpp"

namespace tilewright::golden {
namespace {

constexpr std::int64_t order = 3, sides = 2;

// Factors of a matrix whose solution is found without rounding, and what surrounds them.
struct Factors {
  static constexpr std::size_t room = 128;
  std::vector<double> a = std::vector<double>(room), b = std::vector<double>(room, 1.0);
  std::vector<double> x = std::vector<double>(room, 1.0), matrix;
  std::vector<std::int64_t> pivots{1, 2, 3, 4, 5, 6, 7, 8};
  std::int64_t n = order, lda = order;
  const std::int64_t* at_pivots = pivots.data();
  double* at_a = a.data();
  LuOptions options;

  std::span<const std::int64_t> given_pivots() const { return {at_pivots, pivots.size()}; }

  Factors() {
    for (std::int64_t i = 0; i < order; ++i) a[std::size_t(i * order + i)] = 2;
    matrix = a;
  }
};

struct Factor : Factors {
  std::int64_t m = order;
  std::int64_t* to_pivots = pivots.data();
  std::vector<Area> areas() const { return {output("a", a), output("pivots", pivots)}; }
  void call() {
    (void)lu_factor<double>(context(), {at_a, m, n, lda}, {to_pivots, std::size_t(order)}, options);
  }
};

struct Solve : Factors {
  Op op = Op::none;
  std::int64_t nrhs = sides, ldb = order;
  double* at_b = b.data();
  std::vector<Area> areas() const { return {input("a", a), input("pivots", pivots), output("b", b)}; }
  void call() {
    lu_solve<double>(context(), op, {at_a, n, n, lda}, given_pivots(), {at_b, n, nrhs, ldb}, options);
  }
};

struct Inverse : Factors {
  std::vector<Area> areas() const { return {output("a", a), input("pivots", pivots)}; }
  void call() { (void)lu_inverse<double>(context(), {at_a, n, n, lda}, given_pivots(), options); }
};

struct Refine : Factors {
  Op op = Op::none;
  std::int64_t nrhs = sides, ldlu = order, ldb = order, ldx = order;
  const double *at_matrix = matrix.data(), *at_b = b.data();
  double* at_x = x.data();
  std::vector<Area> areas() const {
    return {input("a", matrix), input("lu", a), input("pivots", pivots), input("b", b), output("x", x)};
  }
  void call() {
    (void)lu_refine<double>(context(), op, {at_matrix, n, n, lda}, {at_a, n, n, ldlu}, given_pivots(),
                            {at_b, n, nrhs, ldb}, {at_x, n, nrhs, ldx}, options);
  }
};

struct Cyclic : Factors {
  std::int64_t m = order, nb = 1;
  std::int64_t* to_pivots = pivots.data();
  LuTeam team{.members = 2, .own = 1, .broadcast = [](void*, std::int64_t, int) {}};
  std::vector<Area> areas() const { return {output("a", a), output("pivots", pivots)}; }
  void call() { (void)lu_factor_cyclic<double>(context(), m, n, nb, at_a, lda, to_pivots, team, options); }
};
struct WhyNotCyclic : Cyclic {
  DType dtype = DType::f64;
  std::string why;
  void call() { why = why_not_cyclic(context(), dtype, m, n, nb, team, options); }
  std::string result() const { return ": " + why; }
};

struct PlanOfFactors {
  LuProblem problem{DType::f64, order, order, order, Location::device};
  LuOptions options;
  std::vector<Area> areas() const { return {}; }
};
struct PlanFactor : PlanOfFactors {
  void call() { (void)plan_lu(context(), problem, options); }
};
struct PlanSolve : PlanOfFactors {
  Op op = Op::none;
  std::int64_t nrhs = sides, ldb = order;
  void call() { (void)plan_lu_solve(context(), problem, op, nrhs, ldb, options); }
};
struct PlanInverse : PlanOfFactors {
  std::int64_t ldinv = order;
  void call() { (void)plan_lu_inverse(context(), problem, ldinv, options); }
};
struct PlanRefine : PlanOfFactors {
  Op op = Op::none;
  std::int64_t nrhs = sides;
  LuRefineLayout layout{order, order, order};
  int steps = 2;
  void call() { (void)plan_lu_refine(context(), problem, op, nrhs, layout, steps, options); }
};

template <class X>
void spoil_factors(const Battery<X>& t, const char* name = "a") {
  t.numbers("n", 0, AT(x.n));
  t.numbers("lda", order, AT(x.lda));
  t.null(name, AT(x.at_a));
}

template <class X>
void spoil_given_pivots(const Battery<X>& t) {
  t.null("pivots", AT(x.at_pivots));
  for (const std::int64_t pivot : {std::int64_t(-1), std::int64_t(0), std::int64_t(1), order + 1})
    t.run("pivots[1]=" + std::to_string(pivot), [pivot](X& x) { x.pivots[1] = pivot; });
}

template <class X>
void spoil_sides(const Battery<X>& t) {
  t.no_enumerator("op", AT(x.op));
  t.numbers("nrhs", 0, AT(x.nrhs));
  t.numbers("ldb", order, AT(x.ldb));
  t.null("b", AT(x.at_b));
}

void tell_factor() {
  const Battery<Factor> t("lu_factor");
  t.numbers("m", 0, AT(x.m));
  spoil_factors(t);
  t.null("pivots", AT(x.to_pivots));
  t.run("n=0,lda=0", [](Factor& x) { x.n = 0, x.lda = 0; });
  t.run("n=0,threads=-1", [](Factor& x) { x.n = 0, x.options.threads = -1; });
  spoil_options(t, spoiled_lu_options());
}

void tell_systems() {
  const Battery<Solve> t("lu_solve");
  spoil_factors(t);
  spoil_given_pivots(t);
  spoil_sides(t);
  t.run("b=a", [](Solve& x) { x.at_b = x.at_a; });
  t.run("n=0,threads=-1", [](Solve& x) { x.n = 0, x.options.threads = -1; });
  spoil_options(t, spoiled_lu_options());

  const Battery<Inverse> v("lu_inverse");
  spoil_factors(v);
  spoil_given_pivots(v);
  spoil_options(v, spoiled_lu_options());

  const Battery<Refine> r("lu_refine");
  spoil_factors(r, "lu");
  spoil_given_pivots(r);
  spoil_sides(r);
  r.numbers("ldlu", order, AT(x.ldlu));
  r.numbers("ldx", order, AT(x.ldx));
  r.null("a", AT(x.at_matrix));
  r.null("x", AT(x.at_x));
  r.run("x=a", [](Refine& x) { x.at_matrix = x.at_x; });
  r.run("x=lu", [](Refine& x) { x.at_a = x.at_x; });
  r.run("x=b", [](Refine& x) { x.at_b = x.at_x; });
  spoil_options(r, spoiled_lu_options());
}

template <class X>
void spoil_team(const Battery<X>& t) {
  t.numbers("m", 0, AT(x.m));
  t.numbers("n", 0, AT(x.n));
  t.numbers("nb", 1, AT(x.nb));
  for (const int members : {-1, 0})
    t.run("team.members=" + std::to_string(members), [members](X& x) { x.team.members = members; });
  for (const int own : {-1, 2}) t.run("team.own=" + std::to_string(own), [own](X& x) { x.team.own = own; });
  t.run("team.broadcast=empty", [](X& x) { x.team.broadcast = nullptr; });
  spoil_options(t, spoiled_lu_options());
}

void tell_teams() {
  const Battery<Cyclic> t("lu_factor_cyclic");
  spoil_team(t);
  t.numbers("lda", order, AT(x.lda));
  t.null("a", AT(x.at_a));
  t.null("pivots", AT(x.to_pivots));
  const Battery<WhyNotCyclic> w("why_not_cyclic");
  spoil_team(w);
  w.no_enumerator("dtype", AT(x.dtype));
}

template <class X>
void spoil_lu_problem(const Battery<X>& t) {
  t.no_enumerator("dtype", AT(x.problem.dtype));
  t.no_enumerator("location", AT(x.problem.location));
  t.run("location=host", [](X& x) { x.problem.location = Location::host; });
  t.numbers("m", 0, AT(x.problem.m));
  t.numbers("n", 0, AT(x.problem.n));
  t.numbers("lda", order, AT(x.problem.lda));
}

void tell_lu_plans() {
  const Battery<PlanFactor> t("plan_lu");
  spoil_lu_problem(t);
  spoil_options(t, spoiled_lu_options());
  const Battery<PlanSolve> s("plan_lu_solve");
  spoil_lu_problem(s);
  s.no_enumerator("op", AT(x.op));
  s.numbers("nrhs", 0, AT(x.nrhs));
  s.numbers("ldb", order, AT(x.ldb));
  spoil_options(s, spoiled_lu_options());
  const Battery<PlanInverse> v("plan_lu_inverse");
  v.numbers("n", 0, AT(x.problem.n));
  v.numbers("ldinv", order, AT(x.ldinv));
  const Battery<PlanRefine> r("plan_lu_refine");
  r.no_enumerator("op", AT(x.op));
  r.numbers("nrhs", 0, AT(x.nrhs));
  r.numbers("layout.lda", order, AT(x.layout.lda));
  r.numbers("layout.ldb", order, AT(x.layout.ldb));
  r.numbers("layout.ldx", order, AT(x.layout.ldx));
  r.run("steps=-1", [](PlanRefine& x) { x.steps = -1; });
}

// Descriptions that explain_lu and lu_candidate take.
void tell_explanations() {
  const auto with = [](const char* what, LuProblem problem, LuOptions options = {}) {
    tell_of("explain_lu", what, [&] { (void)explain_lu(context(), problem, options); });
    tell_of("lu_candidate", what, [&] { (void)lu_candidate(context(), problem, options); });
  };
  with("m=-1", {DType::f64, -1, order, order});
  with("n=-1", {DType::f64, order, -1, order});
  with("lda=2", {DType::f64, order, order, order - 1});
  with("dtype=7", {static_cast<DType>(7), order, order, order});
  with("threads=-1", {DType::f64, order, order, order}, {.threads = -1});
  with("candidate=x", {DType::f64, order, order, order}, {.candidate = "x"});
}

}  // namespace

void tell_lu() {
  tell_factor();
  tell_systems();
  tell_teams();
  tell_lu_plans();
  tell_explanations();
}

}  // namespace tilewright::golden
