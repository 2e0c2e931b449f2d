// What a Context keeps: the environment it was made in, the CPU kernels it may run, wisdom, CBLAS and GPUs
// once they are first needed, and its caches of kernels and plans. Everything here may be used by many
// threads at once.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/access.hpp"
#include "core/bounded_map.hpp"
#include "core/env.hpp"
#include "core/host/fork_gate.hpp"
#include "device/cblas.hpp"
#include "gemm/run/kernel_cache.hpp"
#include "kernel/gemm_small_cpu/config.hpp"
#include "plan/cache.hpp"
#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

class GpuMachines;     // device_machine.hpp
class HybridNode;      // hybrid/node.hpp
class LuMachines;      // lu/device/machines.hpp
class SmallKernels;    // cpu_small/kernels.hpp
struct GemmOperation;  // candidate.hpp
template <class Operation>
struct Candidate;

// Whether the same plan serves both: the stream is no part of a plan.
bool operator==(const GemmOptions& x, const GemmOptions& y);

using GemmPlans = PlanCache<GemmProblem, GemmOptions, GemmPlan::Impl>;

struct Context::Impl {
  explicit Impl(const ContextOptions& options);
  ~Impl();

  // Null when the Context was told to use none.
  const Wisdom* wisdom() const { return wisdom_.get(); }
  // Throws Error(io) where TILEWRIGHT_CBLAS names what cannot be used.
  std::shared_ptr<const CblasLibrary> cblas();

  // What was decided by wisdom that has changed since, of problems in host memory or of all.
  void forget_host_plans();
  void clear_plan_cache();

  // Something the user should know though nothing failed; kept and logged once for each thing it is about,
  // which is the message itself where nothing is named.
  void notice(const std::string& message, const std::string& about = "");
  std::vector<std::string> notices() const;

  Environment environment;
  std::string asked_cblas;  // by the options
  Isa isa = Isa::portable;
  std::string own_wisdom;                 // the user's file, which tuning writes; "" where there is none
  std::vector<std::string> wisdom_files;  // in the order of their precedence; some may not exist
  bool logs = true;                       // notices, to stderr
  bool wants_notices = false;             // of what a call was served with
  bool wisdom_notices = false;            // whether a lookup that is not exact is worth a notice
  bool no_jit = false;                    // only prepare() compiles GPU kernels
  std::shared_ptr<GpuMachines> gpus;      // null in builds without the GPU sources
  std::shared_ptr<HybridNode> hybrid;     // products of host operands on CPU and GPUs; never null
  std::shared_ptr<LuMachines> lu;         // of LU on GPUs; null until it is first asked for
  std::once_flag lu_asked;
  BoundedMap<std::string, std::int64_t> lu_panels{256};  // columns that models chose, by problem and options
  std::shared_ptr<KernelCache> kernels = std::make_shared<KernelCache>();
  std::shared_ptr<SmallKernels> small;  // of calls without a plan of their own; never null
  GemmPlans plans;
  GemmPlans part_plans;  // of what GPUs multiply for host operands, with configs of problems about as large
  std::span<const Candidate<GemmOperation>> candidates;  // in the order in which plans ask them

  // Tune-on-miss (tune_on_miss.hpp): who tunes, and what was tuned so that nothing is tried twice.
  struct Misses {
    TuneHook tuner;
    Mutex mutex;
    std::unordered_set<std::string> tuned;
  } misses;

 private:
  void add_notice(const std::string& message, const std::string& about);

  std::unique_ptr<Wisdom> wisdom_;
  mutable Mutex mutex_;
  std::shared_ptr<const CblasLibrary> cblas_;
  std::vector<std::string> notices_;
  std::unordered_set<std::string> noticed_;
};

// The best kernels this process may run, or those that `name` asks for. Throws Error(invalid_argument) naming
// the cpu as `argument`.
Isa choose_isa(const std::string& name, const char* argument = "cpu");

}  // namespace tilewright
