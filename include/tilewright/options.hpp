/// @file
/// The options that every function of gemm.hpp accepts, factors that may differ from problem to problem, and
/// the place of error codes. Options say WHERE operands in device memory lie and HOW a call runs; the views
/// and the GemmProblem say WHAT is multiplied.
/// @par Memory Calls copy what they need of options before they return.
/// @par Threads Options may be shared by calls of any number of threads, as long as nobody changes them.
/// @par Errors Options are checked by the call that receives them, which throws Error(invalid_argument)
/// naming
///   the field and its value, or Error(unsupported) for what this build or machine lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

/// WHERE: a GPU and a stream on it.
struct Queue {
  int device = 0;                 ///< number of the GPU that the operands lie on
  CUstream_st* stream = nullptr;  ///< a CUstream (cudaStream_t) of that GPU; null: its default stream

  friend bool operator==(const Queue&, const Queue&) = default;
};

/// Every field has a default, so that a call states only what differs: gemm(..., {.threads = 4}).
struct GemmOptions {
  // HOW, for every call.

  Target target = Target::automatic;  ///< processors that may compute
  /// The cost to minimise. Configs come from wisdom tuned for it (`tilewright tune --objective`), or, if
  /// there is none, from wisdom tuned for time, with a notice.
  Objective objective = Objective::time;
  /// alpha: the weight of time against energy, 0 to 1, which must be given. energy_within: the share by which
  /// the fastest config may be exceeded, 0.05 by default. Other objectives accept none.
  std::optional<double> objective_weight{};
  MathMode math_mode = MathMode::full;
  int threads = 0;       ///< threads of the host; 0: OpenMP's default. Inside a parallel region always 1
  bool checked = false;  ///< also finds overlapping C in batches of pointers, in O(n log n)
  Residency residency = Residency::automatic;  ///< expected memory of the operands; automatic: by their bytes
  /// idle: configs come from wisdom tuned for isolated calls (`tilewright tune --arrival idle`), or, if there
  /// is none, from other wisdom. TILEWRIGHT_ARRIVAL=idle has the same meaning for all calls.
  Arrival arrival = Arrival::back_to_back;
  std::string candidate{};  ///< "": the first that accepts; else this one or Error(unsupported)
  std::string config{};     ///< "": from wisdom, then the default; else JSON of fields that override it
  /// Seconds for which a problem without an exact record in wisdom is tuned before the call goes on, filling
  /// operands included; 0: never. The winner is kept in the user's wisdom, so that later calls use it. Needs
  /// install_tuner() of tilewright/tune.hpp, else the call throws Error(unsupported).
  double tune_on_miss_s = 0;
  /// calls: a plan of a problem that wisdom has no exact record of runs up to three of its best configs and
  /// implementations in turn, in the first 100 calls, times them without waiting, and stays with the fastest,
  /// which the user's wisdom keeps. Trials cost at most 5 % of the time of these calls, if none takes more
  /// than twice as long as expected. Calls on the host shorter than 5 us, and calls into a CUDA graph, run
  /// what is known as fastest. Implementations round differently, so results of early calls may differ in
  /// their last bits.
  Learn learn = Learn::automatic;

  // HOW GPUs share products of single matrices in host memory. automatic uses GPUs if the models of the
  // machine (`tilewright calibrate`) predict that this is faster; gpu leaves the CPU out; hybrid opens the
  // GPUs and divides C as `split` says, where all of C or none of it are valid shares. Such a call returns
  // when C is complete.

  std::vector<int> gpus{};             ///< numbers of GPUs that may be used; empty: all
  std::int64_t gpu_memory_bytes = 0;   ///< upper bound for each GPU; 0: all that is free
  SplitRule split = SplitRule::model;  ///< guided, exhaustive: the first call computes the product many times
  std::optional<double> cpu_share{};   ///< the CPU's part of C, 0 to 1; required by SplitRule::fixed only
  OnDeviceFailure on_device_failure = OnDeviceFailure::error;

  // WHERE, for operands in device memory. A call is queued on the stream and returns before the work is done;
  // errors of the description and of addresses, in any group, are thrown before anything is queued. A CUDA
  // graph that captured calls needs the plans that they found: prepare() them and keep the Context, or run
  // plans of your own, because the cache drops plans for newer ones.

  Queue queue{};        ///< plans take their stream with each run
  int align_bytes = 0;  ///< plans: power of two that divides all addresses, 0: 128; calls derive it
};

/// A factor: one value for the whole batch, or an array with a value for each problem. The array lies where
/// the operands do; it is the caller's and must live as long as they must.
template <class T, Location L = Location::host>
struct BatchScalar {
  T value{};
  const T* values = nullptr;

  /// One value.
  BatchScalar(T v) : value(v) {}  // NOLINT: a plain scalar is the common case
  /// One value, given as a number of another type: 1 is a factor of complex problems too.
  template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, T>) BatchScalar(Number v)  // NOLINT
      : value(static_cast<T>(v)) {}
  /// A value for each problem (Scalar::per_problem).
  /// @throws Error invalid_argument if the address is null.
  explicit BatchScalar(const T* per_problem) : values(per_problem) {
    if (per_problem == nullptr)
      raise(Error(ErrorCode::invalid_argument, "values", "the array of alpha or beta values is null"));
  }
};

/// The place of per-problem error codes. A code is 0, or -i if argument i of the BLAS routine is bad (op_a =
/// 1, op_b, m, n, k, alpha, a = 7, lda, b, ldb, beta, c = 12, ldc = 13). `codes` holds batch_count (all),
/// group_count (group) or 1 (any) entries; in these modes a bad problem is skipped and the others are
/// computed. For a batch in device memory the codes lie there too, and the queued work writes them.
/// @see Batched BLAS (Dongarra et al. 2017; NLAFET/BBLAS)
struct BatchInfo {
  InfoMode mode = InfoMode::none;
  int* codes = nullptr;
};

/// A parameter of this type takes no part in the deduction of T, so that 1 is a factor of any type.
template <class T>
using Same = std::type_identity_t<T>;

}  // namespace v0_2

/// Returns the default options: one shared object. Calls recognise it by its address, which is their fast
/// path. It throws nothing.
const GemmOptions& default_options() noexcept;

}  // namespace tilewright
