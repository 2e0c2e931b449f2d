// Makes the contenders of one case, samples them, and describes the result in the form that all families
// share; and memory for their operands.
#include "bench/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/plans.hpp"
#include "bench/report.hpp"
#include "core/estimate.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "measure/observer.hpp"
#include "tilewright/allocate.hpp"

namespace tilewright::bench {
namespace {

constexpr std::size_t most_finalists = 3;  // of the configs tried in addition to the plan's
constexpr int screening_turns = 3;

class Run {
 public:
  Run(Machine& machine, const Case& c) : machine_(machine), case_(c), stage_(machine.stage(c)) {
    result_.bench_case = c;
    add_ours();
    add_configs();
    stage_->add_peers(all_, result_.absences);
    check_all(*stage_, c, all_, result_.absences);
  }

  CaseResult result() {
    const bool timed = !machine_.plan.check_only && machine_.plan.races == 0;
    result_.work_flops = flops(case_.problem) * case_.batches_at_once();
    if (timed) {
      stage_->add_loops(all_);
      screen_configs();
      choose_ours();
      hold_rounds(
          all_, [&](Contender& one) { return stage_->turn(one); }, stage_->rules());
      if (case_.is_large() || !case_.on_device()) measure_energies();
      set_bound();
    }
    for (Contender& one : all_)
      if (one.role == Role::tested && machine_.plan.races > 0)
        one.moved = stage_->moved(one, machine_.plan.races);
    stage_->tell(all_, result_);
    keep_best_variants();
    return std::move(result_);
  }

 private:
  // Adds tilewright with and without wisdom or the requested config. On the host the rule of thumb is left
  // out if it gives the same config.
  void add_ours() {
    all_.push_back(stage_->tested("tilewright", machine_.context, stage_->options()));
    const GemmOptions& asked = case_.options;
    if (case_.on_device()) {
      if (asked.config.empty() &&
          (asked.candidate.empty() || (case_.is_large() && asked.candidate == "gpu_large")))
        all_.push_back(stage_->tested("tilewright_default", machine_.without_wisdom, stage_->options()));
      return;
    }
    const auto plan = all_.back().plan;
    const bool is_wise = plan && !config_of(*plan).is_null() && match_of(*plan) != WisdomMatch::none;
    if (!is_wise && asked.config.empty()) return;
    GemmOptions options = stage_->options();
    options.config.clear();
    Contender standard = stage_->tested("tilewright_default", machine_.without_wisdom, options);
    if (!plan || config_of(*standard.plan) != config_of(*plan)) all_.push_back(std::move(standard));
  }

  // Adds the promising configs of the space, compiled concurrently; leaves out those that do not compile or
  // fit.
  void add_configs() {
    std::vector<GemmOptions> tried;
    if (machine_.plan.configs > 0)
      for (const auto& config : stage_->promising(std::size_t(machine_.plan.configs))) {
        tried.push_back(stage_->options());
        tried.back().config = config.dump();
        if (case_.is_large()) tried.back().candidate = "gpu_large";
      }
    std::vector<std::string> declined(tried.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < tried.size(); ++i) try {
        plan(machine_.context, case_.problem, tried[i]);
      } catch (const Error& error) {
        declined[i] = error.what();
      }
    for (std::size_t i = 0; i < tried.size(); ++i)
      if (declined[i].empty()) {
        all_.push_back(stage_->tested("tilewright", machine_.context, tried[i]));
        all_.back().variant = tried[i].config;
      } else {
        result_.absences.push_back(
            {"tilewright" + config_text(nlohmann::json::parse(tried[i].config)), declined[i]});
      }
  }

  // Selects the tried configs that continue.
  void screen_configs() {
    std::vector<double> centres;
    const auto is_tried = [](const Contender& one) {
      return one.role == Role::tested && !one.variant.empty();
    };
    for (Contender& one : all_) {
      if (!is_tried(one)) continue;
      std::vector<double> turns;
      for (int i = 0; i < screening_turns; ++i) turns.push_back(stage_->turn(one));
      one.seconds = estimate(turns);
      centres.push_back(one.seconds.centre);
    }
    std::sort(centres.begin(), centres.end());
    std::erase_if(all_, [&](const Contender& one) {
      return is_tried(one) && centres.size() > most_finalists &&
             one.seconds.centre > centres[most_finalists - 1];
    });
  }

  // The best of several is best partly by chance, so only rounds after the choice count.
  void choose_ours() {
    const auto competes = [](const Contender& one) { return one.impl == "tilewright"; };
    const auto others = std::stable_partition(all_.begin(), all_.end(), competes);
    std::vector<Contender> several(std::make_move_iterator(all_.begin()), std::make_move_iterator(others));
    all_.erase(all_.begin(), others);
    if (several.size() > 1) {
      RoundRules rules = stage_->rules();
      rules.rounds = (rules.rounds + 1) / 2;
      hold_rounds(
          several, [&](Contender& one) { return stage_->turn(one); }, rules);
    }
    const auto best = std::min_element(several.begin(), several.end(), [](const auto& x, const auto& y) {
      return x.seconds.centre < y.seconds.centre;
    });
    best->rounds.clear();
    all_.insert(all_.begin(), std::move(*best));
  }

  // Measures energy in alternation, as often as requested.
  void measure_energies() {
    for (int round = 0; round < machine_.plan.energy_rounds; ++round)
      for (Contender& one : all_)
        if (!one.is_loop()) stage_->measure_energy(one);
    for (Contender& one : all_)
      if (!one.energy_samples.empty()) one.joules = median(one.energy_samples);
  }

  // T >= max(bytes / B, flops / P), with the best rates of the same rounds.
  void set_bound() {
    double compute_s = 0, memory_s = 0;
    for (const Contender& one : all_)
      if (one.role == Role::compute_loop && one.rate() * 1e-9 > result_.compute_gflops) {
        result_.compute_gflops = one.rate() * 1e-9;
        result_.ceiling_loop = one.variant;
        compute_s = result_.work_flops / one.rate();
      }
    std::string memory_loop;
    for (const Contender& one : all_)
      if (one.role == Role::memory_loop && one.rate() * 1e-9 > result_.memory_gbytes) {
        result_.memory_gbytes = one.rate() * 1e-9;
        memory_loop = one.variant;
        memory_s = stage_->bytes() / one.rate();
      }
    const bool memory = memory_s > compute_s;
    result_.bound_kind = memory ? "memory" : "compute";
    result_.bound_s = std::max(memory_s, compute_s);
    result_.ceiling = memory ? result_.memory_gbytes : result_.compute_gflops;
    if (memory) result_.ceiling_loop = memory_loop;
    raise_bound(memory ? result_.memory_gbytes : result_.compute_gflops,
                memory ? stage_->bytes() : result_.work_flops);
  }

  // A bound that a contender beats is not a bound: a contender that does the case's work faster than any loop
  // becomes the ceiling. This can happen if a streaming loop is at its worst, or if other programs ran during
  // a loop's samples.
  void raise_bound(double& ceiling, double work) {
    for (const Contender& one : all_) {
      const double seconds = one.seconds.centre;
      if (one.is_loop() || !(seconds > 0) || seconds >= result_.bound_s) continue;
      result_.bound_s = seconds;
      result_.ceiling = ceiling = work / seconds * 1e-9;
      result_.ceiling_loop = one.impl;
    }
  }

  // The fastest variant of each implementation counts.
  void keep_best_variants() {
    for (Contender& one : all_) {
      if (one.is_loop()) continue;
      one.run = {}, one.check = {};  // their operands end with the stage
      const auto known = std::find_if(result_.impls.begin(), result_.impls.end(),
                                      [&](const Contender& kept) { return kept.impl == one.impl; });
      if (known == result_.impls.end() || machine_.plan.races > 0)
        result_.impls.push_back(std::move(one));
      else if (one.seconds.centre < known->seconds.centre)
        *known = std::move(one);
    }
  }

  Machine& machine_;
  const Case& case_;
  std::unique_ptr<Stage> stage_;
  std::vector<Contender> all_;
  CaseResult result_;
};

std::string name_of(const Contender& one) {
  return one.variant.empty() ? one.impl : fmt::format("{} ({})", one.impl, one.variant);
}

// Measures energy by windows and by single runs.

constexpr double least_window_s = 0.25;

void keep(Contender& one, const EnergyObserver& energy, double runs) {
  one.energy_note = energy.fault();
  if (!one.energy_note.empty()) return;
  one.energy_samples.push_back(energy.joules() / runs);
  one.joules = median(one.energy_samples);
  one.watts = energy.watts();
}

}  // namespace

CaseResult run_case(Machine& machine, const Case& c) { return Run(machine, c).result(); }

void check_all(const Stage& stage, const Case& c, std::vector<Contender>& all,
               std::vector<Absence>& absences) {
  std::erase_if(all, [&](Contender& one) {
    if (!one.check) return false;
    try {
      one.accuracy = one.check();
    } catch (const Error& error) {
      if (one.role == Role::tested) throw;
      stage.expect_sound(one, error);
      absences.push_back({name_of(one), error.what()});
      return true;
    }
    if (one.accuracy.passed()) return false;
    const std::string wrong = "wrong result: " + one.accuracy.fault();
    if (one.role == Role::tested)
      throw Error(ErrorCode::internal, one.impl,
                  fmt::format("{} on {}: {}", name_of(one), problem_text(c), wrong));
    absences.push_back({name_of(one), wrong, true});
    return true;
  });
}

// Holds both kinds of memory behind one pointer.
std::shared_ptr<void> host_memory(const std::string& kind, std::int64_t bytes) {
  if (kind == "pinned") {
    const auto block = std::make_shared<PinnedBlock>(allocate_pinned(bytes));
    return {block, block->data()};
  }
  const auto buffer = std::make_shared<AlignedBuffer>(bytes);
  return {buffer, buffer->data()};
}

void HostEnergy::measure(Contender& one, const std::function<double()>& turn) const {
  EnergyMeter* const meter = meters_.meter_of(Location::host);
  EnergyObserver energy(meter, meters_.why_none());
  double runs = 0;
  const auto hold = [&] {
    const double window_s = std::max(least_window_s, meter->shortest_s()), begin = wall_seconds();
    energy.before();
    do runs += turn();
    while (wall_seconds() - begin < window_s);
    energy.after();
  };
  try {
    if (meter != nullptr) hold();
    keep(one, energy, runs);
  } catch (const Error& error) {
    if (error.argument() != "energy") throw;  // an error of the contender itself
    one.energy_note = error.what();
  }
}

double HostEnergy::watch(Contender& one, bool with_gpus, const std::function<double()>& turn) const {
  if (with_gpus) {
    one.energy_note = "no meter covers CPU and GPUs together";
    return turn();
  }
  EnergyObserver energy(meters_.meter_of(Location::host), meters_.why_none());
  std::optional<double> seconds;
  try {
    energy.before();
    seconds = turn();
    energy.after();
    keep(one, energy, 1);
  } catch (const Error& error) {
    if (error.argument() != "energy") throw;
    one.energy_note = error.what();
  }
  return seconds ? *seconds : turn();
}

std::string HostEnergy::why_none(const std::string& otherwise) const {
  return meters_.meter_of(Location::host) == nullptr ? meters_.why_none() : otherwise;
}

}  // namespace tilewright::bench
