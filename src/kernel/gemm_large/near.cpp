// Computes the cells, and the other properties that two problems must share to share a config.
#include "kernel/gemm_large/near.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

int cell(std::int64_t size) {
  return int(std::floor(4 * std::log2(double(std::max<std::int64_t>(1, size)))));
}

// Returns a key of the properties that decide which configs are legal, and of the problem's approximate size.
std::string key_of(const GemmProblem& p, const GemmLargeShape& s) {
  // The dimensions of most tiles: if they divide the sizes, configs without checks are legal.
  constexpr std::int64_t usual_tile = 128, usual_depth = 16;
  return fmt::format("{} {}{}{}{}{} {} {} {} {} {} {} {} {}{}{} {}", int(p.dtype), int(s.trans_a),
                     int(s.trans_b), int(s.conj_a), int(s.conj_b), int(s.reads_c), s.align_a, s.align_b,
                     s.align_c, int(s.math), cell(p.m), cell(p.n), cell(p.k), int(p.m % usual_tile == 0),
                     int(p.n % usual_tile == 0), int(p.k % usual_depth == 0), cell(p.batch_count));
}

}  // namespace

GemmLargeConfig GemmLargeNear::find(const GemmProblem& p, const GemmLargeShape& s,
                                    const GemmLargeDevice& device) {
  const std::string key = key_of(p, s);
  if (const auto known = known_.find(key))
    if (gemm_large_accurate_space(p, s, device).contains(*known)) return *known;
  const GemmLargeConfig own = gemm_large_default(p, s, device);
  known_.add(key, std::make_shared<const GemmLargeConfig>(own));
  return own;
}

}  // namespace tilewright
