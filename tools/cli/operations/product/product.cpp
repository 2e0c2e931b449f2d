// Products as an operation of the tool: of what `explain` says beside the library's own text, what `tune`
// searches, and the families of bench that measure products.
#include <fmt/format.h>

#include "core/input/json_text.hpp"
#include "core/product/faults.hpp"
#include "device/cpu.hpp"
#include "gemm/kept.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "lists.hpp"
#include "operations/operation.hpp"
#include "operations/simulated_gpu.hpp"
#include "people/refusal.hpp"
#include "tilewright/gemm.hpp"
#include "tune/family/family.hpp"
#include "tune/kernel_timer.hpp"

namespace tilewright::cli {
namespace {

// Invalid JSON is an error for every implementation, even if none can be asked.
void check_json(const std::string& config) {
  if (!config.empty() && !parse_json_or_discard(config).is_object())
    refuse_value("--config", config, "is not a JSON object");
}

GemmOptions options_from(const ExplainFlags& flags) {
  GemmOptions options;
  options.target = enum_from_string<Target>(flags.target, "target");
  set_objective("--objective", flags.objective, options);
  options.candidate = candidate_named(flags.candidate);
  check_json(flags.config);
  options.config = flags.config;
  options.threads = flags.threads;
  set_hybrid(flags.hybrid, options);
  return options;
}

nlohmann::json plan_json(const GemmPlan::Impl& plan) {
  nlohmann::json object = explanation_json(plan, explain_plan(plan));
  object["problem"] = to_string(plan.problem);
  if (plan.runner == nullptr) return object;
  for (const char* key : {"bound_s", "bound_gflops", "bound_kind", "ceiling", "config_source", "threads"})
    object[key] = nullptr;
  object["device"] = plan.runner->device();
  object["config"] = plan.runner->config();
  object["metrics"] = plan.runner->metrics();
  if (!plan.runner->config().is_null()) object["config_source"] = plan.known.source;
  if (plan.problem.location == Location::host) object["threads"] = plan.runner->thread_count();
  const std::optional<double> predicted_s = predicted_seconds(plan);
  object["predicted_s"] = predicted_s ? nlohmann::json(*predicted_s) : nlohmann::json();
  if (const auto kept = kept_bound(plan.problem, plan.runner->device(), plan.runner->thread_count());
      kept && plan.runner->bound().empty()) {
    object["bound_s"] = kept->bound.seconds, object["bound_gflops"] = kept->bound.gflops;
    object["bound_kind"] = kept->bound.kind, object["ceiling"] = kept->bound.ceiling;
  }
  return object;
}

std::vector<GemmProblem> valid_problems(const TuneFlags& flags) {
  auto problems = problems_of(flags);
  for (const GemmProblem& problem : problems) validate(searched_problem(problem));
  return problems;
}

// The block that is known as best for converting batches of just these sizes.
std::optional<nlohmann::json> known_block(const Context& context, const GemmProblem& problem) {
  const auto known = load_layout_costs(kept_path(Access::impl(context).environment), cpu_info().device);
  const LayoutCosts* costs = nearest_costs(known, problem);
  if (costs == nullptr || costs->m != problem.m || costs->n != problem.n || costs->k != problem.k)
    return std::nullopt;
  return to_json(LayoutConfig{costs->block});
}

ProductTuning product_tuning(const TuneFlags& flags, const Context& context) {
  ProductTuning how{.rules = rules_of(flags)};
  if (!flags.seeds.empty())
    how.seeds = [seeds = Seeds(flags.seeds)](const std::string& family, const GemmProblem& problem) {
      return seeds.of(family, problem);
    };
  if (flags.family != "layout") return how;
  how.families = {&layout_family()};
  how.known = [&context](const GemmProblem& problem) { return known_block(context, problem); };
  return how;
}

class ProductVerbs : public ToolOperation {
 public:
  std::string name() const override { return "gemm"; }
  std::string things() const override { return "products"; }
  std::string example() const override { return "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6"; }

  Explainer explainer(const std::string& text, const ExplainFlags& flags) const override {
    const GemmOptions options = options_from(flags);
    const GemmProblem problem = parse_problem(text);
    return [problem, options](Context& context) {
      Context::Impl& impl = Access::impl(context);
      const auto plan = make_plan(impl, problem, options, !impl.no_jit);
      return Explained{verdict_text(*plan), candidates_text(*plan), plan_json(*plan),
                       !plan->candidate.empty()};
    };
  }

  void check_flags(const TuneFlags&) const override {}
  Operations tuned(const TuneFlags& flags, Context& context, TuneMachine& machine) const override {
    return product_operations(valid_problems(flags), machine, product_tuning(flags, context));
  }
  std::string sweep_name() const override { return "sweep.jsonl"; }
  nlohmann::json run_keys(const TuneFlags& flags) const override { return {{"family", flags.family}}; }
  std::string without_gpu() const override {
    return fmt::format("location=host tunes the CPU, sizes up to {}", gemm_small_cpu_limit);
  }
  RecordedProblem recorded(const std::string& text) const override {
    const GemmProblem p = parse_problem(text);
    nlohmann::json keys = bench::product_keys(p);
    keys["alpha"] = representative(p.alpha).real(), keys["beta"] = representative(p.beta).real();
    const bool on_host = p.location == Location::host;
    keys["threads"] = on_host ? nlohmann::json(1) : nlohmann::json();
    keys["target"] = on_host ? "cpu" : "gpu";
    return {keys, flops(p) / double(p.batch_count)};
  }
  // By the kept ceilings of one thread, or of the GPU that the line names.
  void add_bound(nlohmann::json& line, const WisdomRecord& record) const override {
    const GemmProblem problem = parse_problem(record.problem);
    const double batch_s = record.seconds * double(problem.batch_count);
    const auto kept = kept_bound(problem, line.value("device", ""), 1);
    if (!kept || !(batch_s > 0)) return;
    const Bound& bound = kept->bound;
    line["bound_gflops"] = bound.gflops, line["bound_share"] = bound.seconds / batch_s;
    line["bound_kind"] = bound.kind, line["ceiling"] = bound.ceiling;
  }

  std::vector<const BenchFamily*> bench_families() const override { return product_families(); }
};

// The families that multiply, and those that convert, move or only call.

std::vector<std::string> hybrid_peer_names() {
  return {"openblas", "cublasxt", "copy_cublas", "copy_kernel"};
}

void complete_hybrid(const FamilyFlags& flags, bench::Plan& plan) {
  const std::vector<int> gpus = plan.cases.empty() ? std::vector<int>() : plan.cases.front().options.gpus;
  plan.own = read_simulated_gpu(flags, gpus, plan);
}

}  // namespace

const ToolOperation& product_verbs() {
  static const ProductVerbs operation;
  return operation;
}

std::vector<const BenchFamily*> product_families() {
  static const BenchFamily small_cpu{.name = "gemm_small_cpu", .make = bench::gemm_family};
  static const BenchFamily small{.name = "gemm_small",
                                 .make = bench::gemm_family,
                                 .is_on_gpu = true,
                                 .unused = {"--numa", "--threads", "--counters"}};
  static const BenchFamily gemm{.name = "gemm",
                                .make = bench::gemm_family,
                                .is_on_gpu = true,
                                .both_locations = true,
                                .sizes = "1024,2048,4096",
                                .residencies = "cold",
                                .unused = {"--block", "--pointer-order"},
                                .unused_on_device = {"--numa", "--threads"}};
  static const BenchFamily hybrid{.name = "hybrid",
                                  .make = bench::hybrid_family,
                                  .is_shared = true,
                                  .sizes = "768:11520:768",  // those of the paper
                                  .residencies = "cold",
                                  .unused = {"--pointer-order", "--residency", "--arrival", "--location",
                                             "--numa", "--candidate", "--config", "--counters", "--learn"},
                                  .peers = hybrid_peer_names,
                                  .ways = bench::hybrid_variants,
                                  .own = {{simulated_gpu_flag, simulated_gpu_help, ""}},
                                  .complete = complete_hybrid};
  return {&small_cpu, &small, &gemm, &hybrid};
}

std::vector<const BenchFamily*> other_families() {
  static const BenchFamily layout{
      .name = "layout",
      .make = bench::layout_family,
      .both_locations = true,
      .unused = {"--arrival", "--numa", "--counters", "--record", "--candidate", "--config", "--learn"},
      .unused_on_device = {"--data", "--threads", "--check-only", "--most-error-ratio", "--once", "--races"}};
  static const BenchFamily transfer{
      .name = "transfer",
      .make = bench::transfer_family,
      .both_locations = true,
      .unused = {"--layout", "--block", "--alpha", "--beta", "--pointer-order", "--residency", "--arrival",
                 "--numa", "--data", "--threads", "--candidate", "--config", "--counters", "--peers",
                 "--record", "--learn"},
      .unused_on_device = {"--configs", "--megabytes", "--check-only", "--most-error-ratio", "--once",
                           "--races"}};
  static const BenchFamily overhead{
      .name = "overhead",
      .make = bench::overhead_family,
      .unused = {"--layout", "--batch", "--block", "--pointer-order", "--residency", "--arrival", "--numa",
                 "--threads", "--counters", "--peers", "--record", "--learn"}};
  return {&factor_bench(), &layout, &transfer, &overhead};
}

}  // namespace tilewright::cli
