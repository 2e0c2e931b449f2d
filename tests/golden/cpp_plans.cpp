// The C++ interface: plans of spoiled problems, runs of good plans on spoiled operands, chains, problems as
// text, preparing and tuning.
#include "golden/cpp_calls.hpp"
#include "tilewright/chain.hpp"
#include "tilewright/tune.hpp"

namespace tilewright::golden {
namespace {

struct Planned {
  GemmProblem problem;
  GemmOptions options;
  explicit Planned(const char* text = "gemm:f64:nn:m=3,n=2,k=4") : problem(parse_problem(text)) {}
  std::vector<Area> areas() const { return {}; }
  void call() { (void)plan(context(), problem, options); }
};
struct PlannedStrided : Planned {
  PlannedStrided() : Planned("gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=8:outer=2:outermost=2") {}
};
struct PlannedPointers : Planned {
  PlannedPointers() : Planned("gemm_batched:f64:nn:m=3,n=2,k=4:pointer:batch=8") {}
};
struct PlannedBlocks : Planned {
  PlannedBlocks() : Planned("gemm_batched:f64:nn:m=3,n=2,k=4:block_interleaved:batch=8:block=4") {}
};
struct PlannedReduce : Planned {
  PlannedReduce() : Planned("gemm_batch_reduce:f64:nn:m=3,n=2,k=4:strided:batch=8") {}
};
struct PlannedStack : Planned {
  PlannedStack() : Planned("gemm_stack:f64:nn:m=3,n=2,k=4:batch=8:run=2") {}
};
struct PlannedOnDevice : Planned {
  PlannedOnDevice() : Planned("gemm:f64:nn:m=3,n=2,k=4:location=device") {}
};

template <class X>
void spoil_counts_of_plan(const Battery<X>& t) {
  t.numbers("batch_count", 0, AT(x.problem.batch_count));
  t.run("batch_count=7", [](X& x) { x.problem.batch_count = 7; });
  t.numbers("block", 1, AT(x.problem.block));
  t.numbers("outer_count", 1, AT(x.problem.outer_count));
  t.numbers("outermost_count", 1, AT(x.problem.outermost_count));
  t.numbers("run", 1, AT(x.problem.run));
}

template <class X>
void spoil_kinds(const Battery<X>& t) {
  t.no_enumerator("dtype", AT(x.problem.dtype));
  t.no_enumerator("alpha", AT(x.problem.alpha));
  t.no_enumerator("beta", AT(x.problem.beta));
  t.no_enumerator("residency", AT(x.problem.residency));
  t.no_enumerator("location", AT(x.problem.location));
  t.no_enumerator("sums", AT(x.problem.sums));
  for (int layout = 0; layout <= 7; ++layout)
    t.run("layout=" + std::to_string(layout),
          [layout](X& x) { x.problem.layout = static_cast<Layout>(layout); });
  for (const int sums : {1, 2})
    t.run("sums=" + std::to_string(sums), [sums](X& x) { x.problem.sums = static_cast<Accumulate>(sums); });
}

void tell_problems() {
  const Battery<Planned> t("plan(single)");
  t.no_enumerator("op_a", AT(x.problem.op_a));
  t.no_enumerator("op_b", AT(x.problem.op_b));
  t.numbers("m", 0, AT(x.problem.m));
  t.numbers("n", 0, AT(x.problem.n));
  t.numbers("k", 0, AT(x.problem.k));
  t.numbers("lda", m, AT(x.problem.lda));
  t.numbers("ldb", k, AT(x.problem.ldb));
  t.numbers("ldc", m, AT(x.problem.ldc));
  spoil_counts_of_plan(t);
  spoil_kinds(t);
  spoil_options(t, spoiled_gemm_options());

  const Battery<PlannedStrided> s("plan(strided)");
  spoil_counts_of_plan(s);
  spoil_kinds(s);
  using Stride = std::pair<const char*, std::int64_t GemmProblem::*>;
  for (const auto& [name, field] :
       {Stride{"stride_a", &GemmProblem::stride_a}, Stride{"outer_a", &GemmProblem::outer_a},
        Stride{"outermost_b", &GemmProblem::outermost_b}})
    s.numbers(name, 0, AT(x.problem.*field));
  for (const auto& [name, field] :
       {Stride{"stride_c", &GemmProblem::stride_c}, Stride{"outer_c", &GemmProblem::outer_c},
        Stride{"outermost_c", &GemmProblem::outermost_c}})
    s.numbers(name, m * n, AT(x.problem.*field));

  spoil_counts_of_plan(Battery<PlannedPointers>("plan(pointer)"));
  spoil_counts_of_plan(Battery<PlannedBlocks>("plan(block_interleaved)"));
  const Battery<PlannedReduce> r("plan(batch_reduce)");
  spoil_counts_of_plan(r);
  spoil_kinds(r);
  const Battery<PlannedStack> k("plan(stack)");
  spoil_counts_of_plan(k);
  spoil_kinds(k);
  const Battery<PlannedOnDevice> d("plan(device)");
  spoil_kinds(d);
  spoil_options(d, spoiled_gemm_options());
}

struct Run : Operands {
  GemmPlan made = plan(context(), parse_problem("gemm:f64:nn:m=3,n=2,k=4"));
  BatchScalar<double> alpha{1.0}, beta{0.0};
  const double *at_a = a.data(), *at_b = b.data();
  double* at_c = c.data();
  CUstream_st* stream = nullptr;
  void call() { made.run<double>(alpha, at_a, at_b, beta, at_c, stream); }
};
struct RunOfPointers : Operands {
  GemmPlan made = plan(context(), parse_problem("gemm_batched:f64:nn:m=3,n=2,k=4:pointer:batch=3"));
  const double *const *at_a = a_pointers, *const *at_b = b_pointers;
  double* const* at_c = c_pointers;
  void call() { made.run<double>(1.0, at_a, at_b, 0.0, at_c); }
};

void tell_runs() {
  const Battery<Run> t("GemmPlan::run");
  t.null("a", AT(x.at_a));
  t.null("b", AT(x.at_b));
  t.null("c", AT(x.at_c));
  t.run("alpha=2", [](Run& x) { x.alpha = BatchScalar<double>(2.0); });
  t.run("beta=1", [](Run& x) { x.beta = BatchScalar<double>(1.0); });
  t.run("alpha.values", [](Run& x) { x.alpha = BatchScalar<double>(x.alphas.data()); });
  t.run("beta.values", [](Run& x) { x.beta = BatchScalar<double>(x.betas.data()); });
  t.run("stream=0x10", [](Run& x) { x.stream = reinterpret_cast<CUstream_st*>(std::uintptr_t(16)); });
  t.run("plan=f32", [](Run& x) { x.made = plan(context(), parse_problem("gemm:f32:nn:m=3,n=2,k=4")); });
  t.run("plan=pointer", [](Run& x) {
    x.made = plan(context(), parse_problem("gemm_batched:f64:nn:m=3,n=2,k=4:pointer:batch=3"));
  });
  const Battery<RunOfPointers> p("GemmPlan::run(pointer)");
  p.null("a", AT(x.at_a));
  p.null("b", AT(x.at_b));
  p.null("c", AT(x.at_c));
  p.run("plan=strided", [](RunOfPointers& x) {
    x.made = plan(context(), parse_problem("gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=3"));
  });
}

// Two passes over three elements, the first into scratch: D = (A B) B' with the sizes of A kept.
struct ChainCall : Operands {
  GemmPlan first = plan(context(), parse_problem("gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=3"));
  GemmPlan second = plan(context(), parse_problem("gemm_batched:f64:nn:m=3,n=2,k=2:strided:batch=3"));
  std::array<ChainPass<double>, 2> passes{
      ChainPass<double>{&first, 1.0, a.data(), b.data(), 0.0, ChainScratch{1}},
      ChainPass<double>{&second, 1.0, ChainScratch{1}, b.data(), 0.0, c.data()}};
  std::int64_t count = batch;
  ChainOptions options;
  void call() { run_chain(count, std::span<const ChainPass<double>>(passes), options); }
  void plan_second(const char* text) { second = plan(context(), parse_problem(text)); }
};

void tell_chains() {
  const Battery<ChainCall> t("run_chain");
  t.numbers("count", 0, AT(x.count));
  t.run("count=2", [](ChainCall& x) { x.count = 2; });
  t.run("threads=-1", [](ChainCall& x) { x.options.threads = -1; });
  t.run("threads=4097", [](ChainCall& x) { x.options.threads = 4097; });
  t.numbers("piece", 0, AT(x.options.piece));
  t.run("stream=0x10",
        [](ChainCall& x) { x.options.stream = reinterpret_cast<CUstream_st*>(std::uintptr_t(16)); });
  t.null("passes[1].plan", AT(x.passes[1].plan));
  t.run("passes[0].a=null", [](ChainCall& x) { x.passes[0].a.data = nullptr; });
  t.run("passes[1].b=null", [](ChainCall& x) { x.passes[1].b.data = nullptr; });
  t.run("passes[1].c=null", [](ChainCall& x) { x.passes[1].c.data = nullptr; });
  for (const int number : {-1, 2, 65})
    t.run("passes[1].a=scratch " + std::to_string(number),
          [number](ChainCall& x) { x.passes[1].a.scratch = number; });
  t.run("passes[0].c=scratch 65", [](ChainCall& x) { x.passes[0].c.scratch = 65; });
  t.run("passes[1].c=scratch 1", [](ChainCall& x) { x.passes[1].c = ChainScratch{1}; });
  t.run("passes[1].b=c", [](ChainCall& x) { x.passes[1].b = x.c.data(); });
  t.run("passes[1].alpha=2", [](ChainCall& x) { x.passes[1].alpha = BatchScalar<double>(2.0); });
  for (const char* text :
       {"gemm_batched:f32:nn:m=3,n=2,k=2:strided:batch=3", "gemm:f64:nn:m=3,n=2,k=2",
        "gemm_batched:f64:nn:m=3,n=2,k=2:pointer:batch=3", "gemm_batched:f64:nn:m=3,n=2,k=2:strided:batch=4",
        "gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=3",
        "gemm_batch_reduce:f64:nn:m=3,n=2,k=2:strided:batch=3"})
    t.run(std::string("passes[1].plan=") + text, [text](ChainCall& x) { x.plan_second(text); });
  tell_of("ChainScratch", "number=0", [] { ChainOperand<double>{ChainScratch{0}}; });
  tell_of("explain_chain", "count=-1", [] {
    const ChainCall x;
    (void)explain_chain(-1, std::span<const ChainPass<double>>(x.passes));
  });
}

void tell_texts() {
  for (const char* text :
       {"", "gemm", "gemm:f64:nn", "gem:f64:nn:m=3,n=2,k=4", "gemm:f16:nn:m=3,n=2,k=4",
        "gemm:f64:nx:m=3,n=2,k=4", "gemm:f64:nnn:m=3,n=2,k=4", "gemm:f64:nn:m=3,n=2",
        "gemm:f64:nn:m=3,n=2,k=x", "gemm:f64:nn:m=3,n=2,k=1.5", "gemm:f64:nn:m=3,n=2,k=9223372036854775808",
        "gemm:f64:nn:m=-1,n=2,k=4:lda", "getrf:f64:nn:m=3,n=2,k=4", "gemm:f64:nn:m=3,n=2,k=4:bits=fixed"})
    tell_of("parse_problem", text, [text] { (void)parse_problem(text); });
  for (const char* text : {"", "lu:f64", "lu:f16:m=3,n=3", "lu:f64:m=3", "lu:f64:m=3,n=x", "lu:f64:n=3,m=3",
                           "lu:f64:m=3,n=3:ldb=3", "lu:f64:m=3,n=3:location=x", "lu:f64:m=3,n=3,k=3"})
    tell_of("parse_lu_problem", text, [text] { (void)parse_lu_problem(text); });
  tell_of("explain", "m=-1", [] { (void)explain(context(), parse_problem("gemm:f64:nn:m=-1,n=2,k=4")); });
  const GemmProblem problems[] = {parse_problem("gemm:f64:nn:m=3,n=2,k=4"),
                                  parse_problem("gemm:f64:nn:m=3,n=-2,k=4")};
  tell_of("prepare", "problems[1].n=-2", [&] { prepare(context(), problems); });
  tell_of("prepare", "threads=-1", [&] { prepare(context(), problems, {.threads = -1}); });
  tell_of("prepare", "candidate=x", [&] { prepare(context(), std::span(problems, 1), {.candidate = "x"}); });
  tell_of("prepare", "align_bytes=3",
          [&] { prepare(context(), std::span(problems, 1), {.align_bytes = 3}); });
}

// Searches that end before they begin.
void tell_tuning() {
  const GemmProblem good = parse_problem("gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=1:residency=l1");
  const auto with = [&](const char* what, TuneSearch search, GemmProblem problem) {
    tell_of("tune", what, [&] { (void)tune(context(), problem, search); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  with("budget_s=0", {.budget_s = 0}, good);
  with("budget_s=-1", {.budget_s = -1}, good);
  with("budget_s=nan", {.budget_s = nan}, good);
  with("objective=7", {.objective = static_cast<Objective>(7)}, good);
  with("objective=alpha", {.objective = Objective::alpha}, good);
  with("objective=alpha,weight=2", {.objective = Objective::alpha, .objective_weight = 2}, good);
  with("strategy=7", {.strategy = static_cast<SearchStrategy>(7)}, good);
  tell_of("tune_search", "objective=x", [] { (void)tune_search("x", "local"); });
  tell_of("tune_search", "strategy=x", [] { (void)tune_search("time", "x"); });
  with("resume=true", {.resume = true}, good);
  with("log=/nowhere/x", {.log = "/nowhere/x"}, good);
  with("m=-1", {}, parse_problem("gemm_batched:f64:nn:m=-1,n=2,k=4:strided:batch=1:residency=l1"));
  with("m=0", {}, parse_problem("gemm_batched:f64:nn:m=0,n=2,k=4:strided:batch=1:residency=l1"));
  with("lda=2", {.budget_s = 1e-3},
       parse_problem("gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=1:lda=2:residency=l1"));
  with("progress=false", {.progress = [](const TuneProgress&) { return false; }}, good);
  tell_of("tune", "use_wisdom=false", [&] {
    Context without({.use_wisdom = false});
    (void)tune(without, good);
  });
}

}  // namespace

void tell_plans() {
  tell_problems();
  tell_runs();
  tell_chains();
  tell_texts();
  tell_tuning();
}

}  // namespace tilewright::golden
