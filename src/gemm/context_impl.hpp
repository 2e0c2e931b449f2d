// The state of a Context: its environment, CPU kernels it may run, wisdom, CBLAS and GPUs once they are
// needed, and caches of kernels and plans. All of it is thread-safe.
#pragma once

#include <functional>
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

class GpuMachines;     // device/machine.hpp
class HybridNode;      // hybrid/node.hpp
class LuMachines;      // lu/device/tools.hpp
class SmallKernels;    // cpu_small/kernels.hpp
struct GemmOperation;  // candidate.hpp
template <class Operation>
struct Candidate;

// True if one plan serves both; plans do not depend on the stream.
bool operator==(const GemmOptions& x, const GemmOptions& y);

using GemmPlans = PlanCache<GemmProblem, GemmOptions, GemmPlan::Impl>;

struct Context::Impl {
  explicit Impl(const ContextOptions& options);
  ~Impl();

  // Null if the Context uses no wisdom.
  const Wisdom* wisdom() const { return wisdom_.get(); }
  // Throws Error(io) if the library that TILEWRIGHT_CBLAS names cannot be used.
  std::shared_ptr<const CblasLibrary> cblas();

  // Forgets plans made with wisdom that has changed, for problems in host memory or for all.
  void forget_host_plans();
  void clear_plan_cache();

  // Keeps and logs a message for the user, once for each `about` (default: the message itself).
  void notice(const std::string& message, const std::string& about = "");
  std::vector<std::string> notices() const;

  Environment environment;
  std::string asked_cblas;  // from the options
  std::function<void(const std::string&)> on_notice;
  Isa isa = Isa::portable;
  std::string own_wisdom;                 // the user's file, which tuning writes; "" where there is none
  std::vector<std::string> wisdom_files;  // in the order of their precedence; some may not exist
  bool logs = false;                      // notices, to stderr
  bool tells_plans = false;               // who serves each new plan, to stderr
  bool wants_notices = false;             // about the kernels that serve a call
  bool wisdom_notices = false;            // of lookups that are not exact
  bool learns = false;                    // plans learn from calls unless their options say otherwise
  bool no_jit = false;                    // only prepare() compiles GPU kernels
  std::shared_ptr<GpuMachines> gpus;      // null in builds without the GPU sources
  std::shared_ptr<HybridNode> hybrid;     // products of host operands on CPU and GPUs; never null
  std::shared_ptr<LuMachines> lu;         // of LU on GPUs; null until its first use
  std::once_flag lu_asked;
  BoundedMap<std::string, std::int64_t> lu_panels{256};  // columns that models chose, by problem and options
  std::shared_ptr<KernelCache> kernels = std::make_shared<KernelCache>();
  std::shared_ptr<SmallKernels> small;  // of calls without a plan of their own; never null
  GemmPlans plans;
  GemmPlans part_plans;  // of GPUs' parts of host products, with configs of problems of similar size
  std::span<const Candidate<GemmOperation>> candidates;  // in the order in which plans ask them

  // Tune-on-miss: the tuner, and the problems that it has tuned.
  struct Misses {
    TuneHook tuner;
    Mutex mutex;
    std::unordered_set<std::string> tuned;
  } misses;

 private:
  // Returns the notice; "" for one that was there.
  std::string add_notice(const std::string& message, const std::string& about);

  std::unique_ptr<Wisdom> wisdom_;
  mutable Mutex mutex_;
  std::shared_ptr<const CblasLibrary> cblas_;
  std::vector<std::string> notices_;
  std::unordered_set<std::string> noticed_;
};

// Returns the best usable instruction set, or the requested one. Error(invalid_argument) names `argument`.
Isa choose_isa(const std::string& name, const char* argument = "cpu");

}  // namespace tilewright
