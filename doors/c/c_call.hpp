// Converts the arguments of the C functions that multiply: options, scalars, shapes, and the plan behind a
// handle.
#pragma once

#include <optional>
#include <string>

#include "c_handles.hpp"
#include "core/dispatch.hpp"
#include "core/fields.hpp"
#include "core/problem.hpp"
#include "gemm/call.hpp"
#include "sized.hpp"
#include "tilewright/gemm.hpp"

struct tilewright_plan {
  tilewright::GemmPlan plan;
  tilewright::ScalarsVary vary;  // as its problem was stated
  std::string explanation;
  mutable tilewright::LastErrors errors;
};

namespace tilewright {

inline GemmOptions to_options(const tilewright_options* options) {
  GemmOptions result;
  if (options == nullptr) return result;
  result.target = to_enum<Target>("target", options->target, TILEWRIGHT_TARGET_HYBRID);
  result.objective = to_enum<Objective>("objective", options->objective, TILEWRIGHT_OBJECTIVE_ENERGY_WITHIN);
  // All zeros is the default, so that of the goals without a weight, and of energy_within, 0 stands for none.
  if (options->objective_weight != 0 || result.objective == Objective::alpha)
    result.objective_weight = options->objective_weight;
  result.threads = options->threads;
  result.checked = options->checked != 0;
  result.residency = to_enum<Residency>("residency", options->residency, TILEWRIGHT_RESIDENCY_L1);
  result.arrival = to_enum<Arrival>("arrival", options->arrival, TILEWRIGHT_ARRIVAL_IDLE);
  if (options->candidate != nullptr) result.candidate = options->candidate;
  if (options->config != nullptr) result.config = options->config;
  result.queue = {options->device, static_cast<CUstream_st*>(options->stream)};
  result.align_bytes = options->align_bytes;
  result.tune_on_miss_s = options->tune_on_miss_s;
  result.gpus = to_gpus(options->gpus, options->gpu_count);
  result.gpu_memory_bytes = options->gpu_memory_bytes;
  result.split = to_enum<SplitRule>("split", options->split, TILEWRIGHT_SPLIT_FIXED);
  if (result.split == SplitRule::fixed || options->cpu_share != 0) result.cpu_share = options->cpu_share;
  result.on_device_failure = to_enum<OnDeviceFailure>("on_device_failure", options->on_device_failure,
                                                      TILEWRIGHT_ON_DEVICE_FAILURE_REDO);
  result.learn = to_enum<Learn>("learn", options->learn, TILEWRIGHT_LEARN_CALLS);
  return result;
}

// The same for a call, without a copy where there are none.
class CallOptions {
 public:
  explicit CallOptions(const tilewright_options* options) {
    if (options != nullptr) own_ = to_options(options);
  }
  operator const GemmOptions&() const { return own_ ? *own_ : default_options(); }

 private:
  std::optional<GemmOptions> own_;
};

inline Location location_of(const tilewright_options* options) {
  return options == nullptr ? Location::host
                            : to_enum<Location>("location", options->location, TILEWRIGHT_DEVICE);
}

// f.operator()<T, location>() for the element type and for where the options say the operands lie.
template <class F>
void dispatch_at(int dtype, const tilewright_options* options, F&& f) {
  const Location location = location_of(options);
  dispatch(to_dtype(dtype), [&]<class T>() {
    if (location == Location::device)
      f.template operator()<T, Location::device>();
    else
      f.template operator()<T, Location::host>();
  });
}

inline BatchInfo to_info(int mode, int* codes) {
  const auto info_mode = to_enum<InfoMode>("info_mode", mode, TILEWRIGHT_INFO_ANY);
  return codes == nullptr ? BatchInfo{} : BatchInfo{info_mode, codes};
}

template <class T>
T value_of(const char* argument, const void* value) {
  require_address(argument, value);
  return *static_cast<const T*>(value);
}

// The scalars of a call or a plan: one value each, or arrays with a value per problem.
struct Scalars {
  const void *alpha, *beta;
  ScalarsVary vary;

  template <class T, Location L>
  BatchScalar<T, L> alpha_of() const {
    return scalar<T, L>("alpha", alpha, vary.alpha);
  }
  template <class T, Location L>
  BatchScalar<T, L> beta_of() const {
    return scalar<T, L>("beta", beta, vary.beta);
  }
  void classify(GemmProblem& p) const {
    p.alpha = class_of("alpha", alpha, vary.alpha, p);
    p.beta = class_of("beta", beta, vary.beta, p);
  }

 private:
  template <class T, Location L>
  static BatchScalar<T, L> scalar(const char* name, const void* value, bool varies) {
    if (!varies) return value_of<T>(name, value);
    if (value == nullptr) refuse(name, fmt::format("the array {} is null", name));
    return BatchScalar<T, L>(static_cast<const T*>(value));
  }
  static Scalar class_of(const char* name, const void* value, bool varies, const GemmProblem& p) {
    if (varies && value == nullptr) refuse(name, fmt::format("the array {} is null", name));
    if (varies) return class_per_problem(p.location);
    return dispatch(p.dtype, [&]<class T>() { return scalar_class(value_of<T>(name, value)); });
  }
};
inline Scalars scalars_of(const void* alpha, const void* beta, const tilewright_options* options) {
  const bool given = options != nullptr;
  return {alpha, beta, {given && options->alpha_per_problem != 0, given && options->beta_per_problem != 0}};
}

// Refuses options for values per problem, with the reason that follows "options.alpha_per_problem = 1: ".
template <class Why>
void refuse_values(const tilewright_options* options, Why&& why) {
  const auto refuse_one = [&](const char* scalar, int value) {
    if (value != 0)
      refuse(fmt::format("{}_per_problem", scalar).c_str(),
             fmt::format("options.{}_per_problem = {}: {}", scalar, value, why(scalar)));
  };
  if (options == nullptr) return;
  refuse_one("alpha", options->alpha_per_problem);
  refuse_one("beta", options->beta_per_problem);
}
// For calls whose alpha and beta are one value, or one per group, whatever the options say.
inline void refuse_values_per_problem(const tilewright_options* options, const char* call) {
  refuse_values(options, [&](const char*) { return fmt::format("{} takes no value per problem", call); });
}
// For plans, whose problem states it.
inline void refuse_values_of_plans(const tilewright_options* options) {
  refuse_values(options, [](const char* scalar) {
    return fmt::format("a plan's problem states it in its text ({}=per_problem)", scalar);
  });
}

// f() for entry `index` of an array that a C function was given, such as "pass"; errors say which it is.
template <class F>
void name_entry(const char* what, std::int64_t index, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    throw Error(error.code(), error.argument(), fmt::format("{} {}: {}", what, index, error.what()),
                error.problem_index() < 0 ? index : error.problem_index());
  }
}

// One multiplication, or what those of a batch of one shape have in common, as a C function is given it.
struct CProduct {
  int op_a, op_b;
  std::int64_t m, n, k;
  const void *alpha, *a;
  std::int64_t lda;
  const void* b;
  std::int64_t ldb;
  const void* beta;
  void* c;
  std::int64_t ldc;
};

inline bool is_by_rows(const tilewright_options* options) {
  return options != nullptr && options->row_major != 0;
}
inline const ArgumentNames& names_of(const tilewright_options* options) {
  return is_by_rows(options) ? argument_names_by_rows : argument_names;
}
inline void refuse_by_rows(const tilewright_options* options, const char* what) {
  if (is_by_rows(options))
    refuse("row_major", fmt::format("options.row_major = 1 is not supported: {} column-major", what));
}
// Refuses the codes that a GPU would write for matrices by rows.
inline void refuse_codes_by_rows(const tilewright_options* options, int info_mode, const int* info) {
  if (is_by_rows(options) && info != nullptr && info_mode != TILEWRIGHT_INFO_NONE)
    throw Error(ErrorCode::unsupported, "row_major",
                "options.row_major = 1 is not supported with info codes in device memory: they would name "
                "the wrong arguments");
}
// C = op(A) op(B) by rows is C^T = op(B)^T op(A)^T by columns.
inline void swap_sides(CProduct& x, GemmProblem& layout) {
  std::swap(x.op_a, x.op_b), std::swap(x.m, x.n), std::swap(x.a, x.b), std::swap(x.lda, x.ldb);
  std::swap(layout.stride_a, layout.stride_b);
  std::swap(layout.outer_a, layout.outer_b);
  std::swap(layout.outermost_a, layout.outermost_b);
}

// Makes the call of it; `p` says how its batch lies, or that it is none.
inline ProductCall to_call(int dtype, CProduct x, GemmProblem p, const tilewright_options* options,
                           const ArgumentNames& names) {
  if (is_by_rows(options)) swap_sides(x, p);
  p.dtype = to_dtype(dtype);
  p.location = location_of(options);
  p.op_a = to_op(x.op_a), p.op_b = to_op(x.op_b);
  p.m = x.m, p.n = x.n, p.k = x.k;
  p.lda = x.lda, p.ldb = x.ldb, p.ldc = x.ldc;
  const Scalars scalars = scalars_of(x.alpha, x.beta, options);
  scalars.classify(p);
  return {p, {x.a, x.b, x.c, x.alpha, x.beta, scalars.vary.alpha, scalars.vary.beta}, names};
}

inline void run_c_call(Context& context, ProductCall call, const tilewright_options* options, int info_mode,
                       int* info) {
  if (call.problem.location == Location::device) refuse_codes_by_rows(options, info_mode, info);
  run_call(Access::impl(context), call, CallOptions(options), to_info(info_mode, info));
}

}  // namespace tilewright
