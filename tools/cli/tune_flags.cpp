// Reading of lists, logs and durations.
#include "tune_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "core/input/failure.hpp"
#include "core/input/json_text.hpp"
#include "core/refuse.hpp"
#include "core/trust.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "lists.hpp"
#include "measure/operands.hpp"
#include "output/json_lines.hpp"
#include "people/refusal.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::cli {
namespace {

// "nr=4,8" -> axis and JSON values; bare words are text.
AxisChoice parse_choice(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    refuse_value("--set", text, "is not of the form axis=v1,v2");
  AxisChoice choice;
  choice.axis = text.substr(0, equals);
  for (const std::string& item : split(text.substr(equals + 1), ',')) {
    auto value = parse_json_or_discard(item);
    choice.values.push_back(value.is_discarded() ? nlohmann::json(item) : value);
  }
  return choice;
}

void add_problem(std::vector<GemmProblem>& problems, const GemmProblem& problem) {
  if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
}

std::int64_t largest_size(const GemmProblem& p) { return std::max({p.m, p.n, p.k}); }

// False if the batch is too large for the cache that the residency names.
bool fits_cache(const GemmProblem& problem, Residency residency) {
  if (problem.batch_count <= 1) return true;
  const double room = residency == Residency::l1 ? l1_bytes : l2_bytes;
  return residency == Residency::cold || bytes(problem) <= room;
}

bool has_gpu() {
#if TILEWRIGHT_HAS_GPU
  std::string reason;
  return Gpu::count(reason) > 0;
#else
  return false;
#endif
}

// Returns the location of the operands. By default problems without a space to search on the host are for the
// GPU, if there is one.
Location place_of(const TuneFlags& flags, const GemmProblem& problem) {
  if (!flags.location.empty()) return enum_from_string<Location>(flags.location, "--location");
  return largest_size(problem) > gemm_small_cpu_limit && has_gpu() ? Location::device : Location::host;
}

// The problem of one line of a record log. Throws Error, or what JSON of other types throws.
GemmProblem logged_problem(const nlohmann::json& line) {
  GemmProblem problem = with_general_scalars(parse_problem(line.at("problem").get<std::string>()));
  if (line.contains("residency"))
    problem.residency = enum_from_string<Residency>(line["residency"].get<std::string>(), "residency");
  // As calls judge it that leave it open.
  if (problem.residency == Residency::automatic) problem.residency = judged_residency(problem, {});
  return problem;
}

// Why a logged problem has no configs to search; "" where it has. Programs multiply matrices without elements
// too, as HPL does at the edge of a panel.
std::string why_without_space(const GemmProblem& problem) {
  if (std::min({problem.m, problem.n, problem.k}) == 0) return "a size of 0 and cannot be tuned";
  if (problem.location == Location::host && largest_size(problem) > gemm_small_cpu_limit)
    return fmt::format("a size above {}, which cannot be tuned on the host", gemm_small_cpu_limit);
  return "";
}

// The distinct problems of a record log.
void add_logged(const std::string& path, std::vector<GemmProblem>& problems) {
  require_readable("--from", path);
  std::ifstream file(path);
  int number = 0, found = 0;
  for (std::string line; next_line(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto refuse = [&](const std::string& why) {
      wrong_use("--from", "--from = '{}': line {} is not a record of a problem: {}", path, number, why);
    };
    GemmProblem problem;
    const auto read = [&](const nlohmann::json& record) { problem = logged_problem(record); };
    try {
      visit_json(line, read, [](const std::string& why) { refuse_argument("--from", why); });
    } catch (const Error& error) {
      refuse(error.what());
    }
    ++found;
    if (const std::string why = why_without_space(problem); !why.empty()) {
      fmt::print(stderr, "--from = '{}': line {} is left out: {} has {}\n", path, number, to_string(problem),
                 why);
      continue;
    }
    // A record stands for any batch count, so that several of one problem in a log are one.
    add_problem(problems, problem_to_tune(problem));
  }
  if (found == 0) refuse_value("--from", path, "contains no record of a problem");
}

std::int64_t block_of(const TuneFlags& flags, DType dtype, Layout layout) {
  if (layout != Layout::block_interleaved) return 0;
  if (!flags.block.empty()) return parse_count("--block", flags.block, 1);
  return dtype == DType::f32 || dtype == DType::c64 ? 16 : 8;  // one 64-byte vector of each real component
}

void add_product(const TuneFlags& flags, std::vector<GemmProblem>& problems) {
  const auto sizes = parse_sizes("--sizes", flags.sizes);
  for (const DType dtype : parse_names<DType>("--dtype", flags.dtype))
    for (const Layout layout :
         parse_names<Layout>("--layout", flags.layout.empty() ? "strided" : flags.layout))
      for (const OpPair op : parse_ops("--op", flags.op))
        for (const double beta : parse_numbers("--beta", flags.beta))
          for (const Residency residency : parse_names<Residency>("--residency", flags.residency))
            for (const Size& size : sizes) {
              GemmProblem problem;
              problem.dtype = dtype;
              problem.m = size.m, problem.n = size.n, problem.k = size.k;
              problem.location = place_of(flags, problem);
              const bool on_gpu = problem.location == Location::device;
              problem.layout = layout;
              if (flags.layout.empty() && on_gpu && largest_size(problem) > gemm_small_limit)
                problem.layout = Layout::single;
              problem.block = block_of(flags, dtype, layout);
              problem.op_a = op.a, problem.op_b = op.b;
              problem.beta = scalar_class(beta);
              problem.residency = on_gpu ? Residency::cold : residency;
              problem.batch_count =
                  problem.layout == Layout::single ? 1 : std::max<std::int64_t>(1, problem.block);
              add_problem(problems, packed(problem));
            }
}

}  // namespace

double parse_duration(const char* flag, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  constexpr double longest_s = 10000 * 3600.0;
  if (error == std::errc() && scale != 0 && value <= 0)
    wrong_use(flag, "{} = '{}' must be positive, as in 90s, 10min or 1h", flag, text);
  if (error != std::errc() || scale == 0 || !(value > 0) || !(value * scale <= longest_s))
    wrong_use(flag, "{} = '{}' is not a time such as 90s, 10min or 1h (at most {:g}h)", flag, text,
              longest_s / 3600);
  return value * scale;
}

namespace {

// Returns the properties that a problem shares with those whose configs are its seeds.
GemmProblem without_count(GemmProblem p) {
  p.batch_count = 1;
  if (p.layout == Layout::interleaved) p.block = 1;
  p.stride_a = p.stride_b = p.stride_c = 0;
  p.alpha = Scalar::one;
  p.residency = Residency::cold;
  p.arrival = Arrival::back_to_back;
  return packed(p);
}

void refuse_without_sizes(const TuneFlags& flags) {
  const TuneFlags defaults;
  const std::tuple<const char*, const std::string&, const std::string&> unused[] = {
      {"--dtype", flags.dtype, defaults.dtype},
      {"--op", flags.op, defaults.op},
      {"--beta", flags.beta, defaults.beta},
      {"--layout", flags.layout, defaults.layout},
      {"--block", flags.block, defaults.block}};
  for (const auto& [name, given, value] : unused)
    if (given != value) wrong_use(name, "{} = '{}' needs --sizes: a problem has its own", name, given);
}

// Cache-resident problems come first, since they need little memory to be filled; the rest of the budget pays
// for the gigabyte of cold operands, which is filled again for each element type.
std::vector<GemmProblem> in_order(std::vector<GemmProblem> problems) {
  const auto place = [](const GemmProblem& p) { return std::pair(p.residency == Residency::cold, p.dtype); };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const GemmProblem& x, const GemmProblem& y) { return place(x) < place(y); });
  return problems;
}

// Each problem as calls arrive: as it says itself, or else in every way that --arrival lists.
std::vector<GemmProblem> arriving(const TuneFlags& flags, const std::vector<GemmProblem>& problems) {
  std::vector<GemmProblem> all;
  for (GemmProblem problem : problems) {
    const bool stated = problem.arrival != Arrival::back_to_back;
    for (const Arrival arrival : parse_names<Arrival>("--arrival", flags.arrival)) {
      if (!stated) problem.arrival = arrival;
      add_problem(all, problem);
    }
  }
  return all;
}

// The default problems, which most programs multiply and a search gains on: batches of small squares in both
// real types, in memory and in cache, and on a GPU large products as well. Flags narrow or change them.
std::vector<GemmProblem> default_problems(const TuneFlags& flags) {
  const TuneFlags defaults;
  TuneFlags asked = flags;
  if (flags.dtype == defaults.dtype) asked.dtype = "f64,f32";
  if (flags.residency == defaults.residency) asked.residency = "cold,l2";
  std::vector<GemmProblem> problems;
  if (flags.location != "device") {
    asked.location = "host";
    asked.sizes = "2,3,4,6,8,12,16,24,32";
    add_product(asked, problems);
  }
  if (flags.location == "device" || (flags.location.empty() && has_gpu())) {
    asked.location = "device";
    asked.sizes = "4,8,16,32,1024,2048,4096";
    add_product(asked, problems);
  }
  return problems;
}

}  // namespace

bool names_no_problem(const TuneFlags& flags) {
  return flags.problems.empty() && flags.sizes.empty() && flags.from.empty();
}

std::vector<GemmProblem> problems_of(const TuneFlags& flags) {
  if (names_no_problem(flags)) return in_order(arriving(flags, default_problems(flags)));
  if (flags.sizes.empty()) refuse_without_sizes(flags);
  std::vector<GemmProblem> problems;
  for (const std::string& text : flags.problems) {
    GemmProblem problem = with_general_scalars(parse_problem(text));
    if (text.find("location=") == std::string::npos) problem.location = place_of(flags, problem);
    if (problem.location == Location::device) problem.residency = Residency::cold;
    if (problem.residency != Residency::automatic) {
      add_problem(problems, problem);
      continue;
    }
    const bool chosen = flags.residency != TuneFlags().residency;
    for (const Residency residency : parse_names<Residency>("--residency", flags.residency)) {
      if (!chosen && !fits_cache(problem, residency)) continue;
      problem.residency = residency;
      add_problem(problems, problem);
    }
  }
  if (!flags.from.empty()) add_logged(flags.from, problems);
  if (!flags.sizes.empty()) add_product(flags, problems);
  if (problems.empty()) refuse_value("--from", flags.from, "contains no problem that can be tuned");
  return in_order(arriving(flags, problems));
}

Seeds::Seeds(const std::string& path) {
  require_readable("--seeds", path);
  std::ifstream file(path);
  auto base = nlohmann::json::object();  // of a sweep's turns, which say what differs from it
  int number = 0;
  const auto take = [&](const nlohmann::json& row) {
    if (row.contains("base")) base = row["base"];
    if (!row.contains("problem") || !row.contains("config") || !row["config"].is_object()) return;
    const bool of_sweep = !row.contains("family");
    nlohmann::json config = of_sweep ? base : nlohmann::json::object();
    config.update(row["config"]);
    seeds_.push_back({row.value("family", ""), parse_problem(row["problem"].get<std::string>()), config});
  };
  for (std::string line; next_line(file, line);) {
    ++number;
    visit_json(line, take, [&](const std::string& why) {
      io_fault("--seeds", "--seeds = '{}': line {} is invalid ({})", path, number, why);
    });
  }
}

std::vector<nlohmann::json> Seeds::of(const std::string& family, const GemmProblem& problem) const {
  const GemmProblem wanted = without_count(problem);
  std::vector<const Seed*> found;
  for (const Seed& seed : seeds_)
    if ((seed.family.empty() || seed.family == family) && without_count(seed.problem) == wanted)
      found.push_back(&seed);
  const auto distance = [&](const Seed* seed) {
    return std::abs(std::log(double(seed->problem.batch_count) / double(problem.batch_count)));
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Seed* x, const Seed* y) { return distance(x) < distance(y); });
  std::vector<nlohmann::json> configs;
  for (const Seed* seed : found)
    if (std::find(configs.begin(), configs.end(), seed->config) == configs.end())
      configs.push_back(seed->config);
  return configs;
}

void refuse_flags_of_products(const TuneFlags& flags, const std::string& what) {
  const TuneFlags defaults;
  const std::pair<const char*, bool> given[] = {{"--sizes", !flags.sizes.empty()},
                                                {"--from", !flags.from.empty()},
                                                {"--dtype", flags.dtype != defaults.dtype},
                                                {"--op", flags.op != defaults.op},
                                                {"--layout", flags.layout != defaults.layout},
                                                {"--block", flags.block != defaults.block},
                                                {"--beta", flags.beta != defaults.beta},
                                                {"--residency", flags.residency != defaults.residency},
                                                {"--arrival", flags.arrival != defaults.arrival},
                                                {"--location", !flags.location.empty()},
                                                {"--objective", flags.objective != defaults.objective},
                                                {"--family", flags.family != defaults.family},
                                                {"--space", flags.space != defaults.space},
                                                {"--vary", !flags.vary.empty()},
                                                {"--configs", !flags.configs.empty()},
                                                {"--seeds", !flags.seeds.empty()},
                                                {"--window", !flags.window.empty()},
                                                {"--check", flags.check}};
  for (const auto& [name, is_given] : given)
    if (is_given) not_supported(name, "{} does not apply to {}", name, what);
}

ChoiceRules rules_of(const TuneFlags& flags) {
  ChoiceRules rules;
  if (flags.space != "usual" && flags.space != "whole")
    refuse_value("--space", flags.space, "is not one of usual, whole");
  rules.whole_space = flags.space == "whole";
  for (const std::string& text : flags.set) rules.choices.push_back(parse_choice(text));
  for (const std::string& text : flags.where) rules.conditions.push_back(AxisCondition::parse(text));
  rules.vary = flags.vary;
  if (!flags.configs.empty()) rules.most = std::size_t(parse_count("--configs", flags.configs, 1));
  return rules;
}

void refuse_search_flags(const TuneFlags& flags, std::vector<std::pair<const char*, bool>> more,
                         const std::string& what) {
  const TuneFlags defaults;
  more.insert(more.end(), {{"--strategy", flags.strategy != defaults.strategy},
                           {"--space", flags.space != defaults.space},
                           {"--set", !flags.set.empty()},
                           {"--where", !flags.where.empty()},
                           {"--vary", !flags.vary.empty()},
                           {"--configs", !flags.configs.empty()},
                           {"--seeds", !flags.seeds.empty()},
                           {"--window", !flags.window.empty()},
                           {"--clock", flags.clock != defaults.clock}});
  for (const auto& [name, given] : more)
    if (given) not_supported(name, "{} does not apply to {}", name, what);
}

BudgetClock clock_of(const TuneFlags& flags) {
  if (flags.clock == "turns") return BudgetClock::of_turns();
  if (flags.clock == "wall") return {};
  refuse_value("--clock", flags.clock, "is not one of wall, turns");
}

TuneMachine machine_of(const TuneFlags& flags, Isa isa) {
  return TuneMachine(isa, parse_int("--device", flags.device, 0),
                     std::size_t(parse_count("--megabytes", flags.megabytes, 1)) << 20);
}

std::string default_log(const Environment& environment, const std::string& flag, const char* name,
                        bool resume) {
  const std::string path = cache_file(environment, name);
  if (path.empty() && resume)
    wrong_use("--resume", "--resume needs --{}: there is no cache folder with a log", flag);
  if (path.empty()) return "";
  const auto folder = std::filesystem::path(path).parent_path();
  if (const int error = make_own_folders(folder); error != 0)
    io_fault("--" + flag, "--{} is not given, and the cache folder '{}' cannot be made: {}", flag,
             folder.string(), system_error_text(error));
  return path;
}

// Finds and opens the user's database.
std::unique_ptr<WisdomStore> open_own_wisdom(const std::string& flag, const std::string& asked) {
  const Environment environment = Environment::read();
  const std::string path = asked.empty() ? user_wisdom_path(environment) : asked;
  const std::string argument = !asked.empty() ? "--" + flag : "TILEWRIGHT_WISDOM";
  if (path.empty())
    wrong_use(argument, "{} is empty, and neither HOME nor XDG_DATA_HOME is an absolute path: name a file",
              argument);
  if (is_lines_file(path))
    wrong_use(argument, "{} = '{}' holds JSON lines, which are only read: name a database to write to",
              argument, path);
  return std::make_unique<WisdomStore>(path, sqlite::Mode::write);
}

std::unique_ptr<WisdomStore> open_store_for_search(const std::string& asked) {
  auto store = open_own_wisdom("wisdom", asked);
  store->at_once([] {});  // reading works beside a writer; this tests whether writing does
  return store;
}

}  // namespace tilewright::cli
