// What `bench` was asked to measure, as typed, and the plan of cases that it stands for. A flag whose value
// is not built yet is refused here with the reason, before anything is measured.
#pragma once

#include <string>

#include "bench/case.hpp"
#include "bench_lu_flags.hpp"
#include "hybrid_flags.hpp"

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
  std::string residency;  // "": cold and l2; of gemm and on the GPU cold
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
  std::string ways;  // of hybrid and lu; "": all
  std::string repetitions = "11";
  std::string record;
  std::string json;
  std::string budget;  // seconds; "": no end
  bool resume = false;
  bool counters = false;
  // On the GPU only.
  std::string configs = "0";       // promising configs tried beside the plan's
  std::string megabytes = "1024";  // of each operand
  std::string device = "0";
  bool check_only = false;
  bool once = false;
  std::string races = "0";
  std::string energy_seconds = "1.5", energy_rounds = "1";
  std::string most_error_ratio;  // "": no limit
  HybridFlags hybrid;            // of hybrid and lu only
  BenchLuFlags lu;               // of lu only

  // Whether host operands are shared out among CPU and GPUs.
  bool is_shared() const { return family == "hybrid" || family == "lu"; }
  // Where operands of the family lie when nothing else is asked for, and whether they may lie elsewhere.
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
