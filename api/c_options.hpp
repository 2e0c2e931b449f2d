// What the calls of the C interface make of their arguments: options, the element type, where operands lie,
// scalars and shapes.
#pragma once

#include <optional>

#include "c_handles.hpp"
#include "core/dispatch.hpp"
#include "core/fields.hpp"
#include "core/problem.hpp"
#include "tilewright/gemm.hpp"

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
  if (options->candidate != nullptr) result.candidate = options->candidate;
  if (options->config != nullptr) result.config = options->config;
  result.device = options->device;
  result.stream = options->stream;
  result.align_bytes = options->align_bytes;
  result.tune_on_miss.budget_s = options->tune_on_miss_s;
  result.alpha_varies = options->alpha_varies != 0;
  result.beta_varies = options->beta_varies != 0;
  result.gpus = to_gpus(options->gpus, options->gpu_count);
  result.gpu_memory_bytes = options->gpu_memory_bytes;
  result.split = to_enum<SplitWay>("split", options->split, TILEWRIGHT_SPLIT_FIXED);
  if (result.split == SplitWay::fixed || options->cpu_share != 0) result.cpu_share = options->cpu_share;
  result.on_device_failure = to_enum<OnDeviceFailure>("on_device_failure", options->on_device_failure,
                                                      TILEWRIGHT_ON_DEVICE_FAILURE_REDO);
  return result;
}

// The same for a call, without a copy where there are none.
class CallOptions {
 public:
  explicit CallOptions(const tilewright_options* options) {
    if (options != nullptr) own_ = to_options(options);
  }
  operator const GemmOptions&() const { return own_ ? *own_ : usual_options(); }

 private:
  std::optional<GemmOptions> own_;
};

// f.operator()<T, location>() for the element type and for where the options say the operands lie.
template <class F>
void dispatch_at(int dtype, const tilewright_options* options, F&& f) {
  const auto location = options == nullptr
                            ? Location::host
                            : to_enum<Location>("location", options->location, TILEWRIGHT_DEVICE);
  dispatch(to_dtype(dtype), [&]<class T>() {
    if (location == Location::device)
      f.template operator()<T, Location::device>();
    else
      f.template operator()<T, Location::host>();
  });
}

template <class T>
T value_of(const char* argument, const void* value) {
  if (value == nullptr) refuse(argument, fmt::format("{} is null", argument));
  return *static_cast<const T*>(value);
}

// For calls whose alpha and beta are one value, or one per group, whatever the options say.
inline void refuse_values_per_problem(const tilewright_options* options, const char* call) {
  const auto refuse_one = [&](const char* name, int varies) {
    if (varies != 0)
      refuse(name, fmt::format("options.{} = {}: {} takes no value per problem", name, varies, call));
  };
  if (options == nullptr) return;
  refuse_one("alpha_varies", options->alpha_varies);
  refuse_one("beta_varies", options->beta_varies);
}

// Sizes, ops and leading dimensions of one multiplication, and its scalars still by address.
struct CallShape {
  Op op_a, op_b;
  std::int64_t m, n, k;

  std::int64_t a_rows() const { return op_a == Op::none ? m : k; }
  std::int64_t a_cols() const { return op_a == Op::none ? k : m; }
  std::int64_t b_rows() const { return op_b == Op::none ? k : n; }
  std::int64_t b_cols() const { return op_b == Op::none ? n : k; }
};
inline CallShape to_shape(int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {to_op(op_a), to_op(op_b), m, n, k};
}

}  // namespace tilewright
