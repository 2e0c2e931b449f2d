// What all candidates whose operands lie on a GPU share: the reasons for which none of them serves, what a
// plan promises about addresses, zeros among general scalars, and the order in which configs are tried.
#pragma once

#include <optional>
#include <string>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/candidates.hpp"
#include "kernel/space.hpp"
#include "wisdom/families.hpp"

namespace tilewright {

inline CUstream_st* stream_of(const Operands& o) { return static_cast<CUstream_st*>(o.stream); }

// What the options promise of all addresses, at most what kernels gain from. Throws Error(invalid_argument)
// for what is no alignment.
int align_bytes(const PlanRequest& request);

// Why the GPU does not serve data that lie elsewhere or calls that were meant for the CPU; why it cannot be
// used; "" for no reason.
std::string why_not_on_gpu(const PlanRequest& request);
std::string why_no_machine(const PlanRequest& request);

// Whether a scalar of the class is zero; general ones are looked at.
bool is_zero(const GemmProblem& problem, Scalar kind, const void* value);

// Throws Error(unsupported) where alpha or beta hold a value per problem.
void refuse_values(const Operands& operands);

template <class Config>
struct GpuChoice {
  Config config;
  WisdomMatch match = WisdomMatch::none;
  std::string source;
  RecordedTime recorded{};
};

// The family as offer_configs() needs it; its space and its rules of thumb, the best first, are asked for
// only when wanted.
template <class Space, class RulesOfThumb>
struct DeviceFamily {
  const char* name;
  Space space;
  RulesOfThumb rules_of_thumb;
};

// The config of a record where this build has its fields and the space holds it.
template <class Config>
std::optional<Config> usable_config(const nlohmann::json& recorded, const Space<Config>& space) {
  try {
    const auto config = from_json<Config>(recorded);
    return space.contains(config) ? std::optional(config) : std::nullopt;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    return std::nullopt;
  }
}

// Hands out configs in the order in which they are tried until one is taken: the one asked for, else what
// wisdom offers and, at last, rules of thumb.
template <class Config, class Family, class Take>
void offer_configs(const PlanRequest& r, const Family& family, const GpuLimits& limits, Take&& take) {
  using Choice = GpuChoice<Config>;
  if (!r.options.config.empty()) {
    const auto config = from_json(parse_config(r.options.config), family.rules_of_thumb().front());
    require_legal(r, family.space().explain(config));
    take(Choice{config, WisdomMatch::none, "asked for"});
    return;
  }
  if (r.context.wisdom() != nullptr) {
    const auto space = family.space();
    const auto offer = [&](const WisdomAnswer& answer) {
      const auto config = usable_config<Config>(answer.config, space);
      return config && take(Choice{*config, answer.match, answer.source, answer.recorded});
    };
    if (offer_wisdom(r, family.name, limits.name, offer)) return;
  }
  for (const Config& config : family.rules_of_thumb())
    if (take(Choice{config, WisdomMatch::none, "rule of thumb"})) return;
}

// Fills in a plan that runs with the first config for which `make` gives a runner; make(config) throws
// Error(unsupported) for one that will not do, or Error(out_of_memory). Throws like the first of those where
// none will.
template <class Config, class Family, class Make>
void plan_with_first(const PlanRequest& r, const Family& family, const GpuLimits& limits,
                     GemmPlan::Impl& plan, Make&& make) {
  std::string declined;
  ErrorCode code = ErrorCode::unsupported;
  bool only_slower = false;
  offer_configs<Config>(r, family, limits, [&](const GpuChoice<Config>& choice) {
    try {
      plan.gpu = make(choice.config);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::out_of_memory) throw;
      const bool not_compiled = error.argument() == "no_jit";
      // What calls may not compile says more than why another config would not have done, and that one would
      // do better the least.
      if (declined.empty() || not_compiled || only_slower) declined = error.what(), code = error.code();
      only_slower = error.argument() == "batch_count";
      if (not_compiled && plan.passed_over.empty()) plan.passed_over = error.what();
      return false;
    }
    plan.match = choice.match;
    plan.config_source = choice.source;
    plan.recorded = choice.recorded;
    notice_match(r, choice.match, choice.source, choice.recorded, plan);
    return true;
  });
  if (plan.gpu == nullptr) throw Error(code, "config", declined);
}

}  // namespace tilewright
