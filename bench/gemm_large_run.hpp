// The phases of the large GEMM bench and what they share besides the device: flags, the deadline, the file of
// rows.
#pragma once

#include <chrono>
#include <fstream>

#include "gemm_large_device.hpp"

namespace tilewright::bench {

struct LargeFlags {
  std::vector<std::string> phases = {"variety", "compare", "ladder", "energy"};
  std::vector<DType> dtypes = {DType::f64, DType::f32};
  std::vector<std::string> ops = {"nn", "nt", "tn", "tt"};
  std::vector<GemmProblem> shapes;  // sizes of `compare`, m, n and k alone
  std::size_t configs = 40;         // screened for each case
  std::size_t finalists = 3;        // of ours beside cuBLAS
  int rounds = 11;
  int problems = 40;     // of variety, for each type
  double seconds = 540;  // after which nothing new is begun
  double energy_seconds = 8;
  double screen_seconds = 1.5;
  std::vector<std::string> own;  // configs as JSON that `repeat` takes besides the promising ones
  std::string share = "src", cache, json = "gemm_large.jsonl", command;
};
LargeFlags parse_large_flags(int argc, char** argv);

class LargeBench {
 public:
  explicit LargeBench(const LargeFlags& flags);
  void run();

 private:
  void run_variety();
  void variety_problem(DType dtype, unsigned seed, std::size_t& right, std::size_t& wrong);
  void run_repeat();
  void repeat_case(const GemmProblem& problem);
  void run_compare();
  void compare_case(const GemmProblem& problem, std::vector<GemmLargeConfig>& winners);
  void run_ladder();
  void run_energy();
  void energy_case(const GemmProblem& problem);

  // Drops trials that are wrong.
  void check(const GemmProblem& problem, std::vector<LargeTrial>& trials);
  // One or two launches of each, the fastest first.
  void screen(const GemmProblem& problem, std::vector<LargeTrial>& trials);
  void write(const nlohmann::json& row);
  bool late(const std::string& left_out);

  LargeFlags flags_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  LargeDevice device_;
  const Gpu& gpu_;
  std::ofstream json_;
};

}  // namespace tilewright::bench
