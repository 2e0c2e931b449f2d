// Refuses invalid problems: negative sizes, leading dimensions smaller than the rows, overlapping C, spans
// beyond 64 bits. It checks the description only; pointers are checked where the operands are known.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/problem.hpp"

namespace tilewright {

// Numbers of the BLAS xGEMM arguments, which info codes refer to (Dongarra 2017).
namespace blas_number {
inline constexpr int op_a = 1, op_b = 2, m = 3, n = 4, k = 5, alpha = 6, a = 7, lda = 8, b = 9, ldb = 10,
                     beta = 11, c = 12, ldc = 13;
}

// An argument that gives the shape of one multiplication.
enum class ShapeArgument { none, op_a, op_b, m, n, k, lda, ldb, ldc };

// The names under which an interface's callers know the arguments of a product, for messages and BLAS codes.
// Problems are column-major; a row-major product reaches them with its sides swapped, and so do the names.
struct ArgumentNames {
  struct Operand {
    const char *op, *matrix, *ld;
    std::array<const char*, 3> strides;  // from the innermost level on
    int op_number, number, ld_number;
    const char* title;  // the name within sentences
  };
  struct Size {
    const char* name;
    int number;
  };
  Operand a{
      "op_a",           "a", "lda", {"stride_a", "outer_a", "outermost_a"}, blas_number::op_a, blas_number::a,
      blas_number::lda, "A"};
  Operand b{
      "op_b",           "b", "ldb", {"stride_b", "outer_b", "outermost_b"}, blas_number::op_b, blas_number::b,
      blas_number::ldb, "B"};
  Operand c{"", "c", "ldc", {"stride_c", "outer_c", "outermost_c"}, 0, blas_number::c, blas_number::ldc, "C"};
  Size m{"m", blas_number::m}, n{"n", blas_number::n};
  std::array<const char*, 3> counts{"batch_count", "outer_count", "outermost_count"};
  // True if the caller's matrices are row-major, so that the problem's A is the caller's B.
  bool by_rows = false;

  constexpr int number_of(ShapeArgument argument) const {
    const int numbers[] = {0,           a.op_number, b.op_number, m.number, n.number, blas_number::k,
                           a.ld_number, b.ld_number, c.ld_number};
    return numbers[int(argument)];
  }
};

// Returns the names for a row-major product, C^T = op(B)^T op(A)^T.
constexpr ArgumentNames swapped(ArgumentNames names) {
  std::swap(names.a, names.b);
  std::swap(names.m, names.n);
  names.by_rows = !names.by_rows;
  return names;
}

// Returns the first invalid argument in the caller's order: an invalid operation, a negative size, a leading
// dimension below the rows or `least_ld`. `x` has the fields of a GemmProblem. Allocates nothing.
template <class Shape>
constexpr ShapeArgument first_bad_argument(const Shape& x, bool by_rows, std::int64_t least_ld = 0) {
  using A = ShapeArgument;
  const auto is_none = [](auto op) { return static_cast<unsigned char>(op) > 2; };
  const auto is_short = [&](std::int64_t ld, std::int64_t rows) { return ld < rows || ld < least_ld; };
  const auto first_of = [by_rows](bool first, bool second, A a, A b) {
    if (by_rows) return second ? b : first ? a : A::none;
    return first ? a : second ? b : A::none;
  };
  if (const A bad = first_of(is_none(x.op_a), is_none(x.op_b), A::op_a, A::op_b); bad != A::none) return bad;
  if (const A bad = first_of(x.m < 0, x.n < 0, A::m, A::n); bad != A::none) return bad;
  if (x.k < 0) return A::k;
  const bool short_a = is_short(x.lda, x.a_rows()), short_b = is_short(x.ldb, x.b_rows());
  if (const A bad = first_of(short_a, short_b, A::lda, A::ldb); bad != A::none) return bad;
  return is_short(x.ldc, x.m) ? A::ldc : A::none;
}

inline constexpr ArgumentNames argument_names{};
inline constexpr ArgumentNames argument_names_by_rows = swapped(argument_names);
// Views call the number of their problems `count`.
inline constexpr ArgumentNames argument_names_of_views = [] {
  ArgumentNames names;
  names.counts[0] = "count";
  return names;
}();

// The first bad field of a problem: name, number in the BLAS argument list (BatchInfo), and fault.
struct Fault {
  const char* argument;
  int blas_number;
  std::string message;
};

// C is written while A and B are still read.
inline constexpr const char* in_place_reason = "C must not share elements with A or B";

// Checks sizes and leading dimensions of one multiplication: the fields that all problems of a batch share.
std::optional<Fault> find_shape_fault(const GemmProblem& problem,
                                      const ArgumentNames& names = argument_names);

// Checks all fields, strides, blocks and counts included. Both check in the order of the caller's arguments.
std::optional<Fault> find_fault(const GemmProblem& problem, const ArgumentNames& names = argument_names);

// The addresses at which A, B and C of one multiplication begin.
struct Addresses {
  const void *a, *b, *c;

  bool are_plainly_right(bool reads_ab) const {
    return c != nullptr && (!reads_ab || (a != nullptr && b != nullptr && a != c && b != c));
  }
};
// Report null pointers; A and B count only if they are read. address_fault also reports C at the address of
// an operand that is read. Each pointer may be an array of addresses.
std::optional<Fault> null_fault(const Addresses& at, bool reads_ab,
                                const ArgumentNames& names = argument_names);
std::optional<Fault> address_fault(const Addresses& at, bool reads_ab,
                                   const ArgumentNames& names = argument_names);

// Throws Error(invalid_argument) with the first fault, if any.
void validate(const GemmProblem& problem, const ArgumentNames& names = argument_names);

}  // namespace tilewright
