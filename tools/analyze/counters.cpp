// Reads CSV and joins it by position.
#include "analyze/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/input/checked.hpp"
#include "core/input/json_text.hpp"
#include "measure/recorded_file.hpp"
#include "people/refusal.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  io_fault("--counters", "--counters = '{}' {}", path, why);
}

// Returns the cells of a line, each in quotes or not; quotes inside are doubled.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

// Accepts "1,234.5" as well.
std::optional<double> number_in(std::string cell) {
  std::erase(cell, ',');
  if (cell.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

// Converts "(128, 1, 1)" to 128.
long long volume_in(const std::string& cell) {
  long long product = 1;
  for (std::size_t at = cell.find_first_of("0123456789"); at != std::string::npos;
       at = cell.find_first_of("0123456789", at)) {
    char* end = nullptr;
    product = saturating_product(product, std::strtoll(cell.c_str() + at, &end, 10));
    at = static_cast<std::size_t>(end - cell.c_str());
  }
  return product;
}

ProfiledLaunch launch_in(const std::vector<std::string>& names, const std::vector<std::string>& cells) {
  ProfiledLaunch launch;
  for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i) {
    if (names[i] == "Kernel Name") launch.name = cells[i];
    if (names[i] == "Grid Size") launch.blocks = volume_in(cells[i]);
    if (names[i] == "Block Size") launch.threads = volume_in(cells[i]);
    // Counters are named unit__name; other columns describe the case.
    if (names[i].find("__") == std::string::npos) continue;
    if (const auto value = number_in(cells[i])) launch.counters[names[i]] = *value;
  }
  return launch;
}

std::vector<nlohmann::json> order_lines(const std::string& path) {
  std::istringstream file = read_recorded(path, "--order", ErrorCode::invalid_argument);
  std::vector<nlohmann::json> lines;
  for (std::string text; next_line(file, text);) {
    lines.push_back(parse_json_or_discard(text));
    if (!lines.back().is_object())
      io_fault("--order", "--order = '{}' contains '{}'", path, text.substr(0, 40));
  }
  return lines;
}

[[noreturn]] void refuse_order(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "--order", "--order: " + why);
}

using Cards = std::map<std::string, std::string>;  // the cards that measured a sweep: identifier -> kind

Cards cards_of(const std::vector<SweepCase>& cases) {
  Cards cards;
  for (const SweepCase& one : cases)
    for (const SweepJoin& join : one.joins) cards.emplace(join.uuid, one.device);
  return cards;
}

bool is_measured_on(const SweepCase& one, const std::string& uuid) {
  return std::any_of(one.joins.begin(), one.joins.end(),
                     [&](const SweepJoin& join) { return join.uuid == uuid; });
}

// Counters of another card or of an unknown problem explain nothing here. Counters of a card of the same kind
// that measured the sweep's other problems are accepted, with a note.
void refuse_strangers(const SweepCase& one, const OrderedLaunch& launch, std::size_t number,
                      const Cards& cards) {
  if (launch.problem.empty())
    refuse_order(fmt::format("launch {} names no problem; launch the sample again", number));
  if (launch.problem != one.problem || launch.uuid.empty() || is_measured_on(one, launch.uuid)) return;
  const auto card = cards.find(launch.uuid);
  if (card == cards.end())
    refuse_order(fmt::format("launch {} ran on the card '{}', on which nothing of the sweep was measured",
                             number, launch.uuid));
  if (card->second != one.device)
    refuse_order(fmt::format("launch {} ran on the card '{}', a {}, but {} was measured on a {}", number,
                             launch.uuid, card->second, one.problem, one.device));
}

std::size_t join_one(SweepCase& one, const std::vector<ProfiledLaunch>& profile,
                     const std::vector<OrderedLaunch>& order) {
  std::size_t joined = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].problem != one.problem) continue;
    const nlohmann::json config = complete_config(one.family, order[i].config);
    for (SweepPoint& point : one.points) {
      if (point.config != config) continue;
      for (const auto& [name, value] : profile[i].counters) point.metrics["counters." + name] = value;
      if (const std::string& uuid = order[i].uuid; !uuid.empty() && !is_measured_on(one, uuid))
        ++one.notes[fmt::format("counters are of the card '{}', which measured other problems only", uuid)];
      ++joined;
    }
  }
  return joined;
}

// Assigns kernels to launches, sums their counters, and computes figures from the sums.

using Counters = std::map<std::string, double>;
using Kernels = std::vector<const ProfiledLaunch*>;

constexpr const char* duration = "gpu__time_duration.sum";  // in nanoseconds with --print-units base
constexpr const char* instructions = "smsp__sass_thread_inst_executed_op_";
constexpr const char* stalled = "smsp__average_warps_issue_stalled_";
constexpr const char* stalled_end = "_per_issue_active.ratio";

bool is_ours(const std::string& impl) { return impl == "tilewright"; }

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "--counters", "--counters: " + why);
}

// tilewright's kernels have their stencil's name, and each of its launches has one kernel; all kernels
// between two of them belong to the library's launch at that place in the order.
std::vector<Kernels> kernels_of(const std::vector<ProfiledLaunch>& profile,
                                const std::vector<OrderedLaunch>& order) {
  std::vector<Kernels> kernels(order.size());
  std::size_t next = 0;  // the first launch without a kernel so far
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const ProfiledLaunch& kernel = profile[i];
    const bool own = kernel.name.find("gemm_small") != std::string::npos ||
                     kernel.name.find("gemm_large") != std::string::npos;
    if (own)
      while (next < order.size() && !is_ours(order[next].impl))
        ++next;  // a launch whose kernels were not profiled
    const bool begins = next < order.size() && own == is_ours(order[next].impl);
    if (own && !begins) refuse(fmt::format("kernel {} '{}' has no launch in --order", i, kernel.name));
    if (begins) ++next;
    if (next == 0 || (!own && is_ours(order[next - 1].impl)))
      refuse(fmt::format("kernel {} '{}' belongs to no launch of --order", i, kernel.name));
    const OrderedLaunch& launch = order[next - 1];
    if (own && (kernel.blocks != launch.blocks || kernel.threads != launch.threads))
      refuse(fmt::format("kernel {} has {} blocks of {} threads, but --order has {} of {}", i, kernel.blocks,
                         kernel.threads, launch.blocks, launch.threads));
    kernels[next - 1].push_back(&kernel);
  }
  for (std::size_t i = 0; i < order.size(); ++i)
    if (is_ours(order[i].impl) && kernels[i].empty())
      refuse(fmt::format("launch {} of --order is not in the profile", i));
  return kernels;
}

// Adds the counters that are sums; the rest is a mean over time.
Counters together(const Kernels& kernels) {
  Counters sums, weights;
  for (const ProfiledLaunch* kernel : kernels) {
    const auto time = kernel->counters.find(duration);
    const double weight = time == kernel->counters.end() ? 1 : time->second;
    for (const auto& [name, value] : kernel->counters) {
      const bool adds = name.ends_with(".sum");
      sums[name] += adds ? value : value * weight;
      weights[name] += adds ? 0 : weight;
    }
  }
  for (auto& [name, sum] : sums)
    if (weights[name] > 0) sum /= weights[name];
  return sums;
}

class Figures {
 public:
  explicit Figures(const Counters& counters) : counters_(counters) {}

  std::optional<double> value(const std::string& name) const {
    const auto found = counters_.find(name);
    return found == counters_.end() ? std::nullopt : std::optional(found->second);
  }
  // Returns the sum of those that are present; empty if there are none.
  std::optional<double> sum(const std::vector<std::string>& names) const {
    std::optional<double> sum;
    for (const std::string& name : names)
      if (const auto one = value(name)) sum = sum.value_or(0) + *one;
    return sum;
  }
  static std::vector<std::string> executed(const std::vector<std::string>& kinds) {
    std::vector<std::string> names;
    for (const std::string& kind : kinds) names.push_back(instructions + kind + "_pred_on.sum");
    return names;
  }
  void add(const char* key, const std::optional<double>& value, double factor = 1) {
    if (value) json_[key] = *value * factor;
  }
  // Null if no such instruction ran, for which the profiler has 0.
  void add_efficiency(const char* key, const char* operation) {
    const auto percent =
        value(fmt::format("smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.pct", operation));
    if (percent.value_or(0) > 0) add(key, percent, 0.01);
  }
  void add_share(const char* key, const std::optional<double>& part, const std::optional<double>& whole) {
    if (part && whole && *whole > 0) json_[key] = *part / *whole;
  }
  void add_top_stall() {
    std::string most;
    double largest = 0, all = 0;
    for (const auto& [name, value] : counters_) {
      if (!name.starts_with(stalled) || !name.ends_with(stalled_end)) continue;
      const std::string reason =
          name.substr(std::string(stalled).size(),
                      name.size() - std::string(stalled).size() - std::string(stalled_end).size());
      if (reason == "selected") continue;  // these warps issue
      all += value;
      if (value <= largest) continue;
      largest = value;
      most = reason;
    }
    if (all <= 0) return;
    json_["top_stall"] = most;
    json_["top_stall_share"] = largest / all;
  }
  nlohmann::json take() { return std::move(json_); }

 private:
  const Counters& counters_;
  nlohmann::json json_ = nlohmann::json::object();
};

nlohmann::json figures_of(const Counters& counters, const nlohmann::json& bound_bytes) {
  Figures f(counters);
  const auto counted = f.sum(Figures::executed({"integer", "fp32", "fp64"}));
  f.add("seconds", f.value(duration), 1e-9);
  f.add_share("integer_share", f.sum(Figures::executed({"integer"})), counted);
  f.add_share("fma_share", f.sum(Figures::executed({"ffma", "dfma"})), counted);
  auto tensor = f.value("sm__inst_executed_pipe_tensor.sum");
  if (!tensor) tensor = f.value("sm__inst_executed_pipe_tensor_op_dmma.sum");
  f.add_share("tensor_share", tensor, f.value("smsp__inst_executed.sum"));
  f.add("occupancy", f.value("sm__warps_active.avg.pct_of_peak_sustained_active"), 0.01);
  f.add_efficiency("load_efficiency", "ld");
  f.add_efficiency("store_efficiency", "st");
  f.add("dram_gbs", f.value("dram__bytes.sum.per_second"), 1e-9);
  if (bound_bytes.is_number())
    f.add_share("bound_bytes_share", bound_bytes.get<double>(), f.value("dram__bytes.sum"));
  const std::string conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_";
  f.add_share("conflict_share", f.sum({conflicts + "ld.sum", conflicts + "st.sum"}),
              f.value("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"));
  f.add_top_stall();
  return f.take();
}

}  // namespace

std::vector<ProfiledLaunch> read_profile(const std::string& path) {
  std::istringstream file = read_recorded(path, "--counters", ErrorCode::invalid_argument);
  std::vector<std::string> names;
  std::vector<ProfiledLaunch> launches;
  for (std::string line; next_line(file, line);) {
    if (names.empty() && !line.starts_with("\"ID\"") && !line.starts_with("ID,"))
      continue;  // the profiler's own messages
    const auto cells = cells_of(line);
    if (names.empty())
      names = cells;
    else if (number_in(cells.front()))  // the line of units has no ID
      launches.push_back(launch_in(names, cells));
  }
  if (names.empty()) refuse(path, "is not a CSV file of ncu: no line begins with \"ID\"");
  if (std::find(names.begin(), names.end(), "Metric Name") != names.end())
    refuse(path, "lists details: print it with --page raw");
  if (launches.empty()) refuse(path, "lists no kernel");
  return launches;
}

std::vector<OrderedLaunch> read_launch_order(const std::string& path) {
  std::vector<OrderedLaunch> order;
  std::string uuid;  // of the first line, which applies to all launches
  for (const auto& line : order_lines(path)) {
    const auto integer = [&](const char* key) {
      return line.contains(key) ? json_number<std::int64_t>(line, key) : 0;
    };
    try {
      uuid = line.value("device_uuid", uuid);
      if (line.contains("order"))
        order.push_back({line.value("config", nlohmann::json()), integer("blocks"), integer("threads"),
                         line.value("impl", "tilewright"), line, line.value("problem", ""), uuid});
    } catch (const nlohmann::json::exception& error) {
      io_fault("--order", "--order = '{}': {}", path, json_fault(error));
    }
  }
  return order;
}

nlohmann::json read_order_head(const std::string& path) {
  const auto lines = order_lines(path);
  return lines.empty() ? nlohmann::json::object() : lines.front();
}

std::size_t join_counters(std::vector<SweepCase>& cases, const std::vector<ProfiledLaunch>& profile,
                          const std::vector<OrderedLaunch>& order) {
  if (profile.size() != order.size())
    wrong_use("--counters",
              "--counters lists {} kernels and --order {} launches: they are not of one run "
              "(did ncu select the kernels of the sample only?)",
              profile.size(), order.size());
  const Cards cards = cards_of(cases);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (profile[i].blocks != order[i].blocks || profile[i].threads != order[i].threads)
      wrong_use("--counters", "--counters: kernel {} has {} blocks of {} threads, but --order has {} of {}",
                i, profile[i].blocks, profile[i].threads, order[i].blocks, order[i].threads);
    for (SweepCase& one : cases) refuse_strangers(one, order[i], i, cards);
  }
  std::size_t joined = 0;
  for (SweepCase& one : cases) joined += join_one(one, profile, order);
  return joined;
}

std::vector<nlohmann::json> launch_counters(const std::vector<ProfiledLaunch>& profile,
                                            const std::vector<OrderedLaunch>& order) {
  const auto kernels = kernels_of(profile, order);
  std::vector<nlohmann::json> rows;
  for (std::size_t i = 0; i < order.size(); ++i) {
    nlohmann::json row = order[i].line;
    row["kernels"] = kernels[i].size();
    row["counters"] = figures_of(together(kernels[i]), row.value("bound_bytes", nlohmann::json()));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tilewright
