// Tables of records, whose names are sorted as people count (8 before 16), and the rows, remarks and keys of
// tuned problems.
#include "report/wisdom_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/build_info.hpp"
#include "core/input/printable.hpp"
#include "core/quantity.hpp"
#include "kernel/layout/layout.hpp"
#include "lists.hpp"
#include "measure/contest.hpp"
#include "operations/operation.hpp"
#include "people/table.hpp"
#include "tune/kernel_timer.hpp"

namespace tilewright::cli {
namespace {

// Returns the text with numbers filled up to one length, so that texts compare as people count.
std::string counting_key(const std::string& text) {
  constexpr std::size_t digits = 12;
  std::string key, number;
  const auto end_number = [&] {
    if (!number.empty()) key += std::string(digits - std::min(digits, number.size()), '0') + number;
    number.clear();
  };
  for (const char c : text)
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number += c;
    } else {
      end_number();
      key += c;
    }
  end_number();
  return key;
}

std::string record_name(const WisdomRecord& record) {
  const std::string name = short_name(record.problem);
  return printable(record.objective == "time" ? name : name + " for " + record.objective);
}

std::string time_of(const WisdomRecord& record) {
  return record.seconds > 0 ? seconds_text(record.seconds) : "unknown";
}

std::vector<std::string> record_row(const WisdomRecord& record) {
  const auto regret = record.regret();
  const bool measured = record.seconds > 0 && record.samples > 0;
  return {record_name(record),
          time_of(record),
          regret ? fmt::format("{:+.1f} %", 100 * *regret) : "",
          measured && record.well_measured()
              ? digits_text(50 * (record.seconds_high - record.seconds_low) / record.seconds, 2) + " %"
              : "unknown",
          printable(record.time.substr(0, record.time.find('T'))),
          printable(record.reason.empty() ? state_of(record) : state_of(record) + ": " + record.reason)};
}

std::string model_name(const FittedModel& model) {
  return printable(fmt::format("model {} of {}{}{}", model.model, model.operation,
                               model.dtype.empty() ? "" : " ", model.dtype));
}

// Works on the parts of the text, so that every operation's problems have names.

// "m=8,n=8,k=8" -> "8"; "m=5,n=13,k=23" -> "5x13x23"; other parts stay.
std::string sizes_of(const std::string& part) {
  std::vector<std::string> sizes;
  for (const std::string& item : split(part, ',')) {
    const std::size_t equals = item.find('=');
    if (equals != 1) return part;
    sizes.push_back(item.substr(2));
  }
  const bool same = std::all_of(sizes.begin(), sizes.end(), [&](const auto& one) { return one == sizes[0]; });
  if (same && sizes.size() == 3) return sizes[0];
  std::string text;
  for (const std::string& one : sizes) text += (text.empty() ? "" : "x") + one;
  return text;
}

// Rows, remarks and keys of tuned problems.

void add_speed(nlohmann::json& line, const WisdomRecord& record, double flops_each) {
  for (const char* key :
       {"gflops", "bound_gflops", "bound_share", "bound_kind", "ceiling", "watts", "gflops_per_watt"})
    line[key] = nullptr;
  if (record.seconds > 0) line["gflops"] = flops_each / record.seconds * 1e-9;
}

void add_energy(nlohmann::json& line, const WisdomRecord& record, double flops_each) {
  if (!record.energy_j || !(record.seconds > 0)) {
    line["energy_j"] = nullptr;
    line["energy_note"] = "no meter was read, because the objective needs no energy";
    return;
  }
  line["watts"] = *record.energy_j / record.seconds;
  line["gflops_per_watt"] = flops_each / *record.energy_j * 1e-9;
}

std::string difference(const nlohmann::json& winner, const nlohmann::json& standard) {
  std::string text;
  for (const auto& item : winner.items())
    if (item.value() != standard[item.key()])
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", item.key(), item.value().dump());
  return text.empty() ? "the default" : text;
}

const people::Table& tune_table() {
  static const people::Table table("problem 39< | default 9 | best 9 | gain 8 | configs 9 | state 21<");
  return table;
}

// Blocks to interleave a batch to, of the family layout.
std::string conversion_remarks(const TuneResult& r) {
  const auto costs = from_json<LayoutCosts>(r.findings.at("costs"));
  const int block = r.config.at("block").get<int>(), standard = r.default_config.at("block").get<int>();
  std::string text =
      fmt::format("  blocks of {}{}: {}\n", block,
                  block == standard ? ", the default" : fmt::format(" instead of {}", standard),
                  explain_conversion(parse_problem(r.subject), &costs));
  if (r.wrong > 0) text += fmt::format("  {} wrong, such as {}\n", counted(r.wrong, "block"), r.first_wrong);
  return text;
}

std::string peer_remarks(const SearchOutcome& o) {
  std::string text;
  for (const PeerOutcome& peer : o.peers)
    text += fmt::format("  {} {} takes {} in the same rounds; regret against it {}\n", peer.name,
                        peer.config.value("version", ""), seconds_text(peer.seconds.centre),
                        peer.regret ? fmt::format("{:.1f} %", 100 * *peer.regret) : "is not known");
  for (const std::string& reason : o.peers_left_out) text += fmt::format("  not compared: {}\n", reason);
  return text;
}

// Prints what only some problems have to say.
std::string attention(const SearchOutcome& o) {
  std::string text;
  if (o.joules)
    text += fmt::format("  {:.4g} J per problem by {}\n", o.joules->centre, o.metrics.value("energy_of", ""));
  for (const std::string& note : o.notes) text += fmt::format("  NOTE {}\n", note);
  if (!o.decided)
    text += fmt::format("  undecided: the budget allowed {}, but {} are needed; the known record stays\n",
                        counted(o.rounds, "paired round"), least_paired_rounds);
  text += peer_remarks(o);
  if (o.wrong > 0)
    text += fmt::format("  {} failed the check, such as {}\n", counted(o.wrong, "config"), o.first_wrong);
  return text;
}

std::string details(const SearchOutcome& o, const std::string& winner) {
  std::string text = fmt::format("  best: {}; regret of the default {:.1f} %, {:.1f} s of search\n", winner,
                                 100 * o.regret, o.tuning_s);
  if (!o.tied.empty())
    text += fmt::format(
        "  {} not significantly slower in {}\n",
        o.tied.size() == 1 ? "1 other finalist is" : fmt::format("{} other finalists are", o.tied.size()),
        counted(o.rounds, "round"));
  if (o.discarded_rounds > 0)
    text += fmt::format(
        "  {} discarded because the machine drifted\n",
        o.discarded_rounds == 1 ? "1 round was" : fmt::format("{} rounds were", o.discarded_rounds));
  return text;
}

}  // namespace

std::string state_of(const WisdomRecord& record) {
  if (!record.passed()) return record.verdict;
  return record.dropped ? "stale" : "current";
}

void print_records(std::FILE* out, std::vector<WisdomRecord> records) {
  std::stable_sort(records.begin(), records.end(), [](const WisdomRecord& x, const WisdomRecord& y) {
    return std::pair(x.device, counting_key(record_name(x))) <
           std::pair(y.device, counting_key(record_name(y)));
  });
  for (std::size_t begin = 0; begin < records.size();) {
    const std::string& device = records[begin].device;
    std::vector<std::vector<std::string>> rows;
    for (; begin < records.size() && records[begin].device == device; ++begin)
      rows.push_back(record_row(records[begin]));
    fmt::print(out, "{}\n{}\n",
               people::bold(out, people::wrapped(printable(
                                     fmt::format("{}: {}", device, counted(std::ssize(rows), "record"))))),
               people::fitted_table({{"problem", 0, true},
                                     {"time", 0},
                                     {"gain", 0},
                                     {"spread", 0},
                                     {"measured", 10, true},
                                     {"state", 0, true}},
                                    rows));
  }
}

void print_models(std::FILE* out, const std::vector<FittedModel>& models) {
  for (const FittedModel& model : models) {
    std::string line =
        fmt::format("{}  {}  {}", model_name(model), model.device, counted(model.samples, "sample"));
    if (model.residual) line += fmt::format(", residual {:.3g}", *model.residual);
    if (!model.library.empty()) line += fmt::format("  {} {}", model.library, model.library_version);
    if (model.dropped) line += "  stale: fitted to other kernel sources, not used";
    fmt::print(out, "{}\n", people::wrapped(printable(line)));
  }
}

DifferenceRow difference_row(const WisdomRecord* first, const WisdomRecord* second,
                             const std::string& better) {
  const auto time = [](const WisdomRecord* one) { return one == nullptr ? "none" : time_of(*one); };
  return {record_name(first != nullptr ? *first : *second), time(first), time(second), better};
}

DifferenceRow difference_row(const FittedModel* first, const FittedModel* second, const std::string& better) {
  const auto samples = [](const FittedModel* one) {
    return one == nullptr ? "none" : counted(one->samples, "sample");
  };
  return {model_name(first != nullptr ? *first : *second), samples(first), samples(second), better};
}

void print_differences(std::FILE* out, const std::vector<DifferenceRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const DifferenceRow& row : rows) cells.push_back({row.what, row.first, row.second, row.better});
  std::stable_sort(cells.begin(), cells.end(), [](const auto& x, const auto& y) {
    return counting_key(x.front()) < counting_key(y.front());
  });
  if (!cells.empty())
    fmt::print(out, "{}\n",
               people::fitted_table({{"differs", 0, true}, {"first", 0}, {"second", 0}, {"better", 7, true}},
                                    cells));
}

std::string short_name(const std::string& problem) {
  std::string name;
  bool is_first = true;
  for (const std::string& part : split(problem, ':')) {
    std::string word = part;
    if (is_first && (part == "gemm" || part == "gemm_batched")) word.clear();
    if (part.starts_with("m=")) word = sizes_of(part);
    for (const char* key : {"batch=", "stride_a=", "stride_b=", "stride_c="})
      if (part.starts_with(key)) word.clear();
    for (const std::string key : {"residency=", "arrival=", "location="})
      if (part.starts_with(key)) word = part.substr(key.size());
    if (!word.empty()) name += (name.empty() ? "" : " ") + word;
    is_first = false;
  }
  return name;
}

std::string removed_text(const std::vector<Removed>& removed, std::size_t most) {
  std::vector<Removed> cuts;
  for (const Removed& one : removed)
    if (one.cut > 0) cuts.push_back(one);
  if (cuts.empty()) return "";
  if (most == 0)
    return fmt::format(
        "  {} the space; --verbose lists them\n",
        cuts.size() == 1 ? "1 constraint cuts" : fmt::format("{} constraints cut", cuts.size()));
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

std::string tune_head() { return tune_table().head(); }

std::string tune_row(const TuneResult& r, const std::string& state) {
  const bool is_best = r.config == r.default_config;
  return tune_table().row({short_name(r.subject), seconds_text(r.default_seconds.centre),
                           seconds_text(r.seconds.centre),
                           is_best ? "" : fmt::format("{:+.1f} %", 100 * r.regret),
                           fmt::format("{}/{}", r.measured, r.candidates), state});
}

std::string tune_remarks(const TuneResult& r, bool verbose) {
  constexpr std::size_t all_lines = 1000;
  std::string text = r.findings.contains("costs") ? conversion_remarks(r) : attention(r);
  if (verbose)
    text += details(r, difference(r.config, r.default_config)) + removed_text(r.removed, all_lines);
  return text;
}

nlohmann::json measured_line(const WisdomRecord& record, const ToolOperations& operations) {
  nlohmann::json line;
  for (const char* key : {"read_s", "kernel_s", "write_s", "total_s", "device_uuid", "driver", "error",
                          "error_bound", "memory", "threads", "target"})
    line[key] = nullptr;
  line["data"] = "uniform";
  line["impl"] = "tilewright", line["impl_version"] = TILEWRIGHT_VERSION;
  line["wisdom_match"] = "exact";  // what it is from now on
  line["metrics"] = nlohmann::json::object();
  line["commit"] = build_commit;
  const ToolOperation& operation = operation_of(operations, record.problem);
  const RecordedProblem problem = operation.recorded(record.problem);
  line.update(problem.keys);
  line.update(to_json(record));
  add_speed(line, record, problem.flops_each);
  operation.add_bound(line, record);
  add_energy(line, record, problem.flops_each);
  return line;
}

}  // namespace tilewright::cli
