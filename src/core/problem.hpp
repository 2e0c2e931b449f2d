// The internal side of GemmProblem: its names, its field list, and the type-erased operands that a plan is
// run with.
#pragma once

#include <utility>

#include "core/fields.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {

template <>
struct EnumNames<Scalar> {
  static constexpr std::array value{std::pair{Scalar::zero, "zero"}, std::pair{Scalar::one, "one"},
                                    std::pair{Scalar::general, "general"}};
};

template <>
struct EnumNames<Sums> {
  static constexpr std::array value{std::pair{Sums::none, "none"},
                                    std::pair{Sums::batch_reduce, "batch_reduce"},
                                    std::pair{Sums::stack, "stack"}};
};

template <>
struct FieldList<GemmProblem> {
  using P = GemmProblem;
  static constexpr auto value = std::make_tuple(
      field("dtype", &P::dtype), field("op_a", &P::op_a), field("op_b", &P::op_b), field("m", &P::m),
      field("n", &P::n), field("k", &P::k), field("lda", &P::lda), field("ldb", &P::ldb),
      field("ldc", &P::ldc), field("layout", &P::layout), field("block", &P::block),
      field("stride_a", &P::stride_a), field("stride_b", &P::stride_b), field("stride_c", &P::stride_c),
      field("batch_count", &P::batch_count), field("outer_count", &P::outer_count),
      field("outer_a", &P::outer_a), field("outer_b", &P::outer_b), field("outer_c", &P::outer_c),
      field("outermost_count", &P::outermost_count), field("outermost_a", &P::outermost_a),
      field("outermost_b", &P::outermost_b), field("outermost_c", &P::outermost_c), field("alpha", &P::alpha),
      field("beta", &P::beta), field("residency", &P::residency), field("location", &P::location),
      field("sums", &P::sums), field("run", &P::run));
};

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

// Returns the count of an outer level (1 or 2) and the strides with which its parts follow one another
// densely.
BatchLevel usual_level(const GemmProblem& problem, std::size_t level);

// True if there is more than one level; a valid problem of another layout has one.
inline bool has_levels(const GemmProblem& p) { return p.outer_count != 1 || p.outermost_count != 1; }

// Returns the same problems in the same order with as few levels as possible: two levels merge if the outer
// one continues where the inner one ends. The problem must be valid.
GemmProblem with_joined_levels(const GemmProblem& problem);

// Returns the problem with the innermost level alone, as if it held all problems; kernels are made for this
// form.
GemmProblem without_levels(GemmProblem problem);

// Classifies a factor as kernels do.
template <class T>
constexpr Scalar scalar_class(const T& value) {
  if (value == T(0)) return Scalar::zero;
  return value == T(1) ? Scalar::one : Scalar::general;
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
// pointers to matrices; otherwise they are the base addresses. alpha and beta point at values of the
// problem's dtype; a scalar stride of 0 means one value for all problems, 1 a value per problem (alpha[p *
// alpha_stride]).
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

// Bytes of the operands as they lie in memory, leading dimensions included; cache residency is judged by
// this.
double footprint_bytes(const GemmProblem& problem);

}  // namespace tilewright
