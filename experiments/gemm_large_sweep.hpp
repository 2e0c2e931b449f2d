// The experiment of Anzt 2015 on one GPU: configs of large GEMM are chosen and compiled beforehand, then each
// is screened for time and energy with cuBLAS as a sentinel between them, then the best are measured long and
// repeatedly, and a sample is launched in a known order for a profiler. docs/analyze.md describes the method.
#pragma once

#include <map>
#include <set>

#include "analyze/case.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "measure/gpu/energy.hpp"

namespace tilewright::bench {

// Configs of a recorded screening that are worth measuring again: long, at other sizes, or by a profiler.

// Returns the lines of a sweep's file. An incomplete last line is left out; throws Error(io) for any other
// line that cannot be read. `argument` names the file.
std::vector<nlohmann::json> sweep_lines(const std::string& path, const char* argument);
// Returns the points of the screening of `problem` in these files together, the rows of several cards joined
// as in the analysis. Throws the errors of sweep_cases(), and Error(invalid_argument) naming the files if
// they have no points.
std::vector<SweepPoint> screened_points(const std::vector<std::string>& paths, const std::string& problem);

// The configs for the long measurements, from points of a screening: alternately the corners of the hull and
// the best in performance and efficiency; those to be repeated are spread evenly over their performance.
struct LongChoice {
  std::vector<nlohmann::json> all, repeated;
};
LongChoice choose_long(const std::vector<SweepPoint>& points, std::size_t best, std::size_t repeated);
// Returns `count` configs, or all if there are fewer: of the arc between the most efficient and the fastest,
// then at even ranks of performance.
std::vector<nlohmann::json> choose_sizes(const std::vector<SweepPoint>& points, std::size_t count);
// The same with all corners of the hull, even if those are more.
std::vector<nlohmann::json> choose_sample(const std::vector<SweepPoint>& points, std::size_t count);

struct SweepFlags {
  std::string configs;  // the list that `compile` writes and the others read
  std::string json;     // measurements, or the order of `sample`
  std::string limits;   // a file of limits, to compile for a device that is not here
  int device = 0;
  DType dtype = DType::f64;
  std::string op = "nn";
  std::int64_t n = 4096;
  std::size_t count = 800;         // of the list
  std::size_t sample_count = 120;  // of the profiler's sample
  unsigned seed = 2015;
  unsigned jobs = 0;  // 0 = one per core
  std::string nvdisasm = "nvdisasm";
  GpuLoadWindow window{.heat_s = 0.4, .window_s = 1.1, .least_edges = 6};  // of the screening
  GpuLoadWindow long_window{.heat_s = 3, .window_s = 30, .least_edges = 20};
  double budget_s = 1e9;  // time after which nothing new is begun
  bool resume = false;
  std::vector<std::string> done;  // files of other cards whose configs are not screened again
  std::size_t anchors = 6;        // how many of those are measured again, so that the join can be checked
  std::size_t sentinel_every = 16;
  std::size_t best = 20, repeated = 10, repeats = 10;
  std::vector<std::int64_t> sizes = {1024, 2048, 3072, 6144, 8192};  // of `sizes`
  std::size_t size_count = 8;                                        // configs of `sizes`
};

// A config of the list with the results of its compilation.
struct SweepEntry {
  GemmLargeConfig config;
  nlohmann::json instructions;  // of one warp and one k tile by kind; null if they were not counted
};
struct SweepList {
  nlohmann::json head;
  std::vector<SweepEntry> entries;  // in the order in which they are measured
};
// Reads a list. Throws Error(io) naming file and line.
SweepList read_sweep_list(const std::string& path);
// Writes the device's limits, for compiling elsewhere.
void write_limits(const SweepFlags& flags);
// Chooses, compiles and writes the list.
void compile_sweep(const SweepFlags& flags);

// Values of each axis among configs, as JSON text.
using AxisValues = std::map<std::string, std::set<std::string>>;
AxisValues axis_values(const std::vector<GemmLargeConfig>& configs);
// Returns the values in `all` that `some` lacks, as "axis=value, ...".
std::string missing_values(const AxisValues& all, const AxisValues& some);

struct SweepChoice {
  std::vector<GemmLargeConfig> configs;  // required ones first, then the strata in rotation
  AxisValues values;                     // values that the space was seen to have
};
// Returns `count` configs, or as many as the draws gave. The same arguments give the same list.
SweepChoice choose_sweep(const GemmProblem& problem, const GemmLargeShape& shape,
                         const GemmLargeDevice& limits, std::size_t count, unsigned seed);

// Each returns true if nothing is left for another run.
bool screen(const SweepFlags& flags);
bool measure_long(const SweepFlags& flags);
// Measures some configs at other sizes.
bool measure_sizes(const SweepFlags& flags);
// Launches each config once, for a profiler.
void sample(const SweepFlags& flags);

}  // namespace tilewright::bench
