// blocked: the right-looking algorithm by panels of Bernabe 2014, section 5 (as LAPACK's xGETRF): each step
// factors a panel, swaps rows beside it, solves for the block row of U and updates the rest. The CPU does
// panels, swaps and solves; gemm does the update on the CPU, GPUs or both. If GPUs do it alone, the next
// panel is factored beside it (look-ahead): its columns are updated first.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/dispatch.hpp"
#include "core/host/host_state.hpp"
#include "device/workers.hpp"
#include "lu/blas.hpp"
#include "lu/candidates.hpp"
#include "lu/updates.hpp"

namespace tilewright {
namespace {

// Adds the time that `f` takes.
template <class F>
void timed(double& seconds, F&& f) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  f();
  seconds += std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class T>
class Blocked {
 public:
  Blocked(const LuRequest& r, T* a, std::int64_t* pivots)
      : request_(r), blas_(r.context, r.options.threads), a_(a), pivots_(pivots) {
    report_.nb = panel_columns(r);
  }

  LuReport factor() {
    const std::int64_t count = std::min(m(), n());
    for (std::int64_t j = 0; j < count; j += report_.nb) step(j, columns_at(j));
    return report_;
  }

 private:
  // Columns j ... j + jb - 1 are the panel:
  //   [ U00  U01  U02 ]   rows above j are final
  //   [ L10  A11  A12 ]
  //   [ L20  A21  A22 ]
  void step(std::int64_t j, std::int64_t jb) {
    const std::int64_t below = m() - j - jb, right = n() - j - jb;
    if (factored_ <= j) timed(report_.panel_s, [&] { factor_panel(j, jb); });
    timed(report_.swap_s, [&] { swap_beside(j, jb); });
    if (right == 0) return;
    // U12 = inv(L11) A12
    timed(report_.solve_s, [&] {
      blas_.solve({Side::left, Uplo::lower, Op::none, Diag::unit}, jb, right, at(j, j), ld(), at(j, j + jb),
                  ld());
    });
    if (below == 0) return;
    timed(report_.update_s, [&] { update_and_look_ahead(j, jb, below, right); });
  }

  std::int64_t columns_at(std::int64_t j) const { return std::min(report_.nb, std::min(m(), n()) - j); }

  void update_and_look_ahead(std::int64_t j, std::int64_t jb, std::int64_t below, std::int64_t right) {
    const std::int64_t next = columns_at(j + jb), rest = right - next;
    if (next <= 0 || rest <= 0 || !is_update_of_gpus_alone(request_, below, rest, jb))
      return update(j, jb, below, j + jb, right);
    update(j, jb, below, j + jb, next);
    beside([&] { update(j, jb, below, j + jb + next, rest); }, [&] { factor_panel(j + jb, next); });
    factored_ = j + jb + next;
  }

  // Runs `queued`, which mostly waits for GPUs, on a thread of its own and `here` on this one.
  template <class Queued, class Here>
  void beside(Queued&& queued, Here&& here) {
    FirstException queued_failed, here_failed;
    Workers::Ticket ticket;
    beside_.grow(1);
    beside_.submit(
        1, 1, [&](std::int64_t, std::int64_t) { queued_failed.guard(queued); }, ticket);
    here_failed.guard(here);
    beside_.wait(ticket);
    here_failed.rethrow();
    queued_failed.rethrow();
  }

  // A22 = A22 - L21 U12 in the columns from `first` on. The CPU keeps the smallest updates, at the end.
  void update(std::int64_t j, std::int64_t jb, std::int64_t below, std::int64_t first, std::int64_t columns) {
    constexpr std::int64_t small = 64;
    const Target target = request_.options.target;
    const bool cpu = target == Target::cpu || target == Target::automatic;
    const auto subtract = [&](auto&& product) {
      product(Op::none, Op::none, below, columns, jb, at(j + jb, j), ld(), at(j, first), ld(),
              at(j + jb, first), ld());
    };
    if (cpu && std::max({below, columns, jb}) <= small)
      return subtract([&](auto... arguments) { blas_.template subtract_product<T>(arguments...); });
    const GemmOptions options = update_options(request_, below, columns, jb);
    subtract([&](auto... arguments) { subtract_product_with<T>(request_.context, options, arguments...); });
  }

  // P1 [A11; A21] = [L11; L21] U11
  void factor_panel(std::int64_t j, std::int64_t jb) {
    const std::int64_t info = blas_.factor(m() - j, jb, at(j, j), ld(), pivots_ + j);
    if (info > 0 && report_.info == 0) report_.info = j + info;
  }

  // Swaps the panel's rows in L to its left and A to its right; then pivots count from A's first row.
  void swap_beside(std::int64_t j, std::int64_t jb) {
    blas_.swap_rows(j, at(j, 0), ld(), jb, pivots_ + j);
    blas_.swap_rows(n() - j - jb, at(j, j + jb), ld(), jb, pivots_ + j);
    for (std::int64_t i = j; i < j + jb; ++i) pivots_[i] += j;
  }

  T* at(std::int64_t i, std::int64_t k) const { return a_ + k * ld() + i; }
  std::int64_t m() const { return request_.problem.m; }
  std::int64_t n() const { return request_.problem.n; }
  std::int64_t ld() const { return request_.problem.lda; }

  const LuRequest& request_;
  HostBlas blas_;
  T* a_;
  std::int64_t* pivots_;
  std::int64_t factored_ = 0;  // columns of panels that were factored beside an update
  Workers beside_;
  LuReport report_;
};

class BlockedRunner : public LuRunner {
 public:
  using LuRunner::LuRunner;
  LuReport factor(void* a, std::int64_t* pivots) const override {
    return dispatch(request().problem.dtype,
                    [&]<class T>() { return Blocked<T>(request(), static_cast<T*>(a), pivots).factor(); });
  }
  std::string describe() const override {
    const HostBlas blas(request().context, request().options.threads);
    const bool lapack = blas.library().available() && blas.library().has_getrf();
    const std::int64_t nb = panel_columns(request());
    return fmt::format("panels of nb={} by {}; {}", nb,
                       lapack ? "getrf of " + blas.library().name() : "the library's recursion",
                       update_text(request(), nb));
  }
  bool uses_gpus() const override { return true; }
};

std::string declines_blocked(const LuRequest& r) {
  return r.options.target == Target::cpu ? "" : why_no_update(r, panel_columns(r));
}

}  // namespace

constinit const LuCandidate blocked_lu{"blocked", Tier::any, declines_blocked, one_runner<BlockedRunner>};

}  // namespace tilewright
