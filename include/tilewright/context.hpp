// Context: the one long-lived object. It knows the machine, reads wisdom when first asked for it, opens a GPU
// when a problem's operands lie on it, and keeps the kernels it made. Any number of Contexts may live in one
// process; one Context may be used by many threads at once.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tilewright/problem.hpp"

namespace tilewright {
inline namespace v0_2 {

// The request that a Context makes of a tuner when a call with GemmOptions::tune_on_miss meets a problem of
// which wisdom has no exact record.
struct TuneRequest {
  GemmProblem problem;   // packed, with a residency
  std::string cpu{};     // the kernels that the Context runs: portable, avx2, avx512
  std::string wisdom{};  // the database to keep the result in
  double budget_s = 0;
};

// Searches and keeps a record, or throws Error. One at a time is called per Context.
using TuneHook = std::function<void(const TuneRequest&)>;

struct ContextOptions {
  std::string cpu{};       // "": TILEWRIGHT_CPU or the best the machine has; else portable, avx2, avx512
  bool use_wisdom = true;  // false: every config is the rule-of-thumb default
  std::string wisdom{};    // the user's wisdom, a database or JSON lines, believed before the shipped files.
                           // "": TILEWRIGHT_WISDOM, else wisdom.sqlite in the user's data folder
  bool notices = true;     // says once for each problem that wisdom has no exact record of it; also needs
                           // TILEWRIGHT_NOTICES and TILEWRIGHT_LOG not to be off
  bool no_jit = false;     // true, or TILEWRIGHT_JIT = off: GPU kernels are compiled by prepare() alone; what
                           // else needs one takes it from memory or disk, or the next config or candidate,
                           // with a notice, or throws
  std::string cblas{};  // the library of matrices above the small sizes, by its path; the usual ones where it
                        // has no CBLAS. TILEWRIGHT_CBLAS goes before it
};

class Context {
 public:
  // Throws Error(invalid_argument) naming an unknown or unavailable cpu, Error(io) naming an unreadable
  // wisdom file that was asked for explicitly. A database need not exist yet; what it holds is looked at when
  // the first problem needs it, and trouble is thrown then.
  explicit Context(const ContextOptions& options = {});
  ~Context();
  // A Context that was moved from can be assigned to or destroyed, and nothing else.
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // The kernels it runs: "portable", "avx2" or "avx512".
  std::string cpu() const;
  // The user's wisdom that it believes before the shipped files, whether or not the file exists yet; "" where
  // it uses none.
  std::string wisdom() const;
  // The GPUs that products of host operands may use; looked for, and the driver opened, when first asked.
  int gpu_count() const;
  // Plans are made once and found again, the 4096 that calls used lately and as many that prepare() made;
  // after wisdom has changed, this has them made anew. Plans in the hands of callers stay as they are. Not
  // while a CUDA graph is launched that captured a call on this Context.
  void clear_plan_cache();
  // Sets the function that tune-on-miss calls; install_tuner() of tilewright/tune.hpp does so. Not while
  // other threads use the Context.
  void set_tuner(TuneHook tuner);

  struct Impl;

 private:
  friend struct Access;
  std::unique_ptr<Impl> impl_;
};

}  // namespace v0_2
}  // namespace tilewright
