// Sentences and keys of tuned problems.
#include "tune_report.hpp"

#include <algorithm>

#include "core/build_info.hpp"
#include "gemm/kept.hpp"
#include "kernel/layout/layout.hpp"
#include "measure/contest.hpp"
#include "tune/prepared_call.hpp"

namespace tilewright::cli {
namespace {

void add_case(nlohmann::json& line, const GemmProblem& p) {
  const bool on_host = p.location == Location::host;
  line["dtype"] = to_string(p.dtype);
  line["op"] = op_pair(p);
  line["m"] = p.m, line["n"] = p.n, line["k"] = p.k;
  line["lda"] = p.lda, line["ldb"] = p.ldb, line["ldc"] = p.ldc;
  line["layout"] = to_string(p.layout);
  line["batch_count"] = p.batch_count;
  line["alpha"] = representative(p.alpha).real(), line["beta"] = representative(p.beta).real();
  line["residency"] = to_string(p.residency);
  line["location"] = to_string(p.location);
  line["memory"] = on_host ? nlohmann::json("pageable") : nlohmann::json();
  line["pointer_order"] = "sequential", line["numa"] = nullptr;
  line["threads"] = on_host ? nlohmann::json(1) : nlohmann::json();
  line["target"] = on_host ? "cpu" : "gpu";
  line["data"] = "uniform";
  line["impl"] = "tilewright", line["impl_version"] = TILEWRIGHT_VERSION;
  line["wisdom_match"] = "exact";  // what it is from now on
}

// By the kept ceilings of one thread, or of the GPU that the line names.
void add_bound(nlohmann::json& line, const GemmProblem& p, double batch_s) {
  for (const char* key : {"bound_gflops", "bound_share", "bound_kind", "ceiling"}) line[key] = nullptr;
  line["gflops"] = batch_s > 0 ? nlohmann::json(flops(p) / batch_s * 1e-9) : nlohmann::json();
  const auto kept = kept_bound(p, line.value("device", ""), 1);
  if (!kept || !(batch_s > 0)) return;
  const Bound& bound = kept->bound;
  line["bound_gflops"] = bound.gflops, line["bound_share"] = bound.seconds / batch_s;
  line["bound_kind"] = bound.kind, line["ceiling"] = bound.ceiling;
}

void add_energy(nlohmann::json& line, const GemmProblem& p, double batch_s) {
  const bool known = line.contains("energy_j") && line["energy_j"].is_number() && batch_s > 0;
  line["watts"] = line["gflops_per_watt"] = nullptr;
  if (!known) {
    line["energy_j"] = nullptr;
    line["energy_note"] = "the objective asks for no energy, and no meter was read";
    return;
  }
  const double batch_j = line["energy_j"].get<double>() * double(p.batch_count);
  line["watts"] = batch_j / batch_s;
  line["gflops_per_watt"] = flops(p) / batch_j * 1e-9;
}

std::string difference(const nlohmann::json& winner, const nlohmann::json& standard) {
  std::string text;
  for (const auto& item : winner.items())
    if (item.value() != standard[item.key()]) text += fmt::format("{}={} ", item.key(), item.value().dump());
  return text.empty() ? "the default" : text;
}

// Blocks to interleave a batch to, of the family layout.
void print_conversion(std::FILE* out, const TuneResult& r, const std::string& removed) {
  fmt::print(
      out,
      "{}: blocks of {} take {:.4g} ns per problem converted in and out and multiplied once, the default "
      "of {} {:.4g} ns, regret of the default {:.1f} %{}; {} blocks, {:.1f} s\n",
      to_string(r.problem), r.config.at("block").get<int>(), r.seconds.centre * 1e9,
      r.default_config.at("block").get<int>(), r.default_seconds.centre * 1e9, 100 * r.regret,
      r.tie ? ", a tie: what was known stays" : "", r.candidates, r.tuning_s);
  fmt::print(out, "{}", removed);
  const auto costs = from_json<LayoutCosts>(r.findings.at("costs"));
  fmt::print(out, "  {}\n", explain_conversion(r.problem, &costs));
  if (r.wrong > 0) fmt::print(out, "  {} blocks are wrong, such as {}\n", r.wrong, r.first_wrong);
}

void print_outcome(std::FILE* out, const SearchOutcome& o, const std::string& winner,
                   const std::string& removed) {
  fmt::print(out,
             "{}: best {:.4g} ns per problem, default {:.4g} ns, regret of the default {:.1f} %{}; {} of {} "
             "configs measured, {:.1f} s: {}\n",
             o.subject, o.seconds.centre * 1e9, o.default_seconds.centre * 1e9, 100 * o.regret,
             o.tie ? ", a tie: what was known stays" : "", o.measured, o.candidates, o.tuning_s, winner);
  fmt::print(out, "{}", removed);
  if (o.joules)
    fmt::print(out, "  {:.4g} J per problem by {}\n", o.joules->centre, o.metrics.value("energy_of", ""));
  for (const std::string& note : o.notes) fmt::print(out, "  NOTE {}\n", note);
  if (!o.decided)
    fmt::print(out,
               "  undecided: {} paired rounds fitted the budget, and fewer than {} tell nothing; what "
               "was known stays\n",
               o.rounds, least_paired_rounds);
  for (const PeerOutcome& peer : o.peers)
    fmt::print(out, "  {} {} takes {:.4g} ns in the same rounds; regret against it {}\n", peer.name,
               peer.config.value("version", ""), peer.seconds.centre * 1e9,
               peer.regret ? fmt::format("{:.1f} %", 100 * *peer.regret) : "is not known");
  for (const std::string& reason : o.peers_left_out) fmt::print(out, "  not in the contest: {}\n", reason);
  if (!o.tied.empty())
    fmt::print(out, "  {} other finalists cannot be told from it in {} round{}\n", o.tied.size(), o.rounds,
               o.rounds == 1 ? "" : "s");
  if (o.discarded_rounds > 0)
    fmt::print(out, "  {} round{} thrown away because the machine drifted\n", o.discarded_rounds,
               o.discarded_rounds == 1 ? " was" : "s were");
  if (o.wrong > 0) fmt::print(out, "  {} configs are wrong, such as {}\n", o.wrong, o.first_wrong);
}

}  // namespace

std::string removed_text(const std::vector<Removed>& removed, std::size_t most) {
  std::vector<Removed> cuts;
  for (const Removed& one : removed)
    if (one.cut > 0) cuts.push_back(one);
  if (cuts.empty()) return "";
  if (most == 0) return fmt::format("  {} constraints cut the space; --verbose lists them\n", cuts.size());
  std::string text = "  branches of the space cut by its constraints:\n";
  if (cuts.size() > most)
    std::stable_sort(cuts.begin(), cuts.end(),
                     [](const Removed& x, const Removed& y) { return x.cut > y.cut; });
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < cuts.size(); ++i)
    if (i < most)
      text += fmt::format("    {:>8}  {}\n", cuts[i].cut, cuts[i].reason);
    else
      rest += cuts[i].cut;
  if (cuts.size() > most) text += fmt::format("    {:>8}  {} others\n", rest, cuts.size() - most);
  return text;
}

void print_result(std::FILE* out, const TuneResult& r, std::size_t most_cuts) {
  if (r.findings.contains("costs"))
    print_conversion(out, r, removed_text(r.removed, most_cuts));
  else
    print_outcome(out, r, difference(r.config, r.default_config), removed_text(r.removed, most_cuts));
}

nlohmann::json measured_line(const nlohmann::json& record) {
  const GemmProblem p = parse_problem(record.at("problem").get<std::string>());
  nlohmann::json line;
  const double batch_s = record.at("seconds").get<double>() * double(p.batch_count);
  add_case(line, p);
  for (const char* key :
       {"read_s", "kernel_s", "write_s", "total_s", "device_uuid", "driver", "error", "error_bound"})
    line[key] = nullptr;
  line["metrics"] = nlohmann::json::object();
  line["commit"] = build_commit;
  line.update(record);
  add_bound(line, p, batch_s);
  add_energy(line, p, batch_s);
  return line;
}

}  // namespace tilewright::cli
