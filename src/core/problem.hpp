// The internal side of GemmProblem and LuProblem: field lists, levels of a batch, and type-erased operands.
#pragma once

#include "core/fields.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {

// The name of the enum inside the library: kernel sources, whose text is hashed for shipped wisdom, use it.
using Sums = Accumulate;

TILEWRIGHT_NAMES(Scalar, "zero", "one", "general", "per_problem");

TILEWRIGHT_NAMES(Sums, "none", "batch_reduce", "stack");

TILEWRIGHT_FIELDS(GemmProblem, dtype, op_a, op_b, m, n, k, lda, ldb, ldc, layout, block, stride_a, stride_b,
                  stride_c, batch_count, outer_count, outer_a, outer_b, outer_c, outermost_count, outermost_a,
                  outermost_b, outermost_c, alpha, beta, residency, arrival, location, sums, run);

// True if elements of many problems lie side by side.
constexpr bool is_interleaved(Layout layout) {
  return layout == Layout::interleaved || layout == Layout::block_interleaved;
}

// One level of a strided batch: `count` parts, and the distance in elements between them for each operand.
struct BatchLevel {
  std::int64_t count = 1;
  std::int64_t a = 0, b = 0, c = 0;

  friend bool operator==(const BatchLevel&, const BatchLevel&) = default;
};
inline constexpr std::size_t most_batch_levels = 3;

// Returns the levels from the innermost outwards; absent levels have one part. The counts must be valid.
std::array<BatchLevel, most_batch_levels> batch_levels(const GemmProblem& problem);
void set_batch_levels(GemmProblem& problem, const std::array<BatchLevel, most_batch_levels>& levels);

// Returns the count of an outer level (1 or 2) and the strides of its parts if they are dense.
BatchLevel dense_level(const GemmProblem& problem, std::size_t level);

// True if there is more than one level; a valid problem of another layout has one.
inline bool has_levels(const GemmProblem& p) { return p.outer_count != 1 || p.outermost_count != 1; }

// Returns the same problems in the same order with as few levels as possible: two levels merge if the outer
// one continues where the inner one ends. The problem must be valid.
GemmProblem with_joined_levels(const GemmProblem& problem);

// Returns the problem with the innermost level alone, as if it held all problems, for kernels.
GemmProblem without_levels(GemmProblem problem);

// Classifies a factor as kernels do.
template <class T>
constexpr Scalar scalar_class(const T& value) {
  if (value == T(0)) return Scalar::zero;
  return value == T(1) ? Scalar::one : Scalar::general;
}

// Returns the problem as kernels are made for it: a factor with a value per problem is a general one.
constexpr GemmProblem with_general_scalars(GemmProblem p) {
  if (p.alpha == Scalar::per_problem) p.alpha = Scalar::general;
  if (p.beta == Scalar::per_problem) p.beta = Scalar::general;
  return p;
}

// True for the factors that a GPU reads from an array with a value per problem.
struct ScalarsVary {
  bool alpha = false, beta = false;
  bool any() const { return alpha || beta; }
};
constexpr ScalarsVary scalars_vary(const GemmProblem& p) {
  return {p.alpha == Scalar::per_problem, p.beta == Scalar::per_problem};
}

// Returns roughly how many products of the batch are added up in one C.
constexpr std::int64_t products_per_c(const GemmProblem& p) {
  if (p.sums == Sums::batch_reduce) return p.batch_count;
  return p.sums == Sums::stack ? p.run : 1;
}

// Returns how many C matrices the batch has.
constexpr std::int64_t count_of_c(const GemmProblem& p) {
  if (p.sums == Sums::batch_reduce) return 1;
  return p.sums == Sums::none || p.batch_count <= 0 || p.run <= 1 ? p.batch_count
                                                                  : (p.batch_count - 1) / p.run + 1;
}

// Sizes and leading dimensions of a variable batch, an entry per problem.
struct VariableSizes {
  const std::int64_t* m = nullptr;
  const std::int64_t* n = nullptr;
  const std::int64_t* k = nullptr;
  const std::int64_t* lda = nullptr;
  const std::int64_t* ldb = nullptr;
  const std::int64_t* ldc = nullptr;
};

// The lists through which a GPU finds the matrices of a pointer batch whose products are summed.
struct ProductLists {
  // Bases for the entries: an entry is an offset in elements from its base, or an address if the base is
  // null. In a batch-reduce, `c` is the one C itself unless null.
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t step = 1;    // entries from one product to the next
  std::int64_t count = -1;  // products; -1: as in the plan's problem
};

// The operands of one call of a batch, with types erased. For a pointer batch a, b and c are arrays of
// pointers to matrices; else they are base addresses. alpha and beta point at values of its dtype; a scalar
// stride of 0 means one value for all problems, 1 a value per problem (alpha[p * alpha_stride]).
struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  std::int64_t alpha_stride = 0;
  std::int64_t beta_stride = 0;
  CUstream_st* stream = nullptr;  // of the GPU that holds the operands
  // The following are for operands on a GPU; all arrays lie in its memory.
  VariableSizes sizes = {};    // of a variable batch
  ProductLists lists = {};     // of a batch with sums
  int* info = nullptr;         // cleared; receives the codes of bad problems that only the device can see
  std::int64_t info_step = 1;  // 0: one code for all
};

// "nn", "tc", ...
std::string op_pair(const GemmProblem& problem);

// True if the whole batch of operand X is one contiguous run of elements (packed columns, packed problems).
bool contiguous_a(const GemmProblem& problem);
bool contiguous_b(const GemmProblem& problem);
bool contiguous_c(const GemmProblem& problem);

// Bytes that the operands span in memory, with leading dimensions; this decides cache residency.
double footprint_bytes(const GemmProblem& problem);

TILEWRIGHT_FIELDS(LuProblem, dtype, m, n, lda, location);

// The implementation that factors, and its panel width in columns; 0: its own or heuristic width.
struct LuConfig {
  std::string candidate{};
  std::int64_t nb = 0;

  friend bool operator==(const LuConfig&, const LuConfig&) = default;
};

TILEWRIGHT_FIELDS(LuConfig, candidate, nb);

// True if the text of a problem is that of a factorization.
inline bool is_lu_text(const std::string& text) { return text.starts_with("lu:"); }

// A triangular solve as in BLAS xTRSM: op(A) X = B or X op(A) = B with a triangular A.
struct Triangle {
  Side side = Side::left;
  Uplo uplo = Uplo::lower;
  Op op = Op::none;
  Diag diag = Diag::non_unit;

  // True if op(A) is lower triangular, which decides the order of the substitution.
  bool is_lower() const { return (uplo == Uplo::lower) == (op == Op::none); }
};

}  // namespace tilewright
