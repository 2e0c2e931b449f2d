// The choice among the candidates of batched factorizations and solves.
#include "factor/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

#include "core/host/fork_gate.hpp"
#include "core/host/stack.hpp"
#include "gemm/parallel.hpp"
#include "plan/rank.hpp"

namespace tilewright {

#if !TILEWRIGHT_HAS_GPU
namespace {
std::string no_gpu_declines(const FactorRequest&) { return "this build has no GPU runtime"; }
}  // namespace
constinit const FactorCandidate gpu_small_factor{"gpu_small", Tier::small, no_gpu_declines};
constinit const FactorCandidate gpu_large_factor{"gpu_large", Tier::large, no_gpu_declines};
void finish_empty_on_device(Context&, const FactorWork&) {
  throw Error(ErrorCode::unsupported, "", "this build has no GPU runtime");
}
#endif

std::span<const FactorCandidate> factor_candidates(Location location) {
  static constinit Once<const std::array<FactorCandidate, 2>> on_host, on_device;
  if (location == Location::device)
    return on_device.get([] { return std::array{gpu_small_factor, gpu_large_factor}; });
  return on_host.get([] { return std::array{lanes_factor, blocked_factor}; });
}

namespace {

// Products of reflectors with the columns behind them.
double householder_operations(double m, double n) {
  return m < n ? m * m * (n - m / 3) / 2 : n * n * (m - n / 3) / 2;
}

// A factorization QR, about six sweeps of n^2 / 2 rotations, and the product of Q with vectors.
double jacobi_operations(double m, double n, bool vectors) {
  const double sweeps = (vectors ? 33 : 21) * n * n * n;
  return 2 * householder_operations(m, n) + sweeps + (vectors ? 4 * m * n * n : 0);
}

}  // namespace

double factor_operations(const FactorWork& work) {
  const auto m = double(work.shape.m), n = double(work.shape.n), nrhs = double(work.shape.nrhs);
  const double cube = n * n * n;
  switch (work.shape.routine) {
    case Routine::potrf:
      return cube / 6;
    case Routine::posv:
      return cube / 6 + n * n * nrhs;
    case Routine::potrs:
    case Routine::getrs:
      return n * n * nrhs;
    case Routine::trsm:
      return n * n * nrhs / 2;
    case Routine::gesv:
      return cube / 3 + n * n * nrhs;
    case Routine::getri:
    case Routine::potri:
      return cube;
    case Routine::inv:
      return cube * 4 / 3;
    case Routine::det:
      return cube / 3;
    case Routine::geqrf:
      return 2 * householder_operations(m, n);
    case Routine::ormqr:
      return 2 * std::min(m, n) * m * nrhs;
    case Routine::gels:
      return 2 * householder_operations(m, n) + (2 * m + n / 2) * n * nrhs;
    case Routine::syev:  // about seven sweeps of n^2 / 2 rotations
      return (work.has_b ? 28 : 14) * cube;
    case Routine::gesvd:
      return jacobi_operations(std::max(m, n), std::min(m, n), work.has_b);
    case Routine::getrf:
      return m < n ? m * m * (n - m / 3) / 2 : n * n * (m - n / 3) / 2;
  }
  return cube;
}

Offers<FactorOperation> factor_offer(double problem_s, std::shared_ptr<const FactorRunner> runner) {
  Offer<FactorOperation> offer;
  offer.seconds = problem_s;
  offer.make = [runner = std::move(runner)] { return Made<FactorOperation>{runner}; };
  return one_offer(std::move(offer));
}

// A thread keeps a stack of this size; a larger one, mapped for each call, would cost more than a small
// matrix.
constexpr std::size_t ranking_stack_bytes = std::size_t(128) << 10;

FactorRanking choose_factor(const FactorRequest& r) {
  FactorRanking ranking;
  with_stack(ranking_stack_bytes,
             [&] { ranking = rank<FactorOperation>(r, factor_candidates(r.work.location)); });
  if (ranking.winner != nullptr) return ranking;
  throw Error(ErrorCode::unsupported, r.options.candidate.empty() ? "" : "candidate",
              fmt::format("no candidate computes {} of {} x {} matrices: {}", to_string(r.work.shape.routine),
                          r.work.shape.m, r.work.shape.n, ranking.reasons()));
}

void run_factor(const FactorRequest& r) {
  const FactorRanking ranking = choose_factor(r);
  const double all_s = ranking.cost.seconds.value_or(0) * double(r.work.count);
  try {
    ranking.made.runner->run(r.context, r.work, threads_for(all_s, r.options.threads));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "",
                "the host has no memory for the matrices that a thread works on");
  }
}

}  // namespace tilewright
