// C = alpha * op(A) * op(B) + beta * C for one matrix or a batch, on data in host memory or on a GPU: where
// the operands lie is part of the views' type.
//
// Every call validates its arguments before it writes anything. beta == 0 never reads C; alpha == 0 or k == 0
// never reads A and B, and with beta == 1 leaves C as it is. C must not share elements with A or B: C at the
// address of one of them is refused by calls (plans do not look), other overlaps are not seen. Complex
// products are (ac - bd) + (ad + bc)i: an infinity may become NaN, as in every BLAS. Views describe matrices
// as stored, before op: A is m x k for Op::none and k x m otherwise. All functions throw Error; without an
// info array nothing has been written when they do.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/context.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

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
  // Of alpha: what time counts for against energy, 0 to 1, which must be given. Of energy_within: by what
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
  int device = 0;          // the GPU they lie on
  void* stream = nullptr;  // a CUstream (cudaStream_t) of that GPU; null: its default stream. Plans take
                           // theirs with each run.
  int align_bytes = 0;  // plans: what all addresses are multiples of, a power of two; 0: 128. Calls see for
                        // themselves.
  // Plans: alpha, or beta, comes as a value per problem, in device memory. Calls see for themselves.
  bool alpha_varies = false;
  bool beta_varies = false;
};

// Those of calls that name none: made once, and known to be the usual ones by where they are.
const GemmOptions& usual_options() noexcept;

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

// Where per-problem error codes go (Dongarra 2017; NLAFET/BBLAS). A code is 0, or -i when argument i of the
// BLAS routine (op_a = 1, op_b, m, n, k, alpha, a = 7, lda, b, ldb, beta, c = 12, ldc = 13) is bad. codes
// holds batch_count (all), group_count (group) or 1 (any) entries; in these modes a bad problem is skipped
// and the others are computed. Of a batch in device memory codes lie there too and are written by the work
// that the call queues.
struct BatchInfo {
  InfoMode mode = InfoMode::none;
  int* codes = nullptr;
};

template <class T>
using Same = std::type_identity_t<T>;

// One multiplication. Source of the semantics: BLAS xGEMM.
template <class T>
void gemm(Context& context, Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T>>& a,
          const Same<MatrixView<const T>>& b, Same<T> beta, const MatrixView<T>& c,
          const GemmOptions& options = usual_options());

// Fixed-size batches; the counts of a, b and c must agree. No two problems of one call may have a C, or a
// part of one, in common: kernels read a C before those of earlier problems are stored, so that products are
// lost, on one thread too. options.checked finds this in pointer, grouped and variable batches.
// gemm_batch_reduce and gemm_stack sum products into one C.
template <class T>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T>> alpha,
                  Same<StridedBatch<const T>> a, Same<StridedBatch<const T>> b, Same<BatchScalar<T>> beta,
                  StridedBatch<T> c, const GemmOptions& options = usual_options(), BatchInfo info = {});
template <class T>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T>> alpha,
                  Same<PointerBatch<const T>> a, Same<PointerBatch<const T>> b, Same<BatchScalar<T>> beta,
                  PointerBatch<T> c, const GemmOptions& options = usual_options(), BatchInfo info = {});
template <class T>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T>> alpha,
                  Same<InterleavedBatch<const T>> a, Same<InterleavedBatch<const T>> b,
                  Same<BatchScalar<T>> beta, InterleavedBatch<T> c,
                  const GemmOptions& options = usual_options(), BatchInfo info = {});

// The same on a GPU: the addresses, and the pointers of a pointer batch, are those of device memory. One
// alpha or beta for all lies on the host, values per problem on the device. What is checked of operands:
// sizes, strides, null, alignment, ranges that certainly overlap; with options.checked also that the memory
// is that GPU's. A null pointer in a pointer batch is seen on the device: that problem is skipped, and
// reported where `info` is given. Values per problem, and pointers that are reported, are taken up to sizes
// of 64. The location is a parameter so that gemm<double>(..., {c, m, n, ld}, ...) means the host.
template <class T, Location L>
void gemm(Context& context, Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T, L>>& a,
          const Same<MatrixView<const T, L>>& b, Same<T> beta, const MatrixView<T, L>& c,
          const GemmOptions& options = usual_options());
template <class T, Location L>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T, L>> alpha,
                  Same<StridedBatch<const T, L>> a, Same<StridedBatch<const T, L>> b,
                  Same<BatchScalar<T, L>> beta, StridedBatch<T, L> c,
                  const GemmOptions& options = usual_options(), BatchInfo info = {});
template <class T, Location L>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T, L>> alpha,
                  Same<PointerBatch<const T, L>> a, Same<PointerBatch<const T, L>> b,
                  Same<BatchScalar<T, L>> beta, PointerBatch<T, L> c,
                  const GemmOptions& options = usual_options(), BatchInfo info = {});
template <class T, Location L>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T, L>> alpha,
                  Same<InterleavedBatch<const T, L>> a, Same<InterleavedBatch<const T, L>> b,
                  Same<BatchScalar<T, L>> beta, InterleavedBatch<T, L> c,
                  const GemmOptions& options = usual_options(), BatchInfo info = {});

// Groups of different shapes, and fully variable batches. No C may repeat here either: gemm_stack is for
// that.
template <class T>
void gemm_grouped(Context& context, std::span<const GemmGroup<T>> groups,
                  const GemmOptions& options = usual_options(), BatchInfo info = {});
template <class T>
void gemm_variable(Context& context, std::span<const GemmItem<T>> items,
                   const GemmOptions& options = usual_options(), BatchInfo info = {});

// Groups whose matrices, and arrays of pointers to them, are in device memory; the groups themselves are read
// on the host. Each group is one launch. gemm_grouped<double, Location::device>(...).
template <class T, Location L>
void gemm_grouped(Context& context, std::span<const GemmGroup<T, L>> groups,
                  const GemmOptions& options = usual_options(), BatchInfo info = {});

// A variable batch that lies whole in device memory: entry i of each array describes problem i, and the host
// reads none of them. Ops are those of all problems. On the host GemmItem is what describes a problem.
template <class T, Location L = Location::device>
struct VariableBatch {
  static_assert(L == Location::device, "variable batches on the host are spans of GemmItem");
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::int64_t most_m = 0;  // what no size is above, at most 64: kernels are made for it
  std::int64_t most_n = 0;
  std::int64_t most_k = 0;
  const std::int64_t* m = nullptr;
  const std::int64_t* n = nullptr;
  const std::int64_t* k = nullptr;
  BatchScalar<T, Location::device> alpha{T(1)};
  const T* const* a = nullptr;
  const std::int64_t* lda = nullptr;
  const T* const* b = nullptr;
  const std::int64_t* ldb = nullptr;
  BatchScalar<T, Location::device> beta{T(0)};
  T* const* c = nullptr;
  const std::int64_t* ldc = nullptr;
  std::int64_t count = 0;
};

// A bad problem (a negative size or one above its most, a leading dimension below the rows, a null pointer)
// is skipped, and reported where `info` is given: nothing tells the host. Throws Error for what the host can
// see.
template <class T, Location L>
void gemm_variable(Context& context, const VariableBatch<T, L>& batch,
                   const GemmOptions& options = usual_options(), BatchInfo info = {});

// C = alpha * (op(A_0) op(B_0) + op(A_1) op(B_1) + ...) + beta * C: the products of a batch summed into one
// C (batch-reduce GEMM). The counts of a and b must agree; without a product C = beta * C. A stride of 0
// takes one matrix for all. Small sizes are summed in registers, in the order of the batch, by one thread.
template <class T>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<StridedBatch<const T>> a,
                       Same<StridedBatch<const T>> b, Same<T> beta, MatrixView<T> c,
                       const GemmOptions& options = usual_options());
template <class T>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<PointerBatch<const T>> a,
                       Same<PointerBatch<const T>> b, Same<T> beta, MatrixView<T> c,
                       const GemmOptions& options = usual_options());

// Stacks of products whose C may repeat: each C that is named becomes beta * C plus the sum of all products
// that name it, in whichever stacks. beta is brought to it once, and a C that no product names is not
// touched. Products of one C are summed in the order of the stacks and their lists, and by one thread, so
// that the bits of small sizes do not depend on the number of threads. The lists need no order; those whose C
// ascends, or stands in runs, are not sorted. Stacks that name the same C must agree in m, n and ldc; two C
// that share only some elements are an error that options.checked finds. Throws Error naming stack and
// product, before anything is written, for null and negative or too large offsets too.
template <class T>
void gemm_stack(Context& context, std::span<const GemmStack<T>> stacks, Same<T> beta,
                const GemmOptions& options = usual_options());

// The same in device memory: the matrices and the pointers of a pointer batch lie there, alpha, beta and the
// view of C on the host. The call queues two launches on options.stream and returns. Sums are cut where their
// length and the size of C say, so that the bits are the same each time. Sizes up to 64.
template <class T, Location L>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<StridedBatch<const T, L>> a,
                       Same<StridedBatch<const T, L>> b, Same<T> beta, MatrixView<T, L> c,
                       const GemmOptions& options = usual_options());
template <class T, Location L>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<PointerBatch<const T, L>> a,
                       Same<PointerBatch<const T, L>> b, Same<T> beta, MatrixView<T, L> c,
                       const GemmOptions& options = usual_options());

// Stacks in device memory, whose lists (offsets or pointers) lie there too and are not read by the host: the
// products that name one C must stand one behind the other in their list, and only with beta = 1 may two
// stacks name the same C. The stacks are queued one after the other on options.stream; each C is held in
// registers over its run by one warp, so that the bits are the same each time. A product without A or B adds
// nothing, one without C is left out. Sizes up to 64. For lists in any order there is plan_stacks.
// gemm_stack<double, Location::device>(...).
template <class T, Location L>
void gemm_stack(Context& context, std::span<const GemmStack<T, L>> stacks, Same<T> beta,
                const GemmOptions& options = usual_options());

// Stacks in device memory that are run again and again: their lists are sorted by C when the plan is made and
// kept on the device. The plan names the matrices by their addresses, which may hold other elements at each
// run. It may be run on several streams, one after the other where they write the same C.
class StackPlan {
 public:
  // Each C that the lists name becomes beta * C plus the sum of its products. Queued on `stream`: nothing is
  // waited for, allocated or compiled. T is the type that the plan was made for.
  template <class T>
  void run(Same<T> beta, void* stream = nullptr) const;
  // Products, sums and the kernel of each launch.
  std::string explain() const;

  struct Impl;
  explicit StackPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

// C may repeat anywhere, in one list and in several. `lists`: where offsets and pointers lie; those in device
// memory are read back, which waits for the device. The lists may be gone when this returns. Throws Error as
// gemm_stack of the host.
template <class T>
StackPlan plan_stacks(Context& context, std::span<const GemmStack<T, Location::device>> stacks,
                      Location lists = Location::host, const GemmOptions& options = usual_options());

// What will run a problem, decided once and reused. A plan is immutable and may be run by several threads at
// once on different operands; it keeps what it needs of its Context alive.
class GemmPlan {
 public:
  const GemmProblem& problem() const noexcept;
  // The candidates in order with the reason each declined, the config, the wisdom match, the bound.
  std::string explain() const;
  // The name of the one that serves it, such as gemm_small_cpu, cblas or hybrid.
  const std::string& candidate() const noexcept;
  // True if GPUs compute, alone or beside the CPU.
  bool uses_gpus() const noexcept;
  // Seconds of one run by the models of this machine; none if they say nothing of it.
  std::optional<double> predicted_s() const;

  // Runs on operands with the plan's description: base addresses (single, strided, interleaved) ... On a GPU
  // the work is queued on `stream` and nothing is waited for, allocated or compiled, so that it can be
  // captured in a CUDA graph. A graph holds no kernels: the plan must outlive the last launch of the graph
  // that captured it.
  template <class T>
  void run(BatchScalar<Same<T>> alpha, const T* a, const T* b, BatchScalar<Same<T>> beta, T* c,
           void* stream = nullptr) const;
  // ... or arrays of pointers (pointer batch). Null base addresses are refused; single pointers are not
  // checked here. Values of alpha and beta per problem lie where the operands do; on a GPU the plan must have
  // been made for them (GemmOptions::alpha_varies).
  template <class T>
  void run(BatchScalar<Same<T>> alpha, const T* const* a, const T* const* b, BatchScalar<Same<T>> beta,
           T* const* c, void* stream = nullptr) const;

  struct Impl;
  explicit GemmPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const noexcept { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// Makes a plan for single, strided, pointer and interleaved problems. Throws Error naming the bad field. On a
// GPU also for variable batches, which gemm_variable then finds; such a plan is not run by itself.
GemmPlan plan(Context& context, const GemmProblem& problem, const GemmOptions& options = usual_options());

// Makes the plans of these problems, several at a time (options.threads; 0: OpenMP's default), and compiles
// what they need even where the Context is told not to (ContextOptions::no_jit). Calls and plans with the
// same description then find everything made. Of operands on a GPU that is a plan for each alignment that
// calls tell apart: 128 bytes, 16 bytes and the size of an element, as far as options.align_bytes does not
// promise more; state 128 there and only calls with such addresses are prepared. What no_jit made calls take
// before gives way. Prepared plans stay until forget_plans(), up to 4096 of them. Throws the first Error,
// naming the problem.
void prepare(Context& context, std::span<const GemmProblem> problems,
             const GemmOptions& options = usual_options());

// plan(...).explain(), and the same for problems that no plan can be made for (the reasons instead).
std::string explain(Context& context, const GemmProblem& problem,
                    const GemmOptions& options = usual_options());

}  // namespace tilewright
