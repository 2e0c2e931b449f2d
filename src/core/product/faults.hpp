// Refuses invalid problems: negative sizes, leading dimensions smaller than the rows, overlapping C, spans
// beyond 64 bits. It checks the description only; pointers are checked where the operands are known.
#pragma once

#include <optional>

#include "core/problem.hpp"
#include "core/product/names.hpp"

namespace tilewright {

// The first bad field of a problem: its name, its number in the BLAS argument list (BatchInfo), and what is
// wrong.
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
