// The C interface: contexts, plans and their runs, chains, preparing, pinned memory and tuning.
#include "golden/c_calls.hpp"
#include "tilewright/tilewright_tune.h"

namespace tilewright::golden {
namespace {

constexpr const char* plain_problem = "gemm:f64:nn:m=3,n=2,k=4";

// Functions that create a context return a handle that knows the message.
void tell_created(const char* what, const tilewright_context_options* options) {
  tilewright_context* made = nullptr;
  const tilewright_status status = tilewright_create_with(options, &made);
  tell(
      "tilewright_create_with", what,
      status == TILEWRIGHT_OK ? Outcome{false, "accepted"} : refused_by(status, tilewright_last_error(made)));
  tilewright_destroy(made);
}

void tell_contexts() {
  const auto with = [](const char* cpu, const char* wisdom) {
    tilewright_context_options options;
    options.cpu = cpu, options.wisdom = wisdom;
    options.no_wisdom = options.no_jit = options.no_notices = 0;
    return options;
  };
  tell_created("options=null", nullptr);
  const auto bad_cpu = with("x", nullptr), bad_file = with(nullptr, "/nowhere/x.jsonl"),
             folder = with(nullptr, "/");
  tell_created("cpu=x", &bad_cpu);
  tell_created("wisdom=/nowhere/x.jsonl", &bad_file);
  tell_created("wisdom=/", &folder);
  tell("tilewright_create", "context=null", refused_by(tilewright_create(nullptr, nullptr, nullptr), ""));
  tilewright_context* unmade = nullptr;
  (void)tilewright_create("x", nullptr, &unmade);
  const double one = 1;
  double c = 0;
  const tilewright_status status = tilewright_gemm(unmade, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE,
                                                   1, 1, 1, &one, &one, 1, &one, 1, &one, &c, 1, nullptr);
  tell("tilewright_gemm", "context=unmade", refused_by(status, tilewright_last_error(unmade)),
       c == 0 ? "" : " [WROTE c]");
  tilewright_destroy(unmade);
}

struct CPlanned {
  tilewright_context* context = handle();
  const char* problem = plain_problem;
  tilewright_options options{};
  tilewright_plan* made = nullptr;
  tilewright_plan** plan = &made;
  ~CPlanned() { tilewright_plan_destroy(made); }
  std::vector<Area> areas() const { return {}; }
  const char* message() const { return tilewright_last_error(context); }
  tilewright_status call() { return tilewright_plan_create(context, problem, &options, plan); }
};

struct CPrepared {
  tilewright_context* context = handle();
  const char* problems[2] = {plain_problem, "gemm:f64:nn:m=4,n=2,k=4"};
  const char* const* at_problems = problems;
  std::int64_t count = 2;
  tilewright_options options{};
  std::vector<Area> areas() const { return {}; }
  const char* message() const { return tilewright_last_error(context); }
  tilewright_status call() { return tilewright_prepare(context, at_problems, count, &options); }
};

// Problems that can be read and mean nothing, and one that cannot.
constexpr const char* bad_problems[] = {"gemm",
                                        "gemm:f64:nn:m=-1,n=2,k=4",
                                        "gemm:f64:nn:m=3,n=2,k=4:lda=2",
                                        "gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=-1",
                                        "gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=3:stride_c=5",
                                        "gemm_batched:f64:nn:m=3,n=2,k=4:variable:batch=3",
                                        "getrf:f64:nn:m=3,n=2,k=4"};

void tell_plans_and_preparing() {
  const Battery<CPlanned> t("tilewright_plan_create");
  t.run("context=null", [](CPlanned& x) { x.context = nullptr; });
  t.null("problem", AT(x.problem));
  t.null("plan", AT(x.plan));
  for (const char* text : bad_problems)
    t.run(std::string("problem=") + text, [text](CPlanned& x) { x.problem = text; });
  t.run("row_major=1", [](CPlanned& x) { x.options.row_major = 1; });
  spoil_options(t, spoiled_c_options());
  const Battery<CPrepared> p("tilewright_prepare");
  p.run("context=null", [](CPrepared& x) { x.context = nullptr; });
  p.null("problems", AT(x.at_problems));
  p.null("problems[1]", AT(x.problems[1]));
  p.small_numbers("problem_count", 0, AT(x.count));
  for (const char* text : bad_problems)
    p.run(std::string("problems[1]=") + text, [text](CPrepared& x) { x.problems[1] = text; });
  p.run("row_major=1", [](CPrepared& x) { x.options.row_major = 1; });
  p.run("threads=-1", [](CPrepared& x) { x.options.threads = -1; });
  p.run("align_bytes=3", [](CPrepared& x) { x.options.align_bytes = 3; });
}

struct CRun : CCall {
  tilewright_plan* plan = nullptr;
  tilewright_plan* made = nullptr;
  const void *at_a = a.data(), *at_b = b.data();
  void *at_c = c.data(), *stream = nullptr;
  CRun() {
    (void)tilewright_plan_create(context, plain_problem, nullptr, &made);
    plan = made;
  }
  ~CRun() { tilewright_plan_destroy(made); }
  const char* message() const { return tilewright_plan_last_error(plan); }
  tilewright_status call() { return tilewright_plan_run_on(plan, alpha, at_a, at_b, beta, at_c, stream); }
};

void tell_runs() {
  const Battery<CRun> t("tilewright_plan_run_on");
  t.null("plan", AT(x.plan));
  t.null("alpha", AT(x.alpha));
  t.null("a", AT(x.at_a));
  t.null("b", AT(x.at_b));
  t.null("beta", AT(x.beta));
  t.null("c", AT(x.at_c));
  t.run("alpha=0", [](CRun& x) { x.alpha = x.betas.data(); });
  t.run("beta=1", [](CRun& x) { x.beta = x.alphas.data(); });
  t.run("stream=0x10", [](CRun& x) { x.stream = reinterpret_cast<void*>(std::uintptr_t(16)); });
}

struct CChain : CCall {
  tilewright_plan *first = nullptr, *second = nullptr;
  tilewright_chain_pass passes[2]{};
  tilewright_chain_options options_of_chain{};
  const tilewright_chain_pass* at_passes = passes;
  std::int64_t count = batch, pass_count = 2;
  CChain() {
    (void)tilewright_plan_create(context, "gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=3", nullptr, &first);
    (void)tilewright_plan_create(context, "gemm_batched:f64:nn:m=3,n=2,k=2:strided:batch=3", nullptr,
                                 &second);
    passes[0] = {first, alpha, a.data(), b.data(), beta, nullptr, 0, 0, 1};
    passes[1] = {second, alpha, nullptr, b.data(), beta, c.data(), 1, 0, 0};
  }
  ~CChain() {
    tilewright_plan_destroy(first);
    tilewright_plan_destroy(second);
  }
  tilewright_status call() {
    return tilewright_run_chain(context, count, at_passes, pass_count, &options_of_chain);
  }
};

void tell_chains() {
  const Battery<CChain> t("tilewright_run_chain");
  t.run("context=null", [](CChain& x) { x.context = nullptr; });
  t.null("passes", AT(x.at_passes));
  t.small_numbers("pass_count", 0, AT(x.pass_count));
  t.numbers("count", 0, AT(x.count));
  t.numbers("piece", 0, AT(x.options_of_chain.piece));
  t.run("threads=-1", [](CChain& x) { x.options_of_chain.threads = -1; });
  t.run("stream=0x10",
        [](CChain& x) { x.options_of_chain.stream = reinterpret_cast<void*>(std::uintptr_t(16)); });
  t.null("passes[0].plan", AT(x.passes[0].plan));
  t.null("passes[1].plan", AT(x.passes[1].plan));
  t.null("passes[1].alpha", AT(x.passes[1].alpha));
  t.null("passes[1].beta", AT(x.passes[1].beta));
  t.null("passes[0].a", AT(x.passes[0].a));
  t.null("passes[1].b", AT(x.passes[1].b));
  t.null("passes[1].c", AT(x.passes[1].c));
  for (const int number : {-1, 2, 65}) {
    t.run("passes[1].scratch_a=" + std::to_string(number),
          [number](CChain& x) { x.passes[1].scratch_a = number; });
    t.run("passes[0].scratch_c=" + std::to_string(number),
          [number](CChain& x) { x.passes[0].scratch_c = number; });
  }
  t.run("passes[1].b=c", [](CChain& x) { x.passes[1].b = x.c.data(); });
}

void tell_pinned() {
  double own = 0;
  tilewright_pinned* pinned = nullptr;
  const auto allocate = [](const char* what, tilewright_context* context, std::int64_t bytes,
                           tilewright_pinned** to) {
    const tilewright_status status = tilewright_pinned_allocate(context, bytes, to);
    tell("tilewright_pinned_allocate", what, refused_by(status, tilewright_last_error(context)));
  };
  allocate("context=null", nullptr, 8, &pinned);
  allocate("bytes=-1", handle(), -1, &pinned);
  allocate("bytes=0", handle(), 0, &pinned);
  allocate("bytes=8", handle(), 8, &pinned);
  allocate("pinned=null", handle(), 8, nullptr);
  const auto keep = [](const char* what, void* data, std::int64_t bytes, tilewright_pinned** to) {
    const tilewright_status status = tilewright_pinned_register(handle(), data, bytes, to);
    tell("tilewright_pinned_register", what, refused_by(status, tilewright_last_error(handle())));
  };
  keep("data=null", nullptr, 8, &pinned);
  keep("bytes=0", &own, 0, &pinned);
  keep("pinned=null", &own, 8, nullptr);
}

struct CTuned {
  tilewright_context* context = handle();
  const char* problems[1] = {"gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=1:residency=l1"};
  const char* const* at_problems = problems;
  std::int64_t count = 1, found = 0;
  tilewright_tune_options options{};
  CTuned() {
    options.progress = [](void*, const char*, std::int64_t, double) { return 0; };  // ends the search
  }
  std::vector<Area> areas() const { return {}; }
  const char* message() const { return tilewright_last_error(context); }
  tilewright_status call() { return tilewright_tune(context, at_problems, count, &options, nullptr, &found); }
};

void tell_tuning() {
  const Battery<CTuned> t("tilewright_tune");
  t.run("context=null", [](CTuned& x) { x.context = nullptr; });
  t.null("problems", AT(x.at_problems));
  t.null("problems[0]", AT(x.problems[0]));
  t.small_numbers("count", 0, AT(x.count));
  // Others are searched for seconds, whatever is wrong with them.
  for (const char* text : {bad_problems[0], "gemm:f64:nn:m=-1,n=2,k=4:residency=l1"})
    t.run(std::string("problems[0]=") + text, [text](CTuned& x) { x.problems[0] = text; });
  t.run("budget_s=-1", [](CTuned& x) { x.options.budget_s = -1; });
  t.run("objective=x", [](CTuned& x) { x.options.objective = "x"; });
  t.run("strategy=x", [](CTuned& x) { x.options.strategy = "x"; });
  t.run("resume=1", [](CTuned& x) { x.options.resume = 1; });
  t.run("log=/nowhere/x", [](CTuned& x) { x.options.log = "/nowhere/x"; });
  t.run("device=-1", [](CTuned& x) { x.options.device = -1; });
  tell("tilewright_install_tuner", "context=null", refused_by(tilewright_install_tuner(nullptr), ""));
}

}  // namespace

void tell_c_plans() {
  tell_contexts();
  tell_plans_and_preparing();
  tell_runs();
  tell_chains();
  tell_pinned();
  tell_tuning();
}

}  // namespace tilewright::golden
