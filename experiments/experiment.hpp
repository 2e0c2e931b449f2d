// Shared code of experiments on one GPU: a machine of the engine (tools/bench), a file of rows that a later
// run continues, a time after which nothing new is begun, and the process's exit code. The experiments
// measure.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "bench/gpu/stage.hpp"
#include "bench/plans.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "core/env.hpp"
#include "measure/gpu/observer.hpp"
#include "people/refusal.hpp"
#include "program.hpp"
#include "sass.hpp"
#include "tune/line_log.hpp"
#include "wisdom/families.hpp"

namespace tilewright::bench {

// Accepts a number from `least` to `most`; CLI::Range accepts "nan".
inline CLI::Validator from_to(double least, double most) {
  const auto check = [=](const std::string& text) {
    double value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return good ? std::string() : fmt::format("{} is no number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, "");
}

// Returns the folder in which calls keep compiled kernels (gemm/context.cpp), so that each finds the other's.
inline std::filesystem::path kernel_cache() {
  const std::string cache = cache_folder(Environment::read());
  return cache.empty() ? std::filesystem::path() : std::filesystem::path(cache) / "kernels";
}

// Reads the options and returns the exit code of `run`, or that of --help and wrong options.
template <class Run>
int parse_and_run(CLI::App& app, int argc, char** argv, Run&& run) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run();
}

constexpr int left_for_another_run = 3;  // the process's exit code

// Counts the instructions of the main loop of a compiled kernel, of one warp and one k tile, by kind
// (sass.hpp). Throws Error if there is no disassembler or no multiplying loop in the machine code.
inline SassCounts main_loop_counts(const JitBinary& binary, const GemmLargeConfig& c, DType dtype,
                                   const std::string& nvdisasm) {
  const double products =
      double(c.warp_m) * c.warp_n * c.tile_k * (is_complex(dtype) ? 4 : 1) / gemm_large_products_at_once(c);
  const SassCounts counts =
      sass_main_loop(parse_sass(disassemble(binary.code, nvdisasm), binary.function()), products);
  if (counts.empty()) not_supported("--nvdisasm", "no loop of the machine code multiplies");
  return counts;
}

// Returns the case of one large product in device memory.
inline Case large_case(const GemmProblem& problem) {
  Case c;
  c.family = "gemm", c.target = "gpu", c.layout = Layout::single;
  c.problem = packed(problem);
  c.problem.location = Location::device;
  return c;
}
inline Case large_case(DType dtype, const std::string& op, std::int64_t n) {
  if (op.size() != 2) wrong_use("--op", "--op = '{}': two letters of n, t, c are wanted, such as nt", op);
  GemmProblem p;
  p.dtype = dtype;
  p.m = p.n = p.k = n;
  p.op_a = enum_from_string<Op>(op.substr(0, 1), "--op");
  p.op_b = enum_from_string<Op>(op.substr(1), "--op");
  return large_case(p);
}

// Adds the energy of a load and its source; null with `energy_note` if there is none.
inline void add_load(nlohmann::json& line, const Case& c, const GpuLoad& load) {
  const EnergyWindow& e = load.energy;
  nlohmann::json& metrics = line["metrics"];
  metrics["mean_seconds"] = load.mean_s;
  metrics["launches"] = load.launches;
  metrics["energy_edges"] = e.edges;
  line["energy_j"] = line["watts"] = line["gflops_per_watt"] = nullptr;
  if (!e.fault.empty()) {
    line["energy_note"] = e.fault;
    return;
  }
  line["energy_j"] = load.joules_per_launch();
  line["watts"] = e.watts();
  line["gflops_per_watt"] = flops(c.problem) / load.joules_per_launch() * 1e-9;
  line["window_s"] = e.seconds();
  metrics["energy_error_share"] = e.error_share;
  metrics["energy_unsteady"] = e.unsteady;
}

class Experiment {
 public:
  explicit Experiment(int device = 0)
      : plan_{.family = "gemm", .operand_bytes = 1 << 20, .device = device}, gpu(plan_) {}

  // Returns true if this many seconds have passed; then reports how much is left out.
  bool late(double seconds, const std::string& left) const {
    if (elapsed() < seconds) return false;
    std::printf("%.0f s are used: %s left; go on with --resume\n", elapsed(), left.c_str());
    return true;
  }
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  // Return the contenders: tilewright with a config, and cuBLAS. Throw the errors of planning the case, or
  // the reason why there is no contender.
  Contender tested(GpuStage& stage, const nlohmann::json& config) {
    GemmOptions options = stage.options();
    options.candidate = "gpu_large", options.config = config.dump();
    return stage.tested("tilewright", gpu.context, options);
  }
  static Contender cublas(GpuStage& stage) {
    std::vector<Contender> all;
    std::vector<Absence> absences;
    stage.add_peers(all, absences);
    if (all.empty()) throw Error(ErrorCode::unsupported, "cublas", "cublas: " + absences.front().reason);
    return all.front();
  }

  // Returns the fields of a measured line for case, implementation and device.
  nlohmann::json row(const Case& c, const char* phase, const Contender& one) const {
    nlohmann::json line = measured_row(c, one.impl, one.seconds);
    line.update(gpu.provenance());
    line["phase"] = phase;
    line["residency"] = "cold";  // operands rotate through memory
    line["impl_version"] = one.version;
    line["gflops"] = flops(c.problem) / one.seconds.centre * 1e-9;
    line["metrics"] = one.plan ? metrics_of(*one.plan) : nlohmann::json::object();
    line["metrics"].update(gpu.readings());
    if (!one.plan) return line;
    line["config"] = config_of(*one.plan);
    line["source_hash"] = current_source_hash("gemm");
    line["error"] = one.accuracy.error, line["error_bound"] = one.accuracy.bound;
    return line;
  }

 private:
  Plan plan_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();

 public:
  GpuBench gpu;
};

}  // namespace tilewright::bench
