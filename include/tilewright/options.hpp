// The way a call is to be run: the options that every function of gemm.hpp takes, factors that may differ
// from problem to problem, and where error codes go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

// A place on a GPU where work is queued.
struct Queue {
  int device = 0;                 // the GPU that the operands lie on
  CUstream_st* stream = nullptr;  // a CUstream (cudaStream_t) of that GPU; null: its default stream

  friend bool operator==(const Queue&, const Queue&) = default;
};

// Tuning on the first miss: where wisdom has no exact record of a problem, its best config is searched for
// before the call goes on and is kept in the user's wisdom, so that this call and all later ones use it. The
// library holds no tuner: install_tuner() of tilewright/tune.hpp gives one to a Context, and without it a
// call that asks for tuning throws Error(unsupported).
struct TuneOnMiss {
  double budget_s = 0;  // for each problem that is missing, filling cold operands included; 0: never

  friend bool operator==(const TuneOnMiss&, const TuneOnMiss&) = default;
};

struct GemmOptions {
  Target target = Target::automatic;
  // Served from wisdom tuned for it (`tilewright tune --objective`); where it has none, from what was tuned
  // for time, with a notice.
  Objective objective = Objective::time;
  // For alpha: the weight of time against energy, 0 to 1, which must be given. For energy_within: by what
  // share the fastest may be exceeded, 0.05 unless given.
  std::optional<double> objective_weight{};
  MathMode math_mode = MathMode::full;
  int threads = 0;  // 0: OpenMP's default; inside a parallel region always 1
  bool checked =
      false;  // also looks for overlapping C in batches of pointers, which lose products: O(n log n)
  Residency residency =
      Residency::automatic;  // where the operands are expected; automatic: judged by their bytes
  std::string candidate{};   // "": first that accepts; else this one or Error(unsupported)
  std::string config{};      // "": wisdom, then default; else JSON fields over the default
  TuneOnMiss tune_on_miss{};

  // Products of single matrices in host memory. Target automatic takes GPUs where the models of the machine
  // (`tilewright calibrate`) say that this is faster; gpu leaves the CPU out; hybrid opens the GPUs and
  // shares C as `split` says, none and all of it being shares too. Such a call returns when C is complete.
  std::vector<int> gpus{};            // that may be used; empty: all
  std::int64_t gpu_memory_bytes = 0;  // of each GPU, at most; 0: what is free
  SplitWay split = SplitWay::model;   // guided, exhaustive: the first call makes the product many times
  std::optional<double> cpu_share{};  // of fixed, which needs it: what part of C the CPU computes, 0 to 1
  OnDeviceFailure on_device_failure = OnDeviceFailure::error;

  // Operands in device memory. A call is queued on the stream and returns before the work is done; errors of
  // the description and of addresses, in any group, are thrown before anything is queued. A CUDA graph that
  // captured calls needs the plans that they found: prepare() them and keep the Context (or run plans of your
  // own), because other plans make way for newer ones.
  Queue queue{};        // where they lie and where a call is queued; plans take their stream with each run
  int align_bytes = 0;  // plans: what all addresses are multiples of, a power of two; 0: 128. Calls see for
                        // themselves.
  // Plans: alpha, or beta, comes as a value per problem, in device memory. Calls see for themselves.
  bool alpha_varies = false;
  bool beta_varies = false;
};

// One value for the whole batch, or `values[p]` for problem p when values is not null. The values lie where
// the operands do.
template <class T, Location L = Location::host>
struct BatchScalar {
  T value{};
  const T* values = nullptr;

  BatchScalar(T v) : value(v) {}  // NOLINT: a plain scalar is the common case
  explicit BatchScalar(const T* per_problem) : values(per_problem) {
    if (per_problem == nullptr)
      raise(Error(ErrorCode::invalid_argument, "values", "the array of alpha or beta values is null"));
  }
};

// The place of per-problem error codes (Dongarra 2017; NLAFET/BBLAS). A code is 0, or -i when argument i of
// the BLAS routine (op_a = 1, op_b, m, n, k, alpha, a = 7, lda, b, ldb, beta, c = 12, ldc = 13) is bad. codes
// holds batch_count (all), group_count (group) or 1 (any) entries; in these modes a bad problem is skipped
// and the others are computed. Of a batch in device memory codes lie there too and are written by the work
// that the call queues.
struct BatchInfo {
  InfoMode mode = InfoMode::none;
  int* codes = nullptr;
};

// A parameter of this type takes no part in the deduction of T, so that 1 is a factor of any type.
template <class T>
using Same = std::type_identity_t<T>;

}  // namespace v0_2

// The default options: one shared object. Calls recognise it by its address, which is their fast path.
const GemmOptions& default_options() noexcept;

}  // namespace tilewright
