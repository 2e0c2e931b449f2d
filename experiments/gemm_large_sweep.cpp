// The command line of the sweep of large GEMM: one verb for each phase. The phases are in
// gemm_large_sweep_list.cpp and gemm_large_sweep_run.cpp.
#include "gemm_large_sweep.hpp"

#include "experiment.hpp"

namespace tilewright::bench {
namespace {

constexpr double most = 1e9, most_configs = 1e5, most_n = 1 << 20, most_seconds = 86400, most_jobs = 1024;

CLI::App* add_verb(CLI::App& app, SweepFlags& f, const char* name, const char* does) {
  CLI::App* verb = app.add_subcommand(name, does);
  verb->add_option("--configs", f.configs, "the list of configs that `compile` writes")->required();
  verb->add_option("--device", f.device, "number of the GPU")->check(from_to(0, 1023));
  return verb;
}

void add_compile(CLI::App& app, SweepFlags& f) {
  CLI::App* verb = add_verb(app, f, "compile", "chooses configs and compiles them into the cache");
  verb->add_option_function<std::string>(
          "--dtype", [&f](const std::string& text) { f.dtype = enum_from_string<DType>(text, "--dtype"); },
          "f64, f32, c64 or c128")
      ->default_str("f64");
  verb->add_option("--op", f.op, "nn, nt, tc, ...");
  verb->add_option("--n", f.n, "size of the square matrices")->check(from_to(1, most_n));
  verb->add_option("--count", f.count, "configs that do not spill")->check(from_to(1, most_configs));
  verb->add_option("--seed", f.seed, "of the draws");
  verb->add_option("--jobs", f.jobs, "compilations at a time; 0 = one for each core")
      ->check(from_to(0, most_jobs));
  verb->add_option("--nvdisasm", f.nvdisasm, "the disassembler that instructions are counted with");
  verb->add_option("--limits", f.limits, "of a device that is not here, as `limits` wrote them");
  verb->callback([&f] { compile_sweep(f); });
}

void add_limits(CLI::App& app, SweepFlags& f) {
  CLI::App* verb = app.add_subcommand("limits", "writes what configs may ask of a device");
  verb->add_option("--limits", f.limits, "the file")->required();
  verb->add_option("--device", f.device, "number of the GPU")->check(from_to(0, 1023));
  verb->callback([&f] { write_limits(f); });
}

// `resumes`: the verb always continues its file.
CLI::App* add_measuring(CLI::App& app, SweepFlags& f, GpuLoadWindow& window, const char* name,
                        const char* does, bool resumes) {
  CLI::App* verb = add_verb(app, f, name, does);
  verb->add_option("--json", f.json, "measurements, a line each")->required();
  verb->add_option("--budget", f.budget_s, "seconds after which nothing new is begun")
      ->check(from_to(0, most));
  verb->add_flag("--resume", f.resume,
                 resumes ? "no matter: it always goes on with the file; another card or source is refused"
                         : "go on where the file ended; another card or source is refused");
  verb->add_option("--done", f.done, "files of other cards: what they have is left to them")->delimiter(',');
  verb->add_option("--seconds", window.window_s, "between the meter's edges")
      ->check(from_to(1e-3, most_seconds));
  verb->add_option("--heat", window.heat_s, "seconds of load before")->check(from_to(0, most_seconds));
  verb->add_option("--edges", window.least_edges, "moves of the energy counter that a window needs")
      ->check(from_to(2, most));
  verb->add_option("--sentinel-every", f.sentinel_every, "configs between two runs of cuBLAS")
      ->check(from_to(1, most));
  return verb;
}

void add_screen(CLI::App& app, SweepFlags& f, bool& complete) {
  CLI::App* verb = add_measuring(app, f, f.window, "screen", "checks and measures every config once", false);
  verb->add_option("--anchors", f.anchors, "configs of --done that are measured again, to check the join")
      ->check(from_to(0, most));
  verb->callback([&] { complete = screen(f); });
}

void add_long(CLI::App& app, SweepFlags& f, bool& complete) {
  CLI::App* verb = add_measuring(app, f, f.long_window, "long",
                                 "measures the hull and the best of a screening long", true);
  verb->add_option("--best", f.best, "of the fastest and the most efficient in turn")
      ->check(from_to(0, most));
  verb->add_option("--repeated", f.repeated, "configs that are repeated")->check(from_to(0, most));
  verb->add_option("--repeats", f.repeats, "measurements of each of those")->check(from_to(1, most));
  verb->callback([&] { complete = measure_long(f); });
}

void add_sizes(CLI::App& app, SweepFlags& f, bool& complete) {
  CLI::App* verb =
      add_measuring(app, f, f.window, "sizes", "measures some configs of a screening at other sizes", true);
  verb->add_option("--sizes", f.sizes, "of the square matrices")->delimiter(',')->check(from_to(1, most_n));
  verb->add_option("--count", f.size_count, "configs, the hull's best arc among them")
      ->check(from_to(1, most));
  verb->callback([&] { complete = measure_sizes(f); });
}

void add_sample(CLI::App& app, SweepFlags& f) {
  CLI::App* verb = add_verb(app, f, "sample", "launches a sample once each, for a profiler");
  verb->add_option("--json", f.json, "the order of the launches, a line each")->required();
  verb->add_option("--done", f.done, "the screening that the sample is taken from")
      ->delimiter(',')
      ->required();
  verb->add_option("--count", f.sample_count, "configs, the hull's among them")->check(from_to(1, most));
  verb->callback([&f] { sample(f); });
}

int run(int argc, char** argv) {
  SweepFlags flags;
  bool complete = true;
  CLI::App app("Time and energy of many configs of large GEMM on one GPU (docs/analyze.md).",
               "bench_gemm_large_sweep");
  app.footer(
      "Example: bench_gemm_large_sweep compile --configs list.jsonl\n"
      "         bench_gemm_large_sweep screen --configs list.jsonl --json sweep.jsonl --budget 540\n"
      "         tilewright analyze sweep.jsonl --html report.html");
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();  // verbs inherit it
  add_limits(app, flags);
  add_compile(app, flags);
  add_screen(app, flags, complete);
  add_long(app, flags, complete);
  add_sizes(app, flags, complete);
  add_sample(app, flags);
  return parse_and_run(app, argc, argv, [&] { return complete ? 0 : left_for_another_run; });
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_gemm_large_sweep",
                                        [&] { return tilewright::bench::run(argc, argv); });
}
