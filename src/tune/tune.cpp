// The public functions of tilewright/tune.hpp over the tuner and the store of wisdom. They reach a Context
// through its public members only, because it lives in another library.
#include "tilewright/tune.hpp"

#include <fmt/format.h>

#include "device/cpu.hpp"
#include "device/energy_meter.hpp"
#include "tune/kernel_timer.hpp"
#include "tune/tuner.hpp"
#include "wisdom/store.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {
namespace {

// Opened before the search, so that nobody waits for a result that cannot be kept.
WisdomStore open_store(const std::string& path) {
  if (path.empty())
    throw Error(ErrorCode::unsupported, "context", "the Context uses no wisdom, so nothing can be kept");
  if (is_lines_file(path))
    throw Error(
        ErrorCode::invalid_argument, "wisdom",
        fmt::format("wisdom = '{}' holds JSON lines, which are only read: a database is needed", path));
  return WisdomStore(path, sqlite::Mode::write);
}

// Cold operands are filled within half of the budget, as many of them as that allows.
void pay_for_operands(const GemmProblem& problem, TuneOptions& options, Arena& arena) {
  constexpr double fill_share = 0.5;
  const OperandRing ring = affordable_ring(problem, arena, fill_share * options.budget_s);
  if (ring.bytes == 0)
    throw Error(ErrorCode::invalid_argument, "budget_s",
                fmt::format("budget_s = {:.3g} is too little for {}: filling memory with cold operands alone "
                            "takes about {:.2g} s, so {:.2g} s are wanted",
                            options.budget_s, to_string(problem), ring.fill_s, ring.fill_s / fill_share));
  options.ring_bytes = ring.bytes;
}

TuneResult search_and_keep(const GemmProblem& problem, const std::string& cpu, const std::string& wisdom,
                           const TuneSearch& search) {
  TuneOptions options;
  options.isa = enum_from_string<Isa>(cpu, "cpu");
  options.budget_s = search.budget_s;
  options.strategy = search.strategy;
  options.objective = TuneObjective::parse(search.objective);
  check_tunable(problem, options);
  const EnergyMeters meters = options.objective.needs_energy() ? find_energy_meters() : EnergyMeters{};
  if (options.objective.needs_energy()) options.meter = &meters.required(search.objective, problem.location);
  WisdomStore store = open_store(wisdom);
  const Wisdom known(wisdom_in_use(wisdom, Environment::read()), cpu_info().device);
  options.incumbent = incumbent_of(known, problem, options.isa, options.objective);
  Arena arena;
  pay_for_operands(problem, options, arena);
  const TuneResult result = tune(problem, options, arena);
  store.at_once([&] {
    for (const auto& wrong : wrong_records(result)) store.add_found(record_of_line(wrong).value());
    store.add_found(record_of_line(wisdom_record(result)).value());
  });
  return result;
}

}  // namespace

Tuned tune(Context& context, const GemmProblem& problem, const TuneSearch& search) {
  if (!(search.budget_s > 0))
    throw Error(ErrorCode::invalid_argument, "budget_s",
                fmt::format("budget_s = {} is no time to search in", search.budget_s));
  GemmProblem asked = packed(problem);
  if (asked.residency == Residency::automatic) asked.residency = Residency::cold;
  const TuneResult result = search_and_keep(asked, context.cpu(), context.wisdom(), search);
  context.forget_plans();
  Tuned tuned;
  tuned.problem = result.problem;
  tuned.config = to_json(result.config).dump();
  tuned.wisdom = context.wisdom();
  tuned.seconds = result.seconds.centre;
  tuned.seconds_low = result.seconds.low;
  tuned.seconds_high = result.seconds.high;
  tuned.regret = result.regret;
  tuned.tie = result.tie;
  tuned.candidates = result.candidates;
  tuned.measured = result.measured;
  return tuned;
}

void install_tuner(Context& context) {
  context.set_tuner([](const TuneRequest& request) {
    TuneSearch search;
    search.budget_s = request.budget_s;
    (void)search_and_keep(request.problem, request.cpu, request.wisdom, search);
  });
}

}  // namespace tilewright
