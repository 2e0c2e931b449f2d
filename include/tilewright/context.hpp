/// @file
/// Context: the one long-lived object. It knows the machine, reads wisdom when first asked for it, opens a
/// GPU when a problem's operands lie on it, and keeps the kernels it made. Any number of Contexts may live in
/// one process.
/// @par Memory A Context owns its kernels and plans. Plans that callers hold keep what they need alive.
/// @par Threads One Context may be used by many threads at once, except where a comment says otherwise.
/// @par Errors The members throw Error(out_of_memory) or std::bad_alloc if memory is out, and what their
///   comment says.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tilewright/problem.hpp"

namespace tilewright {
inline namespace v0_2 {

/// The request that a Context makes of a tuner if a call with GemmOptions::tune_on_miss_s meets a problem
/// without an exact record in wisdom.
struct TuneRequest {
  GemmProblem problem;   ///< packed, with a residency
  std::string cpu{};     ///< the kernels that the Context runs: portable, avx2, avx512
  std::string wisdom{};  ///< path of the database that receives the result
  double budget_s = 0;   ///< seconds
};

/// A function that searches and keeps a record, or throws Error. A Context calls one at a time.
using TuneHook = std::function<void(const TuneRequest&)>;

/// Options of a Context, read once when it is made.
struct ContextOptions {
  std::string cpu{};       ///< "": TILEWRIGHT_CPU, else the best of the machine; or portable, avx2, avx512
  bool use_wisdom = true;  ///< false: every config is the rule-of-thumb default
  /// Path of the user's wisdom, a database or JSON lines, which takes precedence over the shipped files. "":
  /// TILEWRIGHT_WISDOM, else wisdom.sqlite in the user's data folder.
  std::string wisdom{};
  /// Notes, once for each problem, that wisdom has no exact record of it, for GemmPlan::explain(). The notes
  /// are printed on stderr if TILEWRIGHT_NOTICES=on only; by default the library prints nothing.
  bool notices = true;
  /// true, or TILEWRIGHT_JIT=off: only prepare() compiles GPU kernels. A call that needs one uses a kernel in
  /// memory or on disk, else the next config or candidate, with a notice, or throws Error(unsupported).
  bool no_jit = false;
  /// Path of the CBLAS for matrices above the small sizes; if it has no CBLAS, and by default, the common
  /// ones are tried. TILEWRIGHT_CBLAS takes precedence.
  std::string cblas{};
  /// Receives each notice once, on the thread whose call made it. It must not throw or use the Context. The
  /// library prints notices only if TILEWRIGHT_NOTICES=on, or TILEWRIGHT_LOG asks for them.
  std::function<void(const std::string& notice)> on_notice{};
};

/// The machine, the user's wisdom, and all kernels and plans made so far.
class Context {
 public:
  /// Makes a Context. A database of wisdom need not exist yet; it is opened when the first problem needs it,
  /// and that call throws its errors.
  /// @throws Error invalid_argument naming an unknown or unavailable cpu; io naming an unreadable wisdom file
  ///   that was asked for explicitly.
  explicit Context(const ContextOptions& options = {});
  /// Frees the kernels. No other thread may use the Context any more.
  ~Context();
  /// A Context that was moved from may only be assigned to or destroyed. Not while other threads use either.
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  /// Returns the kernels it runs: "portable", "avx2" or "avx512".
  std::string cpu() const;
  /// Returns the path of the user's wisdom, whether or not the file exists yet; "" if it uses none.
  std::string wisdom() const;
  /// Returns the number of GPUs that products of host operands may use. The first call opens the driver.
  int gpu_count() const;
  /// Drops all cached plans, so that later calls plan anew, for instance after wisdom has changed. The cache
  /// holds the 4096 plans that calls used lately and as many that prepare() made. Plans that callers hold
  /// stay valid. Not while a CUDA graph is launched that captured a call on this Context.
  void clear_plan_cache();
  /// Sets the function that tunes on a miss; install_tuner() of tilewright/tune.hpp calls it. Not while other
  /// threads use the Context.
  void set_tuner(TuneHook tuner);

  struct Impl;

 private:
  friend struct Access;
  std::unique_ptr<Impl> impl_;
};

}  // namespace v0_2
}  // namespace tilewright
