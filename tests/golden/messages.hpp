// The parts that the doors' files share: memory that a call may use, batteries that spoil one argument of a
// valid call at a time, and the line that says what came of it. A call that was refused must not have written
// anything.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tilewright/context.hpp"
#include "tilewright/tilewright.h"
#include "tilewright/types.hpp"

namespace tilewright::golden {

inline constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

// The Context of all calls, and the handle of those in C.
Context& context();
tilewright_context* handle();

// Memory that a call was given, by the name of the argument.
struct Area {
  const char* name;
  std::span<const std::byte> bytes;
  bool is_output;
};
template <class T>
Area input(const char* name, const std::vector<T>& x) {
  return {name, std::as_bytes(std::span(x)), false};
}
template <class T>
Area output(const char* name, const std::vector<T>& x) {
  return {name, std::as_bytes(std::span(x)), true};
}

// The bytes of areas as they were.
class Kept {
 public:
  explicit Kept(std::vector<Area> areas);
  // " [WROTE a]" for what differs and must not: inputs, and outputs of a call that was refused.
  std::string complaint(bool refused) const;

 private:
  std::vector<Area> areas_;
  std::vector<std::vector<std::byte>> before_;
};

// The outcome of a call.
struct Outcome {
  bool refused = false;
  std::string text;
};
Outcome refused_by(const Error& error);
Outcome refused_by(tilewright_status status, const char* message);

// Prints "door call what -> outcome"; a complaint counts as a fault.
void tell(const std::string& call, const std::string& what, const Outcome& outcome,
          const std::string& complaint = "");
void begin_door(const std::string& name);
int fault_count();

template <class X>
Outcome outcome_of(X& x) {
  using Result = decltype(x.call());
  if constexpr (std::is_same_v<Result, Outcome>) {
    return x.call();
  } else if constexpr (std::is_same_v<Result, tilewright_status>) {
    if (const tilewright_status status = x.call(); status != TILEWRIGHT_OK)
      return refused_by(status, x.message());
  } else {
    try {
      x.call();
    } catch (const Error& error) {
      return refused_by(error);
    }
  }
  std::string text = "accepted";
  if constexpr (requires { x.result(); }) text += x.result();
  return {false, text};
}

// A call without memory of its own.
template <class F>
void tell_of(const std::string& call, const std::string& what, F f) {
  struct Call {
    F call;
  } one{f};
  tell(call, what, outcome_of(one));
}

// A function from a call `x` to one of its arguments: AT(x.options.max_m).
#define AT(argument) \
  [&](auto& x) -> auto& { return argument; }

// Calls like one valid call, each with one argument spoiled. X holds the call's arguments and memory; it has
// call(), areas() and, for what is accepted, perhaps result().
template <class X>
class Battery {
 public:
  explicit Battery(std::string call) : call_(std::move(call)) {
    run("valid", [](X&) {});
  }

  void run(const std::string& what, const std::function<void(X&)>& spoil) const {
    const auto x = std::make_unique<X>();
    spoil(*x);
    const Kept kept(x->areas());
    const Outcome outcome = outcome_of(*x);
    tell(call_, what, outcome, kept.complaint(outcome.refused));
  }

  // get(x) becomes each of -1, 0, 1 and one less than `least`. Those above that are left out: they are legal.
  template <class Get>
  void small_numbers(const std::string& name, std::int64_t least, Get get) const {
    std::set<std::int64_t> values{-1, 0, std::max<std::int64_t>(0, least - 1)};
    if (least > 1) values.insert(1);
    using Number = std::remove_reference_t<decltype(get(std::declval<X&>()))>;
    for (const std::int64_t value : values)
      run(name + "=" + std::to_string(value), [&](X& x) { get(x) = Number(value); });
  }
  // The same, and the largest integer, where that is certain to be refused, or harmless.
  template <class Get>
  void numbers(const std::string& name, std::int64_t least, Get get) const {
    small_numbers(name, least, get);
    run(name + "=INT64_MAX", [&](X& x) { get(x) = int64_max; });
  }
  // get(x) becomes an enumerator that there is not.
  template <class Get>
  void no_enumerator(const std::string& name, Get get) const {
    run(name + "=7", [&](X& x) { get(x) = static_cast<std::remove_reference_t<decltype(get(x))>>(7); });
  }
  template <class Get>
  void null(const std::string& name, Get get) const {
    run(name + "=null", [&](X& x) { get(x) = nullptr; });
  }

 private:
  std::string call_;
};

// The doors.
void tell_products();    // C++: single products, batches, groups
void tell_sums();        // C++: batch_reduce, stacks
void tell_plans();       // C++: plans, chains, problems as text, tuning
void tell_lu();          // C++: factorizations and what they serve
void tell_layouts();     // C++: conversions, allocation, contexts
void tell_device();      // C++: operands on a GPU, as far as it takes none to refuse them
void tell_c_products();  // C: the same
void tell_c_batches();
void tell_c_plans();
void tell_c_lu();
void tell_c_factor();

}  // namespace tilewright::golden
