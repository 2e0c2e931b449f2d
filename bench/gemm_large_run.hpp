// The phases of the large GEMM bench and what they share besides the device: flags, the deadline, the file of
// rows, which a later run may go on with.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>

#include "gemm_large_device.hpp"
#include "tune/line_log.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::bench {

struct LargeFlags {
  std::vector<std::string> phases = {"variety", "compare", "ladder", "energy"};
  std::vector<DType> dtypes = {DType::f64, DType::f32};
  std::vector<std::string> ops;     // pairs; empty: the phase's own
  std::vector<GemmProblem> shapes;  // m, n and k alone; empty: the phase's own
  std::vector<Scalar> betas = {Scalar::zero};
  std::size_t configs = 40;   // screened for each case
  std::size_t finalists = 4;  // of ours beside cuBLAS
  std::optional<int> rounds;  // empty: the phase's own
  int problems = 40;          // of variety, for each type
  double seconds = 540;       // after which nothing new is begun
  double energy_seconds = 30;
  double screen_seconds = 1.5;
  std::size_t frugal = 12;         // of the fastest, among which the most frugal is looked for
  std::size_t least_edges = 6;     // of the energy counter in a window
  std::vector<std::string> own;    // configs as JSON that are taken besides the promising ones
  std::vector<std::string> seeds;  // files of earlier runs, whose best ones are so too
  std::string share = "src", cache, json = "gemm_large.jsonl", command, nvdisasm = "nvdisasm";
  bool resume = false;
};

// What won in files of earlier runs, or what records of wisdom name, by problem. Throws
// Error(invalid_argument) naming file and line where one cannot be read, and the file that holds none.
std::map<std::string, std::vector<GemmLargeConfig>> read_seeds(const std::vector<std::string>& files);
// The flag as a config on `base`. Throws Error(invalid_argument) naming --config.
GemmLargeConfig parse_config(const std::string& text, const GemmLargeConfig& base);

// The keys by which rows give a ratio to cuBLAS.
nlohmann::json ratio_json(const Estimate& ratio);

class LargeBench {
 public:
  // Opens the file. Throws Error where it is none of ours, or was begun on another card or by other sources.
  explicit LargeBench(const LargeFlags& flags);
  // The process's code: 0, 1 where a result was wrong, 3 where something was left for another run.
  int run();

 private:
  void run_variety();
  void variety_problem(DType dtype, unsigned seed, std::size_t& right, std::size_t& wrong);
  void run_repeat();
  void repeat_case(const GemmProblem& problem);
  void run_compare();
  // By type and operations: what won for the sizes before.
  using Winners = std::map<std::string, std::vector<GemmLargeConfig>>;
  void compare_case(const GemmProblem& problem, Winners& winners, const GemmProblem* next);
  // Those of --config that are legal for it; of the others it is said why they are not.
  std::vector<GemmLargeConfig> own_configs(const GemmProblem& problem);
  std::vector<GemmLargeConfig> candidates(const GemmProblem& problem, const Winners& winners);
  std::vector<std::vector<double>> race(const GemmProblem& problem, std::span<const LargeTrial> trials,
                                        int rounds);
  void contest(const GemmProblem& problem, std::vector<LargeTrial>& trials);
  void summarise_compare();
  void run_ladder();
  void ladder_step(const GemmProblem& problem, const LargeTrial& trial);
  void run_energy();
  void energy_case(const GemmProblem& problem);
  std::optional<GemmLargeConfig> frugal_config(const GemmProblem& problem);
  // GFLOP/s/W, 0 where the meter gave none.
  double measure_energy(const GemmProblem& problem, const char* impl, const LargeTrial* trial,
                        const char* phase, double seconds);
  std::vector<nlohmann::json> energy_windows(const GemmProblem& problem, const char* impl) const;
  void write_energy_ratio(const GemmProblem& problem, const GemmLargeConfig& config);

  // Types by operations by sizes: the flags', or those given where there are none.
  std::vector<GemmProblem> problems(const std::vector<std::int64_t>& sizes,
                                    const std::vector<std::string>& ops) const;
  // Drops trials that are wrong, and counts them.
  void check(const GemmProblem& problem, std::vector<LargeTrial>& trials);
  // One or two launches of each, the fastest first.
  void screen(const GemmProblem& problem, std::vector<LargeTrial>& trials);
  // What a measured line says of problem, config and device, with notes of who else used the card.
  nlohmann::json row(const GemmProblem& problem, const char* impl, const LargeTrial* trial,
                     const char* phase);
  void write(const nlohmann::json& line);
  // Once each, for people.
  void say(const std::string& note);
  bool late(const std::string& left_out);
  void nothing_ran(const GemmProblem& problem);
  // Of this file, earlier runs included, in the order in which they were measured.
  std::vector<nlohmann::json> measured_lines(const GemmProblem& problem, const char* phase,
                                             const char* impl) const;
  // The first with that key, and that value where one is given; null where there is none.
  const nlohmann::json* measured_before(const GemmProblem& problem, const char* phase, const char* key,
                                        const nlohmann::json& value = nullptr) const;

  LargeFlags flags_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Winners seeds_;  // by problem
  LargeDevice device_;
  const Gpu& gpu_;
  const GemmLargeDevice known_ = gemm_large_device(
      gpu_.limits(), fitted_coefficients(nullptr, gpu_.limits().name, architecture_of(gpu_.limits())));
  LineLog log_;  // emptied or gone on with last, when all that was given has been read
  std::vector<nlohmann::json> rows_;
  std::vector<std::string> notes_, said_;    // of who used the card before; what was told
  std::size_t wrong_ = 0, without_any_ = 0;  // results, problems
  bool left_out_ = false;
  int run_ = 1;  // of those that the file is of
};

}  // namespace tilewright::bench
