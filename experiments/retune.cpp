// bench_retune: tests whether tuning again gives the same answer. `bench_retune FILE SECONDS` tunes 40 named
// problems five times, SECONDS each, once with the previous result as the incumbent (as `tune` does with
// wisdom) and once from nothing. An answer agrees with the first if it is the same config or if the two,
// timed against each other, are a tie: apart by no more than their spread or 3 %.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "kernel/jit/x86.hpp"
#include "measure/ceilings.hpp"
#include "measure/contest.hpp"
#include "program.hpp"
#include "tune/family/family.hpp"
#include "tune/kernel_timer.hpp"
#include "tune/tuner.hpp"

namespace tilewright {
namespace {

constexpr int tunings = 5;
constexpr int contest_rounds = 25;
constexpr double turn_s = 1e-3;

std::vector<GemmProblem> forty_problems() {
  std::vector<GemmProblem> problems;
  for (const char* dtype : {"f64", "f32"})
    for (const char* residency : {"l1", "l2", "cold"})
      for (const char* size : {"m=3,n=3,k=3", "m=6,n=6,k=6", "m=8,n=8,k=8", "m=13,n=13,k=13",
                               "m=16,n=16,k=16", "m=24,n=24,k=24"})
        problems.push_back(parse_problem(fmt::format(
            "gemm_batched:{}:nn:{}:strided:batch=1:beta=one:residency={}", dtype, size, residency)));
  for (const char* text : {"gemm_batched:f64:tn:m=10,n=10,k=35:strided:batch=1:residency=l1",
                           "gemm_batched:c64:nn:m=8,n=8,k=8:strided:batch=1:residency=l2",
                           "gemm_batched:c128:nc:m=5,n=5,k=5:strided:batch=1:beta=one:residency=l1",
                           "gemm_batched:f64:nt:m=12,n=12,k=12:pointer:batch=1:beta=one:residency=l2"})
    problems.push_back(parse_problem(text));
  return problems;
}

// Returns true if the two configs are the same or tie.
bool agree(const GemmProblem& problem, const nlohmann::json& x, const nlohmann::json& y, Arena& arena) {
  if (x == y) return true;
  const GemmProblem timed = timed_problem(problem);
  KernelTimer timer(timed, arena);
  const auto made = [&](const nlohmann::json& config) {
    return make_gemm_small_cpu(timed, from_json<GemmSmallCpuConfig>(config));
  };
  const std::array kernels{made(x), made(y)};
  ContestRules rules;
  rules.most_rounds = contest_rounds;
  const Verdict verdict = hold_contest(
      2, [&](std::size_t i) { return timer.time(*kernels[i], turn_s).seconds; }, [] { return true; }, rules);
  return verdict.winner == 0 && !verdict.ties.empty();
}

struct Tally {
  int same = 0, tie = 0, changed = 0;  // of the tunings after the first
  bool stable() const { return changed == 0; }
};

Tally tune_again(const GemmProblem& problem, TuneOptions options, bool remember, const TuneResult& first,
                 TuneMachine& machine) {
  Tally tally;
  for (int again = 1; again < tunings; ++again) {
    options.seed = std::uint64_t(again + 1);
    if (remember) options.incumbent = first.config;
    const TuneResult result = tune(*product_operation(problem, machine), options);
    if (result.config == first.config)
      ++tally.same;
    else if (agree(problem, first.config, result.config, machine.arena()))
      ++tally.tie;
    else
      ++tally.changed;
  }
  return tally;
}

int run(const std::string& path, double seconds) {
  std::ofstream file(path);
  file << nlohmann::json{{"command", fmt::format("bench_retune {} {}", path, seconds)}}.dump() << '\n';
  TuneOptions options;
  options.budget_s = seconds;
  TuneMachine machine(jit_available(Isa::avx512) ? Isa::avx512
                      : jit_available(Isa::avx2) ? Isa::avx2
                                                 : Isa::portable);
  const auto problems = forty_problems();
  int stable = 0, stable_alone = 0;
  for (const GemmProblem& problem : problems) {
    prepare_operands(problem, machine.arena());
    const TuneResult first = tune(*product_operation(problem, machine), options);
    const Tally known = tune_again(problem, options, true, first, machine);
    const Tally alone = tune_again(problem, options, false, first, machine);
    stable += known.stable(), stable_alone += alone.stable();
    fmt::print("{}: with an incumbent {} same, {} ties, {} changed; knowing nothing {}, {}, {}\n",
               to_string(problem), known.same, known.tie, known.changed, alone.same, alone.tie,
               alone.changed);
    std::fflush(stdout);
    const auto counts = [](const Tally& tally) {
      return nlohmann::json{{"same", tally.same}, {"tie", tally.tie}, {"changed", tally.changed}};
    };
    file << nlohmann::json{{"family", "retune"},
                           {"problem", to_string(problem)},
                           {"tunings", tunings},
                           {"with_incumbent", counts(known)},
                           {"knowing_nothing", counts(alone)}}
                .dump()
         << std::endl;
  }
  const double count = double(problems.size());
  fmt::print("stable: {} of {} with an incumbent, {} knowing nothing\n", stable, problems.size(),
             stable_alone);
  file << nlohmann::json{{"family", "retune"},
                         {"summary", true},
                         {"problems", problems.size()},
                         {"stable_share_with_incumbent", stable / count},
                         {"stable_share_knowing_nothing", stable_alone / count},
                         {"device", cpu_info().device},
                         {"commit", build_commit},
                         {"time", time_now()}}
              .dump()
       << '\n';
  return file.flush() ? 0 : 1;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_retune", argc, 2, "FILE SECONDS",
                                        [&] { return tilewright::run(argv[1], std::stod(argv[2])); });
}
