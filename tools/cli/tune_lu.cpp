// Flags to a session, and what it finds to sentences and JSON lines.
#include "tune_lu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/lu/keys.hpp"
#include "core/build_info.hpp"
#include "gemm/context_impl.hpp"
#include "interrupt.hpp"
#include "lists.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "own_wisdom.hpp"
#include "tune/lu/session.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

// What is for products alone, or not built for factorizations.
void refuse_flags_of_products(const TuneFlags& flags) {
  const TuneFlags usual;
  const std::pair<const char*, bool> given[] = {{"--sizes", !flags.sizes.empty()},
                                                {"--from", !flags.from.empty()},
                                                {"--dtype", flags.dtype != usual.dtype},
                                                {"--op", flags.op != usual.op},
                                                {"--layout", flags.layout != usual.layout},
                                                {"--block", flags.block != usual.block},
                                                {"--beta", flags.beta != usual.beta},
                                                {"--residency", flags.residency != usual.residency},
                                                {"--location", !flags.location.empty()},
                                                {"--objective", flags.objective != usual.objective},
                                                {"--family", flags.family != usual.family},
                                                {"--space", flags.space != usual.space},
                                                {"--vary", !flags.vary.empty()},
                                                {"--configs", !flags.configs.empty()},
                                                {"--seeds", !flags.seeds.empty()},
                                                {"--window", !flags.window.empty()},
                                                {"--check", flags.check}};
  for (const auto& [name, is_given] : given)
    if (is_given)
      throw Error(ErrorCode::unsupported, name, fmt::format("{} has no meaning with factorizations", name));
}

std::vector<LuProblem> factorizations_of(const TuneFlags& flags) {
  std::vector<LuProblem> problems;
  for (const std::string& text : flags.problems) {
    const LuProblem problem = parse_lu_problem(text);
    if (problem.m < 1 || problem.n < 1 || problem.lda < problem.m)
      throw Error(ErrorCode::invalid_argument, "PROBLEM",
                  fmt::format("PROBLEM = {} has nothing to factor, or columns that overlap", text));
    if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
  }
  return problems;
}

std::string log_path(const TuneFlags& flags, const Context& context) {
  if (!flags.sweep.empty()) return flags.sweep;
  return usual_log(context.impl().environment, "sweep", "sweep_lu.jsonl", flags.resume);
}

std::string way_text(const nlohmann::json& config) {
  const auto known = from_json<LuConfig>(config);
  return known.nb == 0 ? known.candidate : fmt::format("{} with nb={}", known.candidate, known.nb);
}

void print_found(std::FILE* out, const LuTuned& r) {
  if (r.default_config.is_null())
    return fmt::print(out, "{}: {}, found before\n", r.subject, way_text(r.config));
  fmt::print(
      out,
      "{}: {} in {:.4g} ms; what runs untuned, {}, {:.4g} ms, {:.1f} % more{}; {} of {} ways, {:.1f} s\n",
      r.subject, way_text(r.config), r.seconds.centre * 1e3, way_text(r.default_config),
      r.default_seconds.centre * 1e3, 100 * r.regret, r.tie ? ", a tie: what was known stays" : "",
      r.measured, r.candidates, r.tuning_s);
  if (!r.decided)
    fmt::print(out, "  undecided after {} round{}: what was known stays\n", r.rounds,
               r.rounds == 1 ? "" : "s");
  if (r.wrong > 0) fmt::print(out, "  {} ways do not serve, such as {}\n", r.wrong, r.first_wrong);
}

// With the keys that every measurement of the command line has.
nlohmann::json line_of(const LuTuned& r) {
  nlohmann::json line = bench::lu_problem_keys(r.problem);
  line["impl"] = "tilewright";
  line["commit"] = build_commit;
  line.update(r.record);
  return line;
}

LuTuning tuning_of(const TuneFlags& flags, const Context& context, WisdomStore* store) {
  LuTuning tuning;
  if (!flags.budget.empty()) tuning.budget_s = parse_duration("--budget", flags.budget);
  tuning.clock = clock_of(flags);
  tuning.strategy = flags.strategy;
  tuning.rules = rules_of(flags);
  tuning.gpu = parse_int("--device", flags.device, 0);
  tuning.log = {.path = log_path(flags, context), .resume = flags.resume, .keep_all = !flags.sweep.empty()};
  tuning.store = store;
  return tuning;
}

}  // namespace

bool is_lu_tuning(const TuneFlags& flags) {
  const auto count = std::count_if(flags.problems.begin(), flags.problems.end(), is_lu_text);
  if (count != 0 && count != std::ssize(flags.problems))
    throw Error(ErrorCode::invalid_argument, "PROBLEM",
                "products and factorizations are not tuned in one run: name either");
  return count != 0;
}

void tune_factorizations(const TuneFlags& flags) {
  refuse_flags_of_products(flags);
  const auto problems = factorizations_of(flags);
  Context context;
  const auto store = flags.wisdom == "none" ? nullptr : open_store_for_search(flags.wisdom);
  const LuTuning tuning = tuning_of(flags, context, store.get());
  JsonLines json(flags.json);
  Progress progress("tune, seconds of the budget", std::llround(lu_budget_s(tuning, problems.size())));
  Interrupt interrupt;
  bool changed = false;
  LuTuneWatcher watcher;
  watcher.stop = [&](const LuProblem& now, std::size_t done, double spent_s) {
    progress.show(std::llround(spent_s), fmt::format("{}/{} {}", done + 1, problems.size(), to_string(now)));
    return interrupt.requested();
  };
  watcher.found = [&](const LuTuned& result) {
    progress.clear();
    print_found(json.people(), result);
    json.write(line_of(result));
    changed = changed || !result.newer_stays;
    if (result.newer_stays)
      fmt::print(json.people(), "{}: the record of it in {} is newer or better measured, and stays\n",
                 result.subject, store->path());
  };
  const SessionReport report = saying_what_is_saved(
      !tuning.log.path.empty(), [&] { return tune_lu(context, problems, tuning, watcher); });
  progress.clear();
  if (!report.ended.empty()) {
    const auto sentence =
        fmt::format("{}: {} of {} problems are done and kept, --resume goes on with the rest", report.ended,
                    report.done, problems.size());
    if (report.stopped || report.done == 0) throw JobFailed(sentence);
    fmt::print(json.people(), "{}\n", sentence);
  } else if (store != nullptr) {
    fmt::print(json.people(), "{} {}\n", changed ? "kept in" : "nothing was changed in", store->path());
  }
}

}  // namespace tilewright::cli
