// The flags of `bench` as typed, and the plan of cases that they describe. A value that is not implemented
// yet is refused here with the reason, before any measurement.
#pragma once

#include <string>

#include "bench/case.hpp"
#include "bench_lu_flags.hpp"
#include "hybrid_flags.hpp"

namespace tilewright::cli {

struct BenchFlags {
  std::string family = "gemm_small_cpu";
  std::string dtype = "f64";
  std::string sizes;  // "": the family's default
  std::string op = "nn";
  std::string layout;  // "": strided; single for gemm
  std::string batch;   // "": chosen by the residency
  std::string block;   // "": one 64-byte vector of problems
  std::string alpha = "1";
  std::string beta = "1";
  std::string pad_ld = "0";
  std::string pointer_order = "sequential";
  std::string residency;  // "": cold and l2; cold for gemm and on the GPU
  std::string location;   // "": where the family's operands lie
  std::string memory;     // "": pageable; both kinds for transfers to a GPU
  std::string threads = "1";
  std::string numa;  // "": one arena, placed by the operating system
  std::string data = "uniform";
  std::string candidate;
  std::string config;
  std::string objective = "time";
  std::string target;  // "": the family's default
  std::string peers = "auto";
  std::string ways;  // for hybrid and lu; "": all
  std::string repetitions = "11";
  std::string record;
  std::string json;
  std::string budget;  // seconds; "": unlimited
  bool resume = false;
  bool counters = false;
  // The following are for the GPU only.
  std::string configs = "0";       // promising configs tried beside the plan's
  std::string megabytes = "1024";  // size of each operand
  std::string device = "0";
  bool check_only = false;
  bool once = false;
  std::string races = "0";
  std::string energy_seconds = "1.5", energy_rounds = "1";
  std::string most_error_ratio;  // "": no limit
  HybridFlags hybrid;            // for hybrid and lu only
  BenchLuFlags lu;               // for lu only

  // True if CPU and GPUs share host operands.
  bool is_shared() const { return family == "hybrid" || family == "lu"; }
  // Return the family's default location of operands, and whether they may lie elsewhere.
  bool is_gpu_family() const { return family == "gemm_small" || family == "gemm"; }
  bool has_both_locations() const { return family == "gemm" || family == "layout" || family == "transfer"; }
  bool on_gpu() const {
    if (has_both_locations() && !location.empty()) return location == "device";
    return is_gpu_family();
  }
};

// Throws Error naming the flag, its value and the reason.
bench::Plan plan_bench(const BenchFlags& flags);

}  // namespace tilewright::cli
