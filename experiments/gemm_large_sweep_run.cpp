// Measures the configs of a list: a log that can be continued, sentinels, notes of disturbances, rows.
#include <algorithm>
#include <filesystem>
#include <set>

#include "analyze/data.hpp"
#include "experiment.hpp"
#include "gemm_large_sweep.hpp"
#include "people/refusal.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

bool is_measured(const json& row, const char* phase) {
  return row.value("phase", "") == phase && row.value("impl", "") == "tilewright" && row.contains("config");
}

template <class V>
json or_null(const std::optional<V>& value) {
  return value ? json(*value) : json();
}

class Sweep : Experiment {
 public:
  Sweep(const SweepFlags& flags, const GpuLoadWindow& window, const char* phase)
      : Experiment(flags.device),
        flags_(flags),
        window_(window),
        phase_(phase),
        list_(read_sweep_list(flags.configs)) {
    for (const SweepEntry& entry : list_.entries) entries_[to_json(entry.config).dump()] = &entry;
    const std::string hash = current_source_hash("gemm");
    if (const auto listed = list_.head.value("source_hash", ""); listed != hash)
      wrong_use("--configs", "--configs = '{}' was compiled from sources {}, and these are {}", flags.configs,
                listed, hash);
    set_problem(large_case(parse_problem(list_.head.at("problem").get<std::string>())));
    list_shape_ = shape_;
  }

  bool screen() {
    const auto others = left_to_others();
    open_log(flags_.resume);
    std::vector<json> todo;
    for (const SweepEntry& entry : list_.entries)
      if (json config = to_json(entry.config);
          others.count(config.dump()) == 0 && count_measured(config) == 0)
        todo.push_back(std::move(config));
    return measure_all(todo, list_.entries.size());
  }

  // Continues the file, with --resume or not: starting anew would move aside the rows that it chooses from.
  bool measure_long() {
    const LongChoice choice = choose_long(screened(), flags_.best, flags_.repeated);
    std::map<std::string, std::size_t> elsewhere = long_elsewhere();
    open_log(true);
    std::vector<json> todo;
    const auto add = [&](const std::vector<json>& configs, std::size_t round) {
      for (const json& config : configs)
        if (count_measured(config) + elsewhere[config.dump()] < round) todo.push_back(config);
    };
    add(choice.all, 1);
    for (std::size_t round = 2; round <= flags_.repeats; ++round) add(choice.repeated, round);
    std::printf("long: %zu configs, %zu of them %zu times; %zu measurements are left\n", choice.all.size(),
                choice.repeated.size(), flags_.repeats, todo.size());
    compile(todo);
    return measure_all(todo, todo.size());
  }

  // Continues the file as measure_long() does.
  bool measure_sizes() {
    const auto configs = choose_sizes(screened(), flags_.size_count);
    open_log(true);
    const GemmProblem first = case_.problem;
    bool complete = true;
    for (const std::int64_t n : flags_.sizes) {
      set_problem(large_case(first.dtype, op_pair(first), n));  // its columns may have a smaller alignment
      take_sentinels();
      since_sentinel_ = 0;
      const auto space = gemm_large_space(case_.problem, shape_, gpu.gpu.limits());
      std::vector<json> todo;
      for (const json& config : configs) {
        if (count_measured(config) > 0) continue;
        if (const auto reasons = space.explain(from_json<GemmLargeConfig>(config)); reasons.empty())
          todo.push_back(config);
        else
          refuse(config, reasons.front());
      }
      compile(todo);
      complete = measure_all(todo, configs.size()) && complete;
    }
    return complete;
  }

  // Launches each config once and nothing else, so that a profiler's list of kernels matches the order file.
  void sample() {
    const auto configs =
        choose_sample(screened_points(flags_.done, to_string(case_.problem)), flags_.sample_count);
    compile(configs);
    LineLog order(flags_.json, LineLogRules{"json", "command", false, "device_uuid"});
    order.write({{"command", command_line()}, {"device_uuid", gpu.gpu.limits().uuid}});
    std::size_t launched = 0;
    for (const json& config : configs) {
      const auto own = from_json<GemmLargeConfig>(config);
      if (gemm_large_parts(case_.problem, own).size() > 1) continue;  // counters are joined launch by launch
      try {
        const Contender one = tested(*stage_, config);
        const GpuLaunch launch =
            gpu.machine->gemm_large(shape_, own, case_.problem.dtype, true)->needs(case_.problem).launch;
        order.write({{"order", launched++},
                     {"problem", to_string(case_.problem)},
                     {"config", config},
                     {"blocks", launch.blocks},
                     {"threads", launch.threads}});
        one.run(0);
        gpu.gpu.synchronize();
      } catch (const Error& error) {
        std::printf("FAULT %s | %s\n", error.what(), describe(own).c_str());
      }
    }
    std::printf("sample: %zu launches in the order of '%s'\n", launched, flags_.json.c_str());
  }

 private:
  void set_problem(const Case& c) {
    case_ = c;
    shape_ = gemm_large_shape(c.problem);
    stage_.reset();
    stage_ = std::make_unique<GpuStage>(gpu, gpu.arena, case_);
  }

  void open_log(bool resume) {
    log_ = std::make_unique<LineLog>(flags_.json, LineLogRules{"json", "command", resume, "sweep"});
    const GpuLimits& limits = gpu.gpu.limits();
    const json now{{"problem", to_string(case_.problem)}, {"device", limits.name},
                   {"device_uuid", limits.uuid},          {"source_hash", current_source_hash("gemm")},
                   {"seed", list_.head.value("seed", 0)}, {"kept", list_.head.value("kept", 0)}};
    rows_ = log_->kept();
    if (rows_.empty()) {
      json head{{"command", command_line()}, {"sweep", now}};
      if (!flags_.done.empty()) head["done"] = flags_.done;
      log_->write(head);
    } else {
      log_->refuse_other_run(rows_.front().value("sweep", json::object()), now);
      log_->write({{"resumed", command_line()}});
    }
    take_sentinels();
    tell_idle();
  }

  // Records the state before this process's first launch: the utilisation shows whether others use the card.
  void tell_idle() {
    std::vector<std::string> notes = gpu.use.notes();
    json line{{"phase", "idle"}, {"device_uuid", gpu.gpu.limits().uuid}};
    if (const Nvml* nvml = gpu.use.nvml(); nvml == nullptr) {
      notes.push_back("no energy is measured: " + gpu.use.absence());
    } else {
      const GpuUse use = nvml->use();
      const GpuReadings readings = nvml->read();
      line.update({{"clock_reasons", or_null(use.clock_reasons)},
                   {"power_limit_w", or_null(use.power_limit_w)},
                   {"power_w", or_null(readings.power_w)},
                   {"temperature_c", or_null(readings.temperature_c)},
                   {"driver", nvml->driver_version()}});
      if (!readings.energy_j) notes.push_back("no energy is measured: the device reports none");
    }
    line["notes"] = notes;
    log_->write(line);
    for (const std::string& note : notes) std::printf("NOTE %s\n", note.c_str());
  }

  // Reads the sentinels of an earlier run for the current problem.
  void take_sentinels() {
    watch_ = {};
    for (const json& row : rows_) {
      if (row.value("impl", "") != "cublas" || row.value("problem", "") != to_string(case_.problem)) continue;
      SentinelReading reading{row.at("metrics").at("mean_seconds").get<double>(), std::nullopt};
      if (row.at("energy_j").is_number()) reading.joules = row["energy_j"].get<double>();
      watch_.add(reading);
    }
  }

  std::size_t count_measured(const json& config) const {
    return static_cast<std::size_t>(std::count_if(rows_.begin(), rows_.end(), [&](const json& row) {
      return is_measured(row, phase_) && row["config"] == config &&
             row.value("problem", "") == to_string(case_.problem);
    }));
  }

  // Returns the points of this file and of the cards that --done names.
  std::vector<SweepPoint> screened() const {
    std::vector<std::string> paths = flags_.done;
    if (std::filesystem::exists(flags_.json) || paths.empty()) paths.insert(paths.begin(), flags_.json);
    return screened_points(paths, to_string(case_.problem));
  }

  // Measures a load of one contender, as a row.
  json weighed(Contender& one) {
    GpuObserver observer(gpu.gpu.limits().uuid);
    const GpuLoad load = stage_->steady(one, window_, &observer);
    one.seconds = estimate(load.batches_s);
    json line = row(case_, phase_, one);
    observer.report(line["metrics"]);
    add_load(line, case_, load);
    return line;
  }

  void sentinel() {
    since_sentinel_ = 0;
    Contender peer = cublas(*stage_);
    json line = weighed(peer);
    SentinelReading reading{line["metrics"]["mean_seconds"].get<double>(), std::nullopt};
    if (line["energy_j"].is_number()) reading.joules = line["energy_j"].get<double>();
    watch_.add(reading);
    card_notes_ = watch_.notes();
    if (const Nvml* nvml = gpu.use.nvml(); nvml != nullptr) {
      const GpuUse use = nvml->use();
      line["metrics"]["clock_reasons"] = or_null(use.clock_reasons);
      line["metrics"]["other_processes"] = or_null(use.other_processes);
      for (const std::string& note : notes_during(*nvml)) card_notes_.push_back(note);
    }
    for (const std::string& note : card_notes_) std::printf("NOTE %s\n", note.c_str());
    write(line);
  }

  void write(json& line) {
    line["metrics"]["sentinel_time_ratio"] = watch_.time_ratio();
    line["metrics"]["sentinel_energy_ratio"] = or_null(watch_.energy_ratio());
    if (!card_notes_.empty()) line["notes"] = card_notes_;
    log_->write(line);
    rows_.push_back(line);
  }

  // Compiles on all cores: a device that waits for a compiler costs as much as one that measures. A config
  // that does not compile fails again at its launch and is reported then.
  void compile(const std::vector<json>& configs) {
    GemmOptions options = stage_->options();
    options.candidate = "gpu_large";
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < configs.size(); ++i) try {
        GemmOptions own = options;
        own.config = configs[i].dump();
        plan(gpu.context, case_.problem, own);
      } catch (const Error&) {
      }
  }

  void refuse(const json& config, const std::string& fault) {
    const json line{{"phase", phase_},  {"impl", "tilewright"},
                    {"family", "gemm"}, {"problem", to_string(case_.problem)},
                    {"config", config}, {"device_uuid", gpu.gpu.limits().uuid},
                    {"fault", fault}};
    log_->write(line);
    rows_.push_back(line);
    std::printf("FAULT %s | %s\n", fault.c_str(), config.dump().c_str());
  }

  // Adds bytes and instructions of the whole problem by level.
  void add_levels(json& line, const GemmLargeConfig& c) const {
    json& metrics = line["metrics"];
    const GpuLimits& limits = gpu.gpu.limits();
    const int resident = metrics.at("blocks_per_multiprocessor").get<int>();
    const GemmLargeTraffic traffic = gemm_large_traffic(case_.problem, shape_, c, limits, resident);
    metrics["bytes"] = {
        {"memory", traffic.memory_bytes}, {"l2", traffic.l2_bytes}, {"shared", traffic.shared_bytes}};
    metrics["heat_s"] = window_.heat_s;
    const auto entry = entries_.find(to_json(c).dump());
    const bool counted = entry != entries_.end() && entry->second->instructions.is_object();
    if (!counted || shape_ != list_shape_) return;  // other alignments have other code
    const GemmProblem& p = case_.problem;
    const GemmLargeGrid grid = gemm_large_grid(gemm_large_of_clusters(c), p.m, p.n, p.k,
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

  void measure(const json& config) {
    if (since_sentinel_ == 0 || since_sentinel_ >= flags_.sentinel_every) sentinel();
    ++since_sentinel_;
    try {
      Contender one = tested(*stage_, config);
      one.accuracy = one.check();
      if (!one.accuracy.passed())
        throw Error(
            ErrorCode::internal, "config",
            fmt::format("error {:.3g} above its bound {:.3g}", one.accuracy.error, one.accuracy.bound));
      json line = weighed(one);
      add_levels(line, from_json<GemmLargeConfig>(config));
      write(line);
    } catch (const Error& error) {
      refuse(config, error.what());
      // If a kernel broke the context, the run must end here, or all later ones would be blamed for it.
      gpu.gpu.synchronize();
    }
  }

  bool measure_all(const std::vector<json>& todo, std::size_t of) {
    std::printf("%s: %zu of %zu configs are to be measured\n", phase_, todo.size(), of);
    std::size_t done = 0;
    for (; done < todo.size(); ++done) {
      if (late(flags_.budget_s, fmt::format("{} measurements", todo.size() - done))) break;
      measure(todo[done]);
      if ((done + 1) % 20 == 0)
        std::printf("%s: %zu of %zu\n", phase_, done + 1, todo.size()), std::fflush(stdout);
    }
    if (done > 0) sentinel();
    std::printf("%s: %zu measured in %.0f s, %zu left\n", phase_, done, elapsed(), todo.size() - done);
    return done == todo.size();
  }

  // Returns the configs that files of other cards have, except some anchors.
  std::set<std::string> left_to_others() const {
    std::set<std::string> theirs;
    for (const std::string& path : flags_.done)
      for (const json& row : sweep_lines(path, "--done")) {
        if (row.value("device_uuid", "") == gpu.gpu.limits().uuid)
          wrong_use("--done",
                    "--done = '{}' was measured on this very card: go on with it by --json and --resume",
                    path);
        if (is_measured(row, "screen")) theirs.insert(row["config"].dump());
      }
    std::size_t anchors = flags_.anchors;
    for (const SweepEntry& entry : list_.entries)
      if (anchors > 0 && theirs.erase(to_json(entry.config).dump()) > 0) --anchors;
    return theirs;
  }

  // Returns how often other files have each config of this problem measured long, whatever the card or the
  // sources: the analysis joins cards, and reports the sources of rows.
  std::map<std::string, std::size_t> long_elsewhere() const {
    std::map<std::string, std::size_t> counts;
    for (const std::string& path : flags_.done) {
      if (std::error_code none; std::filesystem::equivalent(path, flags_.json, none))
        refuse_value("--done", path, "is the file of --json, whose rows count already");
      for (const SweepRow& row : sweep_rows(sweep_lines(path, "--done"), path))
        if (row.phase == "long" && row.impl == "tilewright" && row.seconds &&
            row.problem == to_string(case_.problem))
          ++counts[row.config.dump()];
    }
    return counts;
  }

  SweepFlags flags_;
  GpuLoadWindow window_;
  const char* phase_;
  SweepList list_;
  std::map<std::string, const SweepEntry*> entries_;  // by config
  Case case_;                                         // the current one
  GemmLargeShape list_shape_, shape_;  // of the counted instructions, and of the current problem
  std::unique_ptr<GpuStage> stage_;
  std::unique_ptr<LineLog> log_;
  std::vector<json> rows_;  // of this file, kept and new
  SentinelWatch watch_;
  std::vector<std::string> card_notes_;  // of the last check for other users of the card
  std::size_t since_sentinel_ = 0;
};

}  // namespace

bool screen(const SweepFlags& flags) { return Sweep(flags, flags.window, "screen").screen(); }
bool measure_long(const SweepFlags& flags) { return Sweep(flags, flags.long_window, "long").measure_long(); }
bool measure_sizes(const SweepFlags& flags) { return Sweep(flags, flags.window, "sizes").measure_sizes(); }
void sample(const SweepFlags& flags) { Sweep(flags, flags.window, "sample").sample(); }

}  // namespace tilewright::bench
