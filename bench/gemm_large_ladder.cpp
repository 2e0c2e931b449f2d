// The ladder of techniques: each step timed beside cuBLAS, launch by launch, with the instructions of its
// main loop.
#include <cstdio>

#include "gemm_large_counts.hpp"
#include "gemm_large_run.hpp"

namespace tilewright::bench {
namespace {

constexpr int usual_launches = 100;

}  // namespace

void LargeBench::run_ladder() {
  for (const GemmProblem& p : problems({1024, 2048, 4096}, {"nt"})) {
    device_.prepare(p);
    for (const auto& step : gemm_large_ladder(p, gemm_large_shape(p), gpu_.limits())) {
      if (measured_before(p, "ladder", "step", step.name) != nullptr) continue;
      if (late("ladder of " + to_string(p) + " from " + step.name)) return;
      auto trials = device_.compile(gemm_large_shape(p), p.dtype, {step.config});
      check(p, trials);
      if (trials.empty()) continue;
      trials.front().name = step.name;
      ladder_step(p, trials.front());
    }
  }
}

void LargeBench::ladder_step(const GemmProblem& p, const LargeTrial& trial) {
  const auto mine = device_.ours(p, trial), peer = device_.cublas(p);
  std::vector<double> ours_s, peer_s, ratios;
  device_.time(mine, 2);
  for (int i = 0; i < flags_.rounds.value_or(usual_launches); ++i) {
    ours_s.push_back(device_.time(mine, 1));
    peer_s.push_back(device_.time(peer, 1));
    ratios.push_back(peer_s.back() / ours_s.back());
  }
  auto line = row(p, "tilewright", &trial, "ladder");
  add_times(line, p, estimate(ours_s));
  line["cublas_seconds"] = estimate(peer_s).centre;
  const Estimate ratio = estimate(ratios);
  line["ratio"] = ratio_json(ratio);
  const LargeCounts counts =
      count_main_loop(device_.compiler(), trial, p.dtype, gpu_.limits().compute_capability, flags_.nvdisasm);
  line["main_loop"] = counts.instructions;
  if (!counts.fault.empty()) {
    line["main_loop_note"] = counts.fault;
    say("instructions are not counted: " + counts.fault);
  }
  write(line);
  std::printf("ladder %s n = %ld %-24s %7.2f TF  %.3f of cuBLAS  %s\n", to_string(p.dtype).c_str(),
              static_cast<long>(p.n), trial.name.c_str(), flops(p) / estimate(ours_s).centre * 1e-12,
              ratio.centre, counts.instructions.dump().c_str());
  std::fflush(stdout);
}

}  // namespace tilewright::bench
