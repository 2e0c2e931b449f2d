// The flags of `bench` as typed, and the plan of cases that they describe. A value that is not implemented
// yet is refused here with the reason, before any measurement.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/family.hpp"
#include "lists.hpp"

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
  std::string arrival = "back_to_back";
  std::string location;  // "": where the family's operands lie
  std::string memory;    // "": pageable; both kinds for transfers to a GPU
  std::string threads = "1";
  std::string numa;  // "": one arena, placed by the operating system
  std::string data = "uniform";
  std::string candidate;
  std::string learn = "auto";
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
  std::string most_error_ratio;            // "": no limit
  HybridFlags hybrid;                      // for families that CPU and GPUs share
  std::map<std::string, std::string> own;  // values of flags that not all families have, by name
};

class ToolOperation;
using ToolOperations = std::vector<const ToolOperation*>;
struct FamilyFlags;

// A family of `bench` as its verb knows it: what the flags mean for it, and who measures it.
struct BenchFamily {
  struct Flag {
    const char *name, *help, *value;  // of a flag that not all families have; the value if it is not given
  };

  const char* name;
  std::unique_ptr<bench::Family> (*make)(const bench::Plan& plan);
  bool is_on_gpu = false;       // operands lie there unless --location says otherwise
  bool both_locations = false;  // it may say otherwise
  bool is_shared = false;       // CPU and GPUs share operands in host memory
  const char* sizes = "4,8,13,16,32";
  int edges = 3;  // of a size: MxNxK, MxN, or one number
  const char* residencies = "cold,l2";
  // Flags that it does not read: using one is an error, since it would promise a measurement that is not
  // made.
  std::vector<const char*> unused = {}, unused_on_device = {};
  std::vector<std::string> (*peers)() = nullptr;  // null: those that multiply where the operands lie
  std::vector<std::string> (*ways)() = nullptr;
  bool target_is_variant = false;  // --target is a list as that of --ways
  std::vector<Flag> own = {};
  const bench::CaseForm* form = nullptr;  // null: its cases are products
  // Reads its own flags into the plan of its cases.
  void (*complete)(const FamilyFlags& flags, bench::Plan& plan) = nullptr;

  bool owns(const std::string& flag) const;
};

// The flags with the family that they name. Throws Error(invalid_argument) if there is none of that name.
struct FamilyFlags : BenchFlags {
  FamilyFlags(const BenchFlags& flags);
  FamilyFlags(const BenchFlags& flags, const ToolOperations& operations);

  const BenchFamily& is;

  bool on_gpu() const;  // where operands lie
  std::string own_value(const std::string& name) const;
};

// Throws Error naming the flag, its value and the reason.
bench::Plan plan_bench(const FamilyFlags& flags);

}  // namespace tilewright::cli
