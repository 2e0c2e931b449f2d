// The ladder of techniques of large GEMM on a GPU, or the five rows of P2's table: each step timed beside
// cuBLAS, launch by launch, with the instructions of its main loop from the disassembly. ladder.cpp defines
// the steps.
#include <algorithm>

#include "bench/machine.hpp"
#include "experiment.hpp"
#include "ladder.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

struct LadderFlags {
  std::vector<std::string> dtypes = {"f64", "f32"}, ops;
  std::vector<std::int64_t> sizes = {1024, 2048, 4096};
  int launches = 100;
  double seconds = 540;
  std::string nvdisasm = "nvdisasm", file = "ladder.jsonl";
  bool resume = false, chapter = false;

  std::vector<std::string> chosen_ops() const {
    return !ops.empty() ? ops : std::vector<std::string>{chapter ? "nn" : "nt"};
  }
};

class Ladder : Experiment {
 public:
  explicit Ladder(const LadderFlags& flags)
      : flags_(flags), log_(flags.file, LineLogRules{"json", "command", flags.resume}) {
    const json now{{"device", gpu.gpu.limits().name},
                   {"device_uuid", gpu.gpu.limits().uuid},
                   {"source_hash", current_source_hash("gemm")}};
    json head{{log_.kept().empty() ? "command" : "resumed", command_line()}};
    if (!log_.kept().empty()) log_.refuse_other_run(log_.kept().front(), now);
    head.update(now);
    log_.write(head);
  }

  int run() {
    for (const std::string& dtype : flags_.dtypes)
      for (const std::string& op : flags_.chosen_ops())
        for (const std::int64_t n : flags_.sizes)
          if (!climb(large_case(enum_from_string<DType>(dtype, "--dtype"), op, n)))
            return left_for_another_run;
    return 0;
  }

 private:
  bool climb(const Case& c) {
    GpuStage stage(gpu, gpu.arena, c);
    const Contender peer = cublas(stage);
    const auto steps = flags_.chapter ? gemm_large_chapter : gemm_large_ladder;
    for (const GemmLargeStep& step : steps(c.problem, gemm_large_shape(c.problem), gpu.gpu.limits())) {
      const bool known = std::any_of(log_.kept().begin(), log_.kept().end(), [&](const json& line) {
        return line.value("problem", "") == problem_text(c) && line.value("step", "") == step.name;
      });
      if (known) continue;
      if (late(flags_.seconds, problem_text(c) + " from " + step.name)) return false;
      measure(c, stage, step, peer);
    }
    return true;
  }

  double seconds_of(const Contender& one) {
    one.run(0);  // while it runs the host queues the next, so that host time does not count as device time
    return gpu.timer.seconds([&] { one.run(0); });
  }

  void measure(const Case& c, GpuStage& stage, const GemmLargeStep& step, const Contender& peer) {
    std::vector<Contender> all;
    std::vector<Absence> none;
    try {
      all.push_back(tested(stage, to_json(step.config)));
    } catch (const Error& error) {
      std::printf("REFUSED %s: %s\n", step.name.c_str(), error.what());
      return;
    }
    check_all(stage, c, all, none);
    Contender& one = all.front();
    std::vector<double> peer_s, ratios;
    for (int i = 0; i < flags_.launches; ++i) {
      one.rounds.push_back(seconds_of(one));
      peer_s.push_back(seconds_of(peer));
      ratios.push_back(peer_s.back() / one.rounds.back());
    }
    one.seconds = estimate(one.rounds);
    const Estimate ratio = estimate(ratios);
    json line = row(c, "ladder", one);
    line["step"] = step.name;
    line["cublas_seconds"] = estimate(peer_s).centre;
    line["ratio"] = ratio_keys(peer.impl, ratio);
    count_instructions(c, step.config, line);
    log_.write(line);
    std::printf("%s %-24s %7.2f TF  %.3f of cuBLAS  %s\n", problem_text(c).c_str(), step.name.c_str(),
                flops(c.problem) / one.seconds.centre * 1e-12, ratio.centre,
                line["main_loop"].dump().c_str());
    std::fflush(stdout);
  }

  void count_instructions(const Case& c, const GemmLargeConfig& config, json& line) {
    line["main_loop"] = nullptr;
    try {
      const JitBinary binary = gpu.machine->compiler().compile(gemm_large_request(
          gemm_large_shape(c.problem), config, c.problem.dtype, gpu.gpu.limits().compute_capability));
      const SassCounts counts = main_loop_counts(binary, config, c.problem.dtype, flags_.nvdisasm);
      json loop = to_json_object(counts);
      loop["all"] = total_of(counts);
      const auto loads = counts.find(SassKind::shared_load);
      if (loads != counts.end() && loads->second > 0)
        loop["products_per_shared_load"] = counts.at(SassKind::product) / loads->second;
      line["main_loop"] = loop;
    } catch (const Error& error) {
      line["main_loop_note"] = error.what();
      if (!std::exchange(said_, true)) std::printf("NOTE instructions are not counted: %s\n", error.what());
    }
  }

  LadderFlags flags_;
  LineLog log_;
  bool said_ = false;
};

int run(int argc, char** argv) {
  LadderFlags f;
  CLI::App app(
      "Each technique of large GEMM on the GPU, switched on one after the other, beside cuBLAS. Ends with 3 "
      "where steps were left for another run with --resume.");
  app.option_defaults()->always_capture_default();
  app.add_option("--dtype", f.dtypes, "f64, f32, c128, c64")->delimiter(',');
  app.add_flag("--chapter", f.chapter, "the five rows of the chapter's table in place of the ladder");
  app.add_option("--op", f.ops, "pairs of n, t, c (default: nt, of the chapter nn)")->delimiter(',');
  app.add_option("--sizes", f.sizes, "of square matrices")->delimiter(',')->check(from_to(1, 1 << 20));
  app.add_option("--launches", f.launches, "of each step")->check(CLI::Range(1, 1000000));
  app.add_option("--seconds", f.seconds, "after which nothing new is begun")->check(from_to(0, 1e6));
  app.add_option("--nvdisasm", f.nvdisasm, "the disassembler that instructions are counted with");
  app.add_option("--json", f.file, "measurements, a line each");
  app.add_flag("--resume", f.resume, "measures nothing again that the file has; another card is refused");
  return parse_and_run(app, argc, argv, [&] { return Ladder(f).run(); });
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_gemm_large_ladder",
                                        [&] { return tilewright::bench::run(argc, argv); });
}
