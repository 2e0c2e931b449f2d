// The verb explain: prints the plan that the library would make for each PROBLEM, without running it. This
// file has the flags and the order: the verdict first, reasons on request. The operations have the words.
#include <fmt/format.h>

#include <algorithm>

#include "core/quantity.hpp"
#include "device/team.hpp"
#include "operations/operation.hpp"
#include "output/json_lines.hpp"
#include "people/table.hpp"
#include "verbs.hpp"

namespace tilewright::cli {

namespace {

constexpr std::size_t label_width = 11;  // of the labels that the library's text has

// The verdict, and the reasons if they are asked for or nothing runs the problem.
void tell_plan(std::FILE* out, const Explained& said, const ExplainFlags& flags) {
  const std::size_t first = said.verdict.find('\n') + 1;
  const std::size_t second = std::min(said.verdict.find('\n', first), said.verdict.size());
  const std::string plan = said.verdict.substr(first, second - first);
  fmt::print(out, "{}{}{}", people::wrapped(said.verdict.substr(0, first), label_width),
             people::bold(out, people::wrapped(plan, label_width)),
             people::wrapped(said.verdict.substr(second), label_width));
  if (flags.all || !said.served) {
    fmt::print(out, "{}", people::wrapped(said.reasons, label_width));
    return;
  }
  std::int64_t declined = 0;
  if (const auto all = said.json.find("candidates"); all != said.json.end())
    for (const nlohmann::json& one : *all) declined += one.at("taken").get<bool>() ? 0 : 1;
  if (declined > 0) fmt::print(out, "{} declined: --all tells why\n", counted(declined, "other candidate"));
}

void explain_problems(const ExplainFlags& flags, const ToolOperations& operations) {
  std::vector<ToolOperation::Explainer> explainers;
  for (const std::string& text : flags.problems)
    explainers.push_back(operation_of(operations, text).explainer(text, flags));
  Context context;
  JsonLines json(flags.json);
  int unserved = 0;
  std::string first_unserved;
  for (std::size_t i = 0; i < explainers.size(); ++i) {
    if (i > 0) fmt::print(json.people(), "\n");
    const Explained said = explainers[i](context);
    tell_plan(json.people(), said, flags);
    if (json) json.write(said.json);
    if (!said.served && unserved++ == 0) first_unserved = flags.problems[i];
  }
  if (unserved > 0)
    throw JobFailed(fmt::format("no candidate serves {}{}", first_unserved,
                                unserved > 1 ? fmt::format(" and {} more", unserved - 1) : ""));
}

}  // namespace

void add_explain(CLI::App& app, const ToolOperations& operations) {
  CLI::App* verb =
      app.add_subcommand("explain", "Explain which candidate runs a problem and why, without running it");
  auto flags = std::make_shared<ExplainFlags>();
  verb->add_option("PROBLEM", flags->problems, "e.g. " + example_problems(operations, " or "))->required();
  verb->add_option("--target", flags->target, "auto, cpu, gpu or hybrid (default auto)");
  verb->add_option("--objective", flags->objective,
                   "time, energy, edp, alpha=0.7 or energy_within=5% (default time)");
  verb->add_option("--candidate", flags->candidate, "force this candidate (names: see `tilewright explain`)");
  verb->add_option("--config", flags->config, "JSON fields over the default config");
  verb->add_option("--threads", flags->threads, "threads (default: OpenMP's)")
      ->check(whole_number(1, most_threads));
  add_hybrid_flags(*verb, flags->hybrid);
  verb->add_flag("--all,--reasons", flags->all, "also tell what every other candidate said");
  verb->add_option("--json", flags->json, "write one JSON object per problem to this file (- is stdout)");
  verb->footer("Example: tilewright explain gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6");
  verb->callback([flags, operations] { explain_problems(*flags, operations); });
}

}  // namespace tilewright::cli
