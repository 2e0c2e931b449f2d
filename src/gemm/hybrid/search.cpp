// Copies C and takes times.
#include "gemm/hybrid/search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "gemm/hybrid/split/split_text.hpp"

namespace tilewright {

ScratchC::ScratchC(const GemmProblem& p, const Operands& operands, StreamDevice* device)
    : operands_(operands) {
  const std::int64_t bytes = ((p.n - 1) * p.ldc + p.m) * size_bytes(p.dtype);
  if (device != nullptr) {
    pinned_ = device->allocate_pinned(bytes);
    operands_.c = pinned_->data();
  } else {
    pageable_.resize(std::size_t(bytes) / sizeof(std::max_align_t) + 1);
    operands_.c = pageable_.data();
  }
  // Padding is the caller's to touch, but may be uninitialised: columns alone are copied.
  const std::int64_t pitch = p.ldc * size_bytes(p.dtype);
  for (std::int64_t j = 0; j < p.n && p.beta != Scalar::zero; ++j)
    std::memcpy(static_cast<char*>(operands_.c) + j * pitch, static_cast<const char*>(operands.c) + j * pitch,
                std::size_t(p.m * size_bytes(p.dtype)));
}

double seconds_of_best(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  run();
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto begin = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = i == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

SplitSearch search_from(const Split& chosen) {
  SplitSearch search;
  constexpr double steps_before = 2;
  search.begin = std::max(0.0, std::floor(cpu_share(chosen) / search.step) - steps_before) * search.step;
  return search;
}

SplitSearchResult search_split(const NodeModel& node, SplitRequest request, SplitWay way,
                               const SplitSearch& search, const std::function<double(const Split&)>& time) {
  SplitSearchResult result;
  const auto try_share = [&](double share) {
    request.cpu_share = share;
    const Split split = choose_split(node, request).split;
    const double seconds = time(split);
    if (result.tried++ == 0 || seconds < result.best_s) result.best = split, result.best_s = seconds;
    return seconds;
  };
  // Numbers of steps, so that no rounding adds up on the way.
  if (way == SplitWay::exhaustive) {
    for (int i = 0; i * search.step < 1 - 1e-9; ++i)
      if (try_share(i * search.step) > search.hopeless * result.best_s) return result;
    try_share(1);
    return result;
  }
  for (int i = 0; search.begin + i * search.step <= 1 + 1e-9; ++i)
    if (try_share(std::min(search.begin + i * search.step, 1.0)) > result.best_s * (1 + search.threshold))
      break;
  return result;
}

}  // namespace tilewright
