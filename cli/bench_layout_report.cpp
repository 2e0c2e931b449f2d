// Tables, rows and costs of `bench layout`.
#include <fmt/format.h>

#include "bench_layout.hpp"
#include "bench_report.hpp"
#include "measure/clock.hpp"
#include "provenance.hpp"

namespace tilewright::cli {
namespace {

using nlohmann::json;

std::string threshold_text(const LayoutCosts& costs) {
  const auto threshold = conversion_reuse_threshold(costs);
  return threshold ? fmt::format("{}", *threshold) : "never";
}

json row(const LayoutResult& result, const LayoutPart& part) {
  const BenchCase& c = result.bench_case;
  json object = case_keys(c);
  object["impl"] = part.impl, object["impl_version"] = part.version;
  object.update(seconds_keys(part.seconds));
  object["gflops"] = flops(c.problem) * (c.hot() ? c.threads : 1) / part.seconds.centre * 1e-9;
  object["metrics"] = {{"what", part.what}, {"clock", clock_name(c.threads)}, {"block", result.costs.block}};
  object["metrics"].update(part.metrics);
  object.update(part.keys);
  add_provenance(object);
  object.update(result.provenance);
  return object;
}

}  // namespace

const LayoutPart* LayoutResult::find(const std::string& what, bool ours) const {
  for (const LayoutPart& part : parts)
    if (part.what == what && (part.impl == "tilewright") == ours) return &part;
  return nullptr;
}

LayoutCosts layout_costs(const LayoutResult& result, std::int64_t block, double share) {
  const GemmProblem& p = result.bench_case.problem;
  const auto seconds = [&](const char* what) { return share * result.find(what)->seconds.centre; };
  return {.dtype = p.dtype,
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .from = p.layout,
          .block = block,
          .residency = p.residency,
          .convert_in_s = seconds("convert_in"),
          .convert_out_s = seconds("convert_out"),
          .direct_s = seconds("direct"),
          .interleaved_s = seconds("interleaved")};
}

std::string layout_table_head() {
  return fmt::format("nanoseconds per problem\n{:<40} {:>9} {:>9} {:>9} {:>12} {:>10}  {:<16} {:>9} {:>10}",
                     "case", "in", "out", "direct", "interleaved", "converted", "best peer", "its time",
                     "pays from");
}

std::string layout_table_line(const LayoutResult& result) {
  const BenchCase& c = result.bench_case;
  const double scale = 1e9 / double(c.problem.batch_count) / (c.hot() ? c.threads : 1);
  const auto ns = [&](const char* what) { return result.find(what)->seconds.centre * scale; };
  const LayoutPart* peer = result.find("direct", false);
  std::string text =
      fmt::format("{} {}x{}x{} {} {} b{:g}", to_string(c.problem.dtype), c.problem.m, c.problem.n,
                  c.problem.k, to_string(c.layout), to_string(c.problem.residency), c.beta);
  if (c.problem.location == Location::host) text += fmt::format(" t{}", c.threads);
  text += fmt::format(" block {}", result.costs.block);
  const int digits = c.problem.location == Location::device ? 3 : 1;  // a GPU takes fractions of one
  std::string line = fmt::format("{:<40}", text);
  for (const auto& [what, width] : {std::pair{"convert_in", 9},
                                    {"convert_out", 9},
                                    {"direct", 9},
                                    {"interleaved", 12},
                                    {"converted", 10}})
    line += fmt::format(" {:>{}.{}f}", ns(what), width, digits);
  line += fmt::format("  {:<16} {:>9} {:>10}", peer == nullptr ? "none" : peer->impl,
                      peer == nullptr ? "" : fmt::format("{:.{}f}", peer->seconds.centre * scale, digits),
                      threshold_text(result.costs));
  for (const std::string& note : result.notes) line += "\n    " + note;
  return line;
}

void write_layout(JsonLines& lines, const LayoutResult& result) {
  for (const LayoutPart& part : result.parts) lines.write(row(result, part));
  json record = to_json(result.costs);
  record["family"] = "layout";
  record["problem"] = problem_text(result.bench_case);
  record["location"] = to_string(result.bench_case.problem.location);
  const auto threshold = conversion_reuse_threshold(result.costs);
  record["reuse_threshold"] = threshold ? json(*threshold) : json();
  add_provenance(record);
  record.update(result.provenance);
  lines.write(record);
}

}  // namespace tilewright::cli
