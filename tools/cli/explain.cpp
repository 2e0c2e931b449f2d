// The verb explain: prints the plan that the library would make for each PROBLEM, without running it. This
// file has only the flags.
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "core/fields.hpp"
#include "core/input/json_text.hpp"
#include "core/json.hpp"
#include "core/lu_problem.hpp"
#include "gemm/kept.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "hybrid_flags.hpp"
#include "lists.hpp"
#include "lu/candidates.hpp"
#include "output/json_lines.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"
#include "verbs.hpp"

namespace tilewright::cli {

namespace {

struct ExplainFlags {
  std::vector<std::string> problems;
  std::string target = "auto", objective = "time", candidate, config;
  int threads = 0;
  HybridFlags hybrid;
  std::string json;
};

// Invalid JSON is an error for every implementation, even if none can be asked.
void check_json(const std::string& config) {
  if (!config.empty() && !parse_json_or_discard(config).is_object())
    throw Error(ErrorCode::invalid_argument, "--config",
                fmt::format("--config = '{}' is no JSON object", config));
}

GemmOptions hybrid_options(const ExplainFlags& flags) {
  GemmOptions options;
  set_hybrid(flags.hybrid, options);
  return options;
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

nlohmann::json optional_json(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

// Adds the config's time when it was recorded; null if it was not measured.
void add_recorded(nlohmann::json& object, const RecordedTime& recorded) {
  object["recorded_seconds"] = recorded.seconds > 0 ? nlohmann::json(recorded.seconds) : nlohmann::json();
  object["regret"] = recorded.seconds > 0 ? optional_json(recorded.regret()) : nlohmann::json();
}

nlohmann::json lu_json(const Explanation& said, const LuOptions& options) {
  nlohmann::json object = {{"problem", said.asked},
                           {"candidate", said.candidate},
                           {"candidates", nlohmann::json::array()},
                           {"text", lu_text(said)}};
  for (const Decision& one : said.decisions)
    object["candidates"].push_back({{"name", one.candidate},
                                    {"taken", one.accepted},
                                    {"reason", one.reason},
                                    {"description", one.accepted ? said.does : ""}});
  const bool is_tuned = said.known.match != WisdomMatch::none;
  object["config"] = said.known.config;
  object["config_source"] = is_tuned ? nlohmann::json(said.known.source) : nlohmann::json();
  object["wisdom_match"] = to_string(said.known.match);
  const bool on_host = parse_lu_problem(said.asked).location == Location::host;
  object["threads"] = on_host ? nlohmann::json(allowed_threads(options.threads)) : nlohmann::json();
  object["predicted_s"] = optional_json(said.predicted_s);
  add_recorded(object, said.known.recorded);
  return object;
}

nlohmann::json plan_json(const GemmPlan::Impl& plan) {
  nlohmann::json object = {{"problem", to_string(plan.problem)}, {"candidate", plan.candidate}};
  for (const Decision& decision : plan.decisions)
    object["candidates"].push_back(
        {{"name", decision.candidate}, {"taken", decision.accepted}, {"reason", decision.reason}});
  if (plan.runner == nullptr) return object;
  for (const char* key : {"bound_s", "bound_gflops", "bound_kind", "ceiling", "config_source", "threads"})
    object[key] = nullptr;
  object["device"] = plan.runner->device();
  object["config"] = plan.runner->config();
  object["metrics"] = plan.runner->metrics();
  object["wisdom_match"] = to_string(plan.known.match);
  if (!plan.runner->config().is_null()) object["config_source"] = plan.known.source;
  if (plan.problem.location == Location::host) object["threads"] = plan.runner->thread_count();
  object["predicted_s"] = optional_json(predicted_seconds(plan));
  add_recorded(object, plan.known.recorded);
  if (const auto kept = kept_bound(plan.problem, plan.runner->device(), plan.runner->thread_count());
      kept && plan.runner->bound().empty()) {
    object["bound_s"] = kept->bound.seconds, object["bound_gflops"] = kept->bound.gflops;
    object["bound_kind"] = kept->bound.kind, object["ceiling"] = kept->bound.ceiling;
  }
  return object;
}

void explain_one(Context& context, const GemmProblem& problem, const GemmOptions& options, JsonLines& json) {
  const auto plan = make_plan(Access::impl(context), problem, options, !Access::impl(context).no_jit);
  fmt::print(json.people(), "{}\n", explain_plan(*plan));
  if (json) json.write(plan_json(*plan));
}

void explain_one(Context& context, const LuProblem& problem, const ExplainFlags& flags, JsonLines& json) {
  const std::pair<const char*, bool> given[] = {{"--objective", flags.objective != ExplainFlags().objective},
                                                {"--config", !flags.config.empty()}};
  for (const auto& [name, is_given] : given)
    if (is_given)
      throw Error(ErrorCode::unsupported, name,
                  fmt::format("{} has no meaning with {}", name, to_string(problem)));
  LuOptions options;
  options.target = enum_from_string<Target>(flags.target, "target");
  options.candidate = flags.candidate;
  options.threads = flags.threads;
  const GemmOptions shared = hybrid_options(flags);
  options.gpus = shared.gpus, options.gpu_memory_bytes = shared.gpu_memory_bytes;
  options.on_device_failure = shared.on_device_failure;
  const Explanation said = lu_explanation(context, problem, options);
  fmt::print(json.people(), "{}", lu_text(said));
  if (json) json.write(lu_json(said, options));
}

void run(const ExplainFlags& flags) {
  const bool products = !std::all_of(flags.problems.begin(), flags.problems.end(), is_lu_text);
  const GemmOptions options = products ? options_from(flags) : GemmOptions();
  std::vector<std::variant<GemmProblem, LuProblem>> problems;
  for (const auto& text : flags.problems)
    if (is_lu_text(text))
      problems.emplace_back(parse_lu_problem(text));
    else
      problems.emplace_back(parse_problem(text));
  Context context;
  JsonLines json(flags.json);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i > 0) fmt::print(json.people(), "\n");
    if (const auto* factorization = std::get_if<LuProblem>(&problems[i]))
      explain_one(context, *factorization, flags, json);
    else
      explain_one(context, std::get<GemmProblem>(problems[i]), options, json);
  }
}

}  // namespace

void add_explain(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("explain", "what would run a problem and why, without running it");
  auto flags = std::make_shared<ExplainFlags>();
  verb->add_option("PROBLEM", flags->problems,
                   "e.g. gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6 or lu:f64:m=2000,n=2000")
      ->required();
  verb->add_option("--target", flags->target, "auto, cpu, gpu or hybrid (default auto)");
  verb->add_option("--objective", flags->objective,
                   "time, energy, edp, alpha=0.7 or energy_within=5% (default time)");
  verb->add_option("--candidate", flags->candidate, "the candidate that must run it; stencil is gemm");
  verb->add_option("--config", flags->config, "JSON fields over the default config");
  verb->add_option("--threads", flags->threads, "threads (default: OpenMP's)")->check(CLI::Range(1, 4096));
  add_hybrid_flags(*verb, flags->hybrid);
  verb->add_option("--json", flags->json, "one JSON object per problem into this file (- is stdout)");
  verb->footer("Example: tilewright explain gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6");
  verb->callback([flags] { run(*flags); });
}

}  // namespace tilewright::cli
