// One call of the public API on guarded operands: the function, the cases and the options; made, run and
// checked. Grouped and variable batches are several pointer cases in one call.
#pragma once

#include <string>
#include <vector>

#include "support/make_case.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::testing {

struct Call {
  Layout layout = Layout::strided;  // selects the function to call
  std::vector<Case> parts;  // one; grouped: one per group; variable: one per shape, all with layout pointer
  GemmOptions options;
  // prepare() is called first, so that calls find kernels that they would otherwise get only by repetition
  bool prepared = false;
  bool through_plan = false;  // plan(...).run(...) instead of the function; not for grouped and variable
};
std::string to_string(const Call& call);

// Makes the call that the choices describe. Grouped and variable ones get the shape, two permutations of its
// lengths with other ops, and an empty shape.
Call make_call(const Choices& choices);

// Runs the call; returns "" if everything is right, otherwise the error. Faults and exceptions are results
// too.
std::string run_and_check(Context& context, const Call& call);

}  // namespace tilewright::testing
