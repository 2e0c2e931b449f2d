// What differs between the families of GPU kernels that are tuned: their configs, how a kernel is compiled
// and loaded, and which small problem shows whether it is right. Choosing, checking, timing and deciding are
// one body for all of them (gpu_candidates, gpu_tuner).
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "kernel/jit/stencil.hpp"
#include "measure/gpu/arena.hpp"
#include "tune/axis_rules.hpp"
#include "tune/search_loop.hpp"

namespace tilewright {

// Something loaded that multiplies one problem on the GPU: a kernel of ours or the vendor's library.
class GpuTrial {
 public:
  virtual ~GpuTrial() = default;
  // A problem so small that every element can be checked, with whatever edges the kernel has.
  virtual GemmProblem edges() const = 0;
  virtual void run_edges(const Operands& operands) const = 0;
  // Queues the problem itself on operands.stream.
  virtual void run(const Operands& operands) const = 0;
};

// The configs of one problem that are searched, the default first.
class GpuFamily {
 public:
  virtual ~GpuFamily() = default;
  virtual const char* name() const = 0;
  virtual std::size_t size() const = 0;
  virtual nlohmann::json fields(std::size_t i) const = 0;
  // From any thread. Throws, with the reason, when it does not compile or what the compiler reports forbids
  // running it.
  virtual JitBinary compile(std::size_t i) const = 0;
  // Throws Error(unsupported) when it does not fit the device.
  virtual std::unique_ptr<GpuTrial> load(std::size_t i, const JitBinary& binary) const = 0;

  std::optional<std::size_t> incumbent;  // the place of what was known as best before
};

// Those of any config struct.
template <class Config>
class GpuConfigs : public GpuFamily {
 public:
  // `space` tells whether the incumbent, given by its fields, is legal.
  GpuConfigs(std::vector<Config> configs, const std::optional<nlohmann::json>& known,
             const Space<Config>& space)
      : configs_(std::move(configs)) {
    std::optional<Config> config;
    if (known) config = from_json<Config>(*known);
    incumbent = place_of(config, configs_, [&](const Config& one) { return space.contains(one); });
  }
  std::size_t size() const override { return configs_.size(); }
  nlohmann::json fields(std::size_t i) const override { return to_json(configs_[i]); }

 protected:
  const Config& config(std::size_t i) const { return configs_[i]; }

 private:
  std::vector<Config> configs_;
};

// What choosing configs is told.
struct GpuChoiceRules : AxisRules {
  std::uint64_t draw = 1;  // seed for --space whole, of which so many are drawn
  std::optional<nlohmann::json> incumbent;
  bool incumbent_only = false;  // nothing else but the default is tried
};

// How many configs are searched: those that usually matter, with whole_space a draw of all, and where axes
// are restricted these at least.
inline constexpr std::size_t gpu_usual_count = 240, gpu_whole_count = 4000, gpu_fewest_count = 24;

// The default first, then what the rules leave of the promising ones or of a draw from the space.
template <class Config, class Promising>
std::vector<Config> gpu_configs(const GemmProblem& problem, const GpuChoiceRules& rules,
                                const Config& standard, Promising&& promising, const Space<Config>& space) {
  if (rules.incumbent_only) return {standard};
  std::mt19937_64 random(rules.draw);
  const std::vector<Config> searched =
      rules.whole_space ? space.sample(gpu_whole_count, random) : promising(gpu_usual_count);
  return admitted_configs(problem, rules, standard, searched, space, gpu_fewest_count);
}

// "gemm_small" or "gemm": the family whose kernels serve the problem. Throws Error(unsupported) for what has
// no space to search.
std::string gpu_family_of(const GemmProblem& problem);

// The family for a problem as it is timed. The arena, whose operands it lies in, must outlive it; so must the
// compiler. Throws Error(invalid_argument) naming an axis or value that does not exist, or when no config
// remains.
std::unique_ptr<GpuFamily> make_gpu_family(const GemmProblem& problem, const StencilCompiler& compiler,
                                           const GpuChoiceRules& rules, const GpuArena& arena);

// The two behind it.
std::unique_ptr<GpuFamily> gpu_small_family(const GemmProblem& problem, const StencilCompiler& compiler,
                                            const GpuChoiceRules& rules, const GpuArena& arena);
std::unique_ptr<GpuFamily> gpu_large_family(const GemmProblem& problem, const StencilCompiler& compiler,
                                            const GpuChoiceRules& rules, const GpuArena& arena);

// Of the arena's operands and of the batches in them.
inline constexpr int gpu_operand_align = 128;

}  // namespace tilewright
