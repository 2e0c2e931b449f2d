// Measures the configs of a list: the log that can be gone on with, sentinels, notes of what disturbs, rows.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "gemm_large_sweep.hpp"
#include "measure/clock.hpp"
#include "wisdom/families.hpp"
#include "work_sharing.hpp"

namespace tilewright::bench {
namespace {

constexpr int busy_percent = 5;  // utilisation before the start that somebody else must have caused

bool is_measured(const nlohmann::json& row, const char* phase) {
  return row.value("phase", "") == phase && row.value("impl", "") == "tilewright" && row.contains("config");
}

template <class V>
nlohmann::json or_null(const std::optional<V>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

std::vector<GemmLargeConfig> configs_from(const std::vector<nlohmann::json>& rows) {
  std::vector<GemmLargeConfig> configs;
  for (const auto& row : rows) configs.push_back(from_json<GemmLargeConfig>(row));
  return configs;
}

}  // namespace

LargeSweep::LargeSweep(const SweepFlags& flags, const GpuLoadWindow& window)
    : flags_(flags),
      window_(window),
      list_(read_sweep_list(flags.configs)),
      problem_(parse_problem(list_.head.at("problem").get<std::string>())),
      list_shape_(gemm_large_shape(problem_)),
      shape_(list_shape_),
      device_(flags.device, flags.share, flags.cache) {
  for (const SweepEntry& entry : list_.entries) entries_[to_json(entry.config).dump()] = &entry;
  const std::string hash = current_source_hash("gemm");
  if (const auto listed = list_.head.value("source_hash", ""); listed != hash)
    throw Error(ErrorCode::invalid_argument, "--configs",
                fmt::format("--configs = '{}' was compiled from sources {}, and these are {}", flags.configs,
                            listed, hash));
  device_.prepare(problem_);
}

void LargeSweep::open_log(bool resume) {
  log_ = std::make_unique<LineLog>(flags_.json, LineLogRules{"json", "command", resume, "sweep"});
  const GpuLimits& limits = device_.gpu().limits();
  const nlohmann::json sweep{
      {"problem", to_string(problem_)},      {"device", limits.name},
      {"device_uuid", limits.uuid},          {"source_hash", current_source_hash("gemm")},
      {"seed", list_.head.value("seed", 0)}, {"kept", list_.head.value("kept", 0)}};
  rows_ = log_->kept();
  if (rows_.empty()) {
    nlohmann::json head{{"command", flags_.command}, {"sweep", sweep}};
    if (!flags_.done.empty()) head["done"] = flags_.done;
    log_->write(head);
  } else {
    log_->refuse_other_run(rows_.front().value("sweep", nlohmann::json::object()), sweep);
    log_->write({{"resumed", flags_.command}});
  }
  take_sentinels();
  look_idle();
}

// Those of an earlier run, of the problem at hand.
void LargeSweep::take_sentinels() {
  watch_ = {};
  for (const auto& row : rows_) {
    if (row.value("impl", "") != "cublas" || row.value("problem", "") != to_string(problem_)) continue;
    SentinelReading reading{row.at("metrics").at("mean_seconds").get<double>(), std::nullopt};
    if (row.at("energy_j").is_number()) reading.joules = row["energy_j"].get<double>();
    watch_.add(reading);
  }
}

std::size_t LargeSweep::count_measured(const char* phase, const nlohmann::json& config) const {
  return static_cast<std::size_t>(std::count_if(rows_.begin(), rows_.end(), [&](const auto& row) {
    return is_measured(row, phase) && row["config"] == config &&
           row.value("problem", "") == to_string(problem_);
  }));
}

// Of this file and of the cards that --done names.
std::vector<SweepPoint> LargeSweep::screened() const {
  std::vector<std::string> paths = flags_.done;
  if (std::filesystem::exists(flags_.json) || paths.empty()) paths.insert(paths.begin(), flags_.json);
  return screened_points(paths, to_string(problem_));
}

// Before anything of ours runs: a card in use by another says so by its utilisation.
void LargeSweep::look_idle() {
  nlohmann::json line{{"phase", "idle"}, {"device_uuid", device_.gpu().limits().uuid}};
  std::vector<std::string> notes;
  if (device_.nvml() == nullptr) {
    notes.push_back("no energy is measured: " + device_.nvml_fault());
  } else {
    const GpuReadings readings = device_.nvml()->read();
    GpuUse use;
    for (int look = 0; look < 5; ++look) {
      const GpuUse now = device_.nvml()->use();
      use = {std::max(use.utilisation, now.utilisation), std::max(use.other_processes, now.other_processes),
             now.clock_reasons, now.power_limit_w};
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    line.update({{"utilisation", or_null(use.utilisation)},
                 {"other_processes", or_null(use.other_processes)},
                 {"clock_reasons", or_null(use.clock_reasons)},
                 {"power_limit_w", or_null(use.power_limit_w)},
                 {"power_w", or_null(readings.power_w)},
                 {"temperature_c", or_null(readings.temperature_c)},
                 {"driver", device_.nvml()->driver_version()}});
    if (!readings.energy_j) notes.push_back("no energy is measured: the device reports none");
    if (use.utilisation.value_or(0) > busy_percent)
      notes.push_back(fmt::format("the card was {} % busy before the sweep began", *use.utilisation));
    if (use.other_processes.value_or(0) > 0)
      notes.push_back(fmt::format("{} other processes compute on the card", *use.other_processes));
  }
  line["notes"] = notes;
  log_->write(line);
  for (const std::string& note : notes) std::printf("NOTE %s\n", note.c_str());
}

void LargeSweep::sentinel(const char* phase) {
  since_sentinel_ = 0;
  const LargeLoad load = device_.steady(device_.cublas(problem_), window_);
  auto row = device_.row(problem_, "cublas", nullptr, phase);
  add_times(row, problem_, load.seconds);
  add_energy(row, problem_, load);
  SentinelReading reading{load.mean_s, std::nullopt};
  if (load.energy.fault.empty()) reading.joules = row["energy_j"].get<double>();
  watch_.add(reading);
  card_notes_ = watch_.notes();
  if (device_.nvml() != nullptr) {
    const GpuUse use = device_.nvml()->use();
    row["metrics"]["clock_reasons"] = or_null(use.clock_reasons);
    row["metrics"]["other_processes"] = or_null(use.other_processes);
    if (use.other_processes.value_or(0) > 0)
      card_notes_.push_back(fmt::format("{} other processes compute on the card", *use.other_processes));
  }
  row["metrics"]["sentinel_time_ratio"] = watch_.time_ratio();
  row["metrics"]["sentinel_energy_ratio"] = or_null(watch_.energy_ratio());
  if (!card_notes_.empty()) row["notes"] = card_notes_;
  for (const std::string& note : card_notes_) std::printf("NOTE %s\n", note.c_str());
  log_->write(row);
}

JitBinary LargeSweep::binary_of(const GemmLargeConfig& config) const {
  const StencilRequest request =
      gemm_large_request(shape_, config, problem_.dtype, device_.gpu().limits().compute_capability);
  try {
    return device_.compiler().cached(request);  // whichever compiler made it
  } catch (const Error&) {
    return device_.compiler().compile(request);
  }
}

// On all cores into the cache: a device that waits for a compiler costs as much as one that measures.
void LargeSweep::compile_all(const std::vector<GemmLargeConfig>& configs) const {
  share_work(configs.size(), all_cores(), [&](std::size_t i) {
    try {
      binary_of(configs[i]);
    } catch (const Error&) {  // load_kernel() meets it again, and says so
    }
  });
}

LargeTrial LargeSweep::load_kernel(const GemmLargeConfig& config) const {
  LargeTrial trial;
  trial.config = config;
  try {
    return device_.load(shape_, problem_.dtype, config, binary_of(config));
  } catch (const Error& error) {
    trial.fault = error.what();
  }
  return trial;
}

void LargeSweep::refuse(const GemmLargeConfig& config, const char* phase, const std::string& fault) {
  const nlohmann::json row{{"phase", phase},
                           {"impl", "tilewright"},
                           {"family", "gemm"},
                           {"problem", to_string(problem_)},
                           {"config", to_json(config)},
                           {"device_uuid", device_.gpu().limits().uuid},
                           {"fault", fault}};
  log_->write(row);
  rows_.push_back(row);
  std::printf("FAULT %s | %s\n", fault.c_str(), describe(config).c_str());
}

// Bytes and instructions of the whole problem by level.
void LargeSweep::add_levels(nlohmann::json& row, const LargeTrial& trial) const {
  const GemmLargeConfig& c = trial.config;
  const int resident = trial.kernel->blocks_per_multiprocessor();
  const GpuLimits& limits = device_.gpu().limits();
  const GemmLargeTraffic traffic = gemm_large_traffic(problem_, shape_, c, limits, resident);
  auto& metrics = row["metrics"];
  metrics["bytes"] = {
      {"memory", traffic.memory_bytes}, {"l2", traffic.l2_bytes}, {"shared", traffic.shared_bytes}};
  const auto entry = entries_.find(to_json(c).dump());
  const bool counted = entry != entries_.end() && entry->second->instructions.is_object();
  if (!counted || shape_ != list_shape_) return;  // other alignments are other code
  const GemmLargeGrid grid = gemm_large_grid(gemm_large_of_clusters(c), problem_.m, problem_.n, problem_.k,
                                             limits.multiprocessors * resident / c.cluster);
  const double warp_tiles = double(grid.tiles()) * c.cluster * grid.k_tiles * gemm_large_warps(c);
  double total = 0;
  for (const auto& item : entry->second->instructions.items()) {
    const double count = item.value().get<double>() * warp_tiles;
    metrics["instructions"][item.key()] = count;
    total += count;
  }
  metrics["instructions"]["all"] = total;
}

void LargeSweep::measure(const GemmLargeConfig& config, const char* phase) {
  if (since_sentinel_ == 0 || since_sentinel_ >= flags_.sentinel_every) sentinel(phase);
  ++since_sentinel_;
  LargeTrial trial = load_kernel(config);
  if (trial.fault.empty()) device_.check(problem_, trial);
  LargeLoad load;
  if (trial.fault.empty()) try {
      load = device_.steady(device_.ours(problem_, trial), window_);
    } catch (const Error& error) {
      trial.fault = error.what();
    }
  if (!trial.fault.empty()) {
    refuse(config, phase, trial.fault);
    // A kernel that broke the context ends the run here, or all that follow would be blamed with it.
    device_.gpu().synchronize();
    return;
  }
  auto row = device_.row(problem_, "tilewright", &trial, phase);
  add_times(row, problem_, load.seconds);
  add_energy(row, problem_, load);
  add_levels(row, trial);
  row["metrics"]["heat_s"] = window_.heat_s;
  row["metrics"]["sentinel_time_ratio"] = watch_.time_ratio();
  row["metrics"]["sentinel_energy_ratio"] = or_null(watch_.energy_ratio());
  if (!card_notes_.empty()) row["notes"] = card_notes_;
  log_->write(row);
  rows_.push_back(row);
}

bool LargeSweep::late(std::size_t left) const {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (elapsed < flags_.budget_s) return false;
  std::printf("budget of %.0f s used: %zu measurements left; go on with --resume\n", flags_.budget_s, left);
  return true;
}

// Configs that files of other cards have, but for some anchors.
std::set<std::string> LargeSweep::left_to_others() const {
  std::set<std::string> theirs;
  for (const std::string& path : flags_.done)
    for (const auto& row : sweep_lines(path, "--done")) {
      if (row.value("device_uuid", "") == device_.gpu().limits().uuid)
        throw Error(
            ErrorCode::invalid_argument, "--done",
            fmt::format("--done = '{}' was measured on this very card: go on with it by --json and --resume",
                        path));
      if (is_measured(row, "screen")) theirs.insert(row["config"].dump());
    }
  std::size_t anchors = flags_.anchors;
  for (const SweepEntry& entry : list_.entries)
    if (anchors > 0 && theirs.erase(to_json(entry.config).dump()) > 0) --anchors;
  return theirs;
}

bool LargeSweep::screen() {
  const auto others = left_to_others();
  open_log(flags_.resume);
  std::vector<const SweepEntry*> todo;
  for (const SweepEntry& entry : list_.entries)
    if (const auto config = to_json(entry.config);
        others.count(config.dump()) == 0 && count_measured("screen", config) == 0)
      todo.push_back(&entry);
  std::printf("screen: %zu of %zu configs are to be measured\n", todo.size(), list_.entries.size());
  std::size_t done = 0;
  for (; done < todo.size() && !late(todo.size() - done); ++done) {
    measure(todo[done]->config, "screen");
    if ((done + 1) % 20 == 0) std::printf("screen: %zu of %zu\n", done + 1, todo.size()), std::fflush(stdout);
  }
  if (done > 0) sentinel("screen");
  return finish("screen", done, todo.size() - done);
}

// How often other files have each config of this problem measured long, whatever the card or the sources: the
// analysis joins cards, and says of which sources rows are.
std::map<std::string, std::size_t> LargeSweep::long_elsewhere() const {
  std::map<std::string, std::size_t> counts;
  for (const std::string& path : flags_.done) {
    if (std::error_code none; std::filesystem::equivalent(path, flags_.json, none))
      throw Error(ErrorCode::invalid_argument, "--done",
                  fmt::format("--done = '{}' is the file of --json, whose rows count already", path));
    for (const SweepRow& row : sweep_rows(sweep_lines(path, "--done"), path))
      if (row.phase == "long" && row.impl == "tilewright" && row.seconds &&
          row.problem == to_string(problem_))
        ++counts[row.config.dump()];
  }
  return counts;
}

// Goes on with the file, --resume or not: beginning it anew would put aside what it chooses from.
bool LargeSweep::measure_long() {
  const LongChoice choice = choose_long(screened(), flags_.best, flags_.repeated);
  std::map<std::string, std::size_t> elsewhere = long_elsewhere();
  open_log(true);
  std::vector<GemmLargeConfig> todo;
  const auto add = [&](const std::vector<nlohmann::json>& configs, std::size_t round) {
    for (const auto& config : configs)
      if (count_measured("long", config) + elsewhere[config.dump()] < round)
        todo.push_back(from_json<GemmLargeConfig>(config));
  };
  add(choice.all, 1);
  for (std::size_t round = 2; round <= flags_.repeats; ++round) add(choice.repeated, round);
  std::printf("long: %zu configs, %zu of them %zu times; %zu measurements are left\n", choice.all.size(),
              choice.repeated.size(), flags_.repeats, todo.size());
  compile_all(todo);
  std::size_t done = 0;
  for (; done < todo.size() && !late(todo.size() - done); ++done) measure(todo[done], "long");
  if (done > 0) sentinel("long");
  return finish("long", done, todo.size() - done);
}

// Goes on with the file as measure_long() does.
bool LargeSweep::measure_sizes() {
  const auto configs = choose_sizes(screened(), flags_.size_count);
  open_log(true);
  std::size_t done = 0, left = flags_.sizes.size() * configs.size();
  for (const std::int64_t n : flags_.sizes) {
    problem_ = large_problem(problem_.dtype, n, n, n, op_pair(problem_));
    shape_ = gemm_large_shape(problem_);  // its columns may be aligned to less
    device_.prepare(problem_);
    take_sentinels();
    since_sentinel_ = 0;
    const auto space = gemm_large_space(problem_, shape_, device_.gpu().limits());
    std::vector<GemmLargeConfig> missing;
    for (const auto& json : configs)
      if (const auto config = from_json<GemmLargeConfig>(json);
          space.contains(config) && count_measured("sizes", json) == 0)
        missing.push_back(config);
    compile_all(missing);
    for (const auto& json : configs) {
      --left;
      if (count_measured("sizes", json) > 0) continue;
      if (late(left + 1)) return finish("sizes", done, left + 1);
      const auto config = from_json<GemmLargeConfig>(json);
      if (const auto reasons = space.explain(config); !reasons.empty())
        refuse(config, "sizes", reasons.front());
      else
        measure(config, "sizes"), ++done;
    }
  }
  return finish("sizes", done, 0);
}

bool LargeSweep::finish(const char* phase, std::size_t measured, std::size_t left) const {
  std::printf("%s: %zu measured in %.0f s, %zu left\n", phase, measured,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(), left);
  return left == 0;
}

// One launch each and nothing else of ours, so that a profiler's list of kernels is the order file's.
void LargeSweep::sample() {
  const auto configs = choose_sample(screened_points(flags_.done, to_string(problem_)), flags_.sample_count);
  compile_all(configs_from(configs));
  LineLog order(flags_.json, LineLogRules{"json", "command", false, "device_uuid"});
  order.write({{"command", flags_.command}, {"device_uuid", device_.gpu().limits().uuid}});
  std::size_t launched = 0;
  for (const auto& config : configs) {
    const LargeTrial trial = load_kernel(from_json<GemmLargeConfig>(config));
    if (gemm_large_parts(problem_, trial.config).size() > 1)
      continue;  // counters are joined launch by launch
    if (!trial.fault.empty()) {
      std::printf("FAULT %s | %s\n", trial.fault.c_str(), describe(trial.config).c_str());
      continue;
    }
    const GpuLaunch launch = trial.kernel->needs(problem_).launch;
    order.write({{"order", launched++},
                 {"problem", to_string(problem_)},
                 {"config", config},
                 {"blocks", launch.blocks},
                 {"threads", launch.threads}});
    device_.ours(problem_, trial)();
    device_.gpu().synchronize();
  }
  std::printf("sample: %zu launches in the order of '%s'\n", launched, flags_.json.c_str());
}

}  // namespace tilewright::bench
