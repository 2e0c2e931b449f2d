// What `bench` was asked to measure: the flags as typed, and the list of cases they stand for. A flag whose
// value is not built yet is refused here with the reason, before anything is measured.
#pragma once

#include <string>
#include <vector>

#include "measure/buffers.hpp"
#include "measure/operands.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::cli {

struct BenchFlags {
  std::string family = "gemm_small_cpu";
  std::string dtype = "f64";
  std::string sizes;  // "": what is usual for the family
  std::string op = "nn";
  std::string layout;  // "": strided; of gemm single
  std::string batch;   // "": what the residency asks for
  std::string block;   // "": one 64-byte vector of problems
  std::string alpha = "1";
  std::string beta = "1";
  std::string pad_ld = "0";
  std::string pointer_order = "sequential";
  std::string residency;  // "": cold and l2; on the GPU cold
  std::string location;   // "": where the family's operands lie
  std::string memory;     // "": pageable; of transfers to a GPU both kinds
  std::string threads = "1";
  std::string numa;  // "": one arena, as the operating system places it
  std::string data = "uniform";
  std::string candidate;
  std::string config;
  std::string objective = "time";
  std::string target;  // "": what the family runs on
  std::string peers = "auto";
  std::string repetitions = "11";
  std::string record;
  std::string json;
  bool counters = false;
  // On the GPU only.
  std::string configs = "0";       // promising configs tried beside the plan's
  std::string megabytes = "1024";  // of each operand
  std::string device = "0";
  bool check_only = false;
  std::string most_error_ratio;  // "": no limit

  // Families that are measured on the host as well as on the GPU.
  bool has_both_locations() const { return family == "layout" || family == "transfer"; }
  bool on_gpu() const {
    return family == "gemm_small" || family == "gemm" || (has_both_locations() && location == "device");
  }
};

// One line of the table. `layout` is what the user calls the batch; grouped and variable batches lie in
// memory like pointer batches, which is what problem.layout then says.
struct BenchCase {
  std::string family;
  GemmProblem problem;
  Layout layout = Layout::strided;
  double alpha = 1;
  double beta = 0;
  std::int64_t convert_block = 0;  // of the layout family: the blocks converted to; 0: recommended_block()
  int threads = 1;
  PointerOrder pointer_order = PointerOrder::sequential;
  Data data = Data::uniform;
  std::string numa;
  std::string target = "cpu";
  GemmOptions options;  // without threads

  bool hot() const { return problem.residency != Residency::cold; }
};

// Flags that every case shares, checked once.
struct BenchPlan {
  std::vector<BenchCase> cases;
  std::vector<std::string> peers;  // names wanted; empty with all_peers
  bool all_peers = true;
  int repetitions = 11;
  // On the GPU only.
  std::vector<std::string> memories;  // of the host: pageable, pinned
  int configs = 0;
  std::int64_t operand_bytes = 0;
  int device = 0;
};

// Throws Error naming the flag, its value and the reason.
BenchPlan plan_bench(const BenchFlags& flags);

// The problem as text, the way it is named in tables and files.
std::string problem_text(const BenchCase& bench_case);

}  // namespace tilewright::cli
