// Sentences and keys of tuned problems.
#include "tune_report.hpp"

#include <algorithm>

#include "bench/lu/keys.hpp"
#include "core/build_info.hpp"
#include "core/lu_problem.hpp"
#include "gemm/kept.hpp"
#include "kernel/layout/layout.hpp"
#include "lu/problem.hpp"
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
}

void add_speed(nlohmann::json& line, const WisdomRecord& record, double flops_each) {
  for (const char* key :
       {"gflops", "bound_gflops", "bound_share", "bound_kind", "ceiling", "watts", "gflops_per_watt"})
    line[key] = nullptr;
  if (record.seconds > 0) line["gflops"] = flops_each / record.seconds * 1e-9;
}

// By the kept ceilings of one thread, or of the GPU that the line names.
void add_bound(nlohmann::json& line, const GemmProblem& p, double batch_s) {
  const auto kept = kept_bound(p, line.value("device", ""), 1);
  if (!kept || !(batch_s > 0)) return;
  const Bound& bound = kept->bound;
  line["bound_gflops"] = bound.gflops, line["bound_share"] = bound.seconds / batch_s;
  line["bound_kind"] = bound.kind, line["ceiling"] = bound.ceiling;
}

void add_energy(nlohmann::json& line, const WisdomRecord& record, double flops_each) {
  if (!record.energy_j || !(record.seconds > 0)) {
    line["energy_j"] = nullptr;
    line["energy_note"] = "the objective asks for no energy, and no meter was read";
    return;
  }
  line["watts"] = *record.energy_j / record.seconds;
  line["gflops_per_watt"] = flops_each / *record.energy_j * 1e-9;
}

// Such as 4.21 ns, or 12.3 ms.
std::string time_text(double seconds) {
  for (const auto& [unit, size] : {std::pair{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}})
    if (seconds >= size) return fmt::format("{:.4g} {}", seconds / size, unit);
  return fmt::format("{:.4g} ns", seconds * 1e9);
}

std::string difference(const nlohmann::json& winner, const nlohmann::json& standard) {
  std::string text;
  for (const auto& item : winner.items())
    if (item.value() != standard[item.key()]) text += fmt::format("{}={} ", item.key(), item.value().dump());
  return text.empty() ? "the default" : text;
}

// Blocks to interleave a batch to, of the family layout.
void print_conversion(std::FILE* out, const TuneResult& r, const std::string& removed) {
  fmt::print(out,
             "{}: blocks of {} take {} per problem converted in and out and multiplied once, the default "
             "of {} {}, regret of the default {:.1f} %{}; {} blocks, {:.1f} s\n",
             r.subject, r.config.at("block").get<int>(), time_text(r.seconds.centre),
             r.default_config.at("block").get<int>(), time_text(r.default_seconds.centre), 100 * r.regret,
             r.tie ? ", a tie: what was known stays" : "", r.candidates, r.tuning_s);
  fmt::print(out, "{}", removed);
  const auto costs = from_json<LayoutCosts>(r.findings.at("costs"));
  fmt::print(out, "  {}\n", explain_conversion(parse_problem(r.subject), &costs));
  if (r.wrong > 0) fmt::print(out, "  {} blocks are wrong, such as {}\n", r.wrong, r.first_wrong);
}

void print_outcome(std::FILE* out, const SearchOutcome& o, const std::string& winner,
                   const std::string& removed) {
  fmt::print(out,
             "{}: best {} per problem, default {}, regret of the default {:.1f} %{}; {} of {} "
             "configs measured, {:.1f} s: {}\n",
             o.subject, time_text(o.seconds.centre), time_text(o.default_seconds.centre), 100 * o.regret,
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
    fmt::print(out, "  {} {} takes {} in the same rounds; regret against it {}\n", peer.name,
               peer.config.value("version", ""), time_text(peer.seconds.centre),
               peer.regret ? fmt::format("{:.1f} %", 100 * *peer.regret) : "is not known");
  for (const std::string& reason : o.peers_left_out) fmt::print(out, "  not in the contest: {}\n", reason);
  if (!o.tied.empty())
    fmt::print(out, "  {} other finalists cannot be told from it in {} round{}\n", o.tied.size(), o.rounds,
               o.rounds == 1 ? "" : "s");
  if (o.discarded_rounds > 0)
    fmt::print(out, "  {} round{} thrown away because the machine drifted\n", o.discarded_rounds,
               o.discarded_rounds == 1 ? " was" : "s were");
  if (o.wrong > 0) fmt::print(out, "  {} configs failed the check, such as {}\n", o.wrong, o.first_wrong);
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

nlohmann::json measured_line(const WisdomRecord& record) {
  nlohmann::json line;
  for (const char* key : {"read_s", "kernel_s", "write_s", "total_s", "device_uuid", "driver", "error",
                          "error_bound", "memory", "threads", "target"})
    line[key] = nullptr;
  line["data"] = "uniform";
  line["impl"] = "tilewright", line["impl_version"] = TILEWRIGHT_VERSION;
  line["wisdom_match"] = "exact";  // what it is from now on
  line["metrics"] = nlohmann::json::object();
  line["commit"] = build_commit;
  std::optional<GemmProblem> product;
  double flops_each = 0;
  if (is_lu_text(record.problem)) {
    const LuProblem p = parse_lu_problem(record.problem);
    line.update(bench::lu_problem_keys(p));
    line["location"] = to_string(p.location);
    flops_each = flops(p);
  } else {
    product = parse_problem(record.problem);
    add_case(line, *product);
    flops_each = flops(*product) / double(product->batch_count);
  }
  line.update(to_json(record));
  add_speed(line, record, flops_each);
  if (product) add_bound(line, *product, record.seconds * double(product->batch_count));
  add_energy(line, record, flops_each);
  return line;
}

}  // namespace tilewright::cli
