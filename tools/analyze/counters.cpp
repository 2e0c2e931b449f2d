// Reads CSV and joins it by position.
#include "analyze/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/input/checked.hpp"
#include "core/input/json_text.hpp"
#include "measure/recorded_file.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::io, "--counters", fmt::format("--counters = '{}' {}", path, why));
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
      throw Error(ErrorCode::io, "--order",
                  fmt::format("--order = '{}' holds '{}'", path, text.substr(0, 40)));
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
    refuse_order(fmt::format("launch {} ran on the card '{}', where nothing of the sweep was measured",
                             number, launch.uuid));
  if (card->second != one.device)
    refuse_order(fmt::format("launch {} ran on the card '{}', a {}, and {} was measured on a {}", number,
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
        ++one.notes[fmt::format("counters are of the card '{}', which measured other problems alone", uuid)];
      ++joined;
    }
  }
  return joined;
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
  if (names.empty()) refuse(path, "is no CSV of ncu: no line begins with \"ID\"");
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
      throw Error(ErrorCode::io, "--order", fmt::format("--order = '{}': {}", path, json_fault(error)));
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
    throw Error(ErrorCode::invalid_argument, "--counters",
                fmt::format("--counters lists {} kernels and --order {} launches: they are not of one run "
                            "(was ncu told to take the kernels of the sample only?)",
                            profile.size(), order.size()));
  const Cards cards = cards_of(cases);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (profile[i].blocks != order[i].blocks || profile[i].threads != order[i].threads)
      throw Error(ErrorCode::invalid_argument, "--counters",
                  fmt::format("--counters: kernel {} has {} blocks of {} threads, and --order says {} of {}",
                              i, profile[i].blocks, profile[i].threads, order[i].blocks, order[i].threads));
    for (SweepCase& one : cases) refuse_strangers(one, order[i], i, cards);
  }
  std::size_t joined = 0;
  for (SweepCase& one : cases) joined += join_one(one, profile, order);
  return joined;
}

}  // namespace tilewright
