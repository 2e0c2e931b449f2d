// Batches without their type, and the infos of a call.
#include <algorithm>

#include "factor/call.hpp"

namespace tilewright {

std::int64_t FactorOperand::count() const {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < level_count; ++i)
    if (__builtin_mul_overflow(count, levels[i].count, &count)) return -1;
  return count;
}

char* FactorOperand::address(std::int64_t p) const {
  if (pointers != nullptr) return static_cast<char*>(pointers[p]);
  if (block > 0) {
    const std::int64_t begin = p / block * block * col_stride * cols;
    return data + (begin + p % block) * element_bytes;
  }
  std::int64_t at = 0;
  for (std::size_t i = level_count; i-- > 0;) {
    const std::int64_t rest = i == 0 ? 0 : p / levels[i].count;
    at += (p - rest * levels[i].count) * levels[i].stride;
    p = rest;
  }
  return data + at * element_bytes;
}

void FactorOperand::addresses(std::int64_t first, std::int64_t count, const void** to) const {
  if (pointers != nullptr) return std::copy_n(pointers + first, count, to), void();
  if (block > 0 || level_count > 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = address(first + i);
    return;
  }
  const std::int64_t step = level_count == 1 ? levels[0].stride * element_bytes : 0;
  const char* at = data + first * step;
  for (std::int64_t i = 0; i < count; ++i, at += step) to[i] = at;
}

void FactorInfo::put(std::int64_t first, std::int64_t count, const int* infos) {
  if (to_.mode == InfoMode::none) return;
  if (to_.mode == InfoMode::all) {
    std::copy_n(infos, count, to_.codes + first);
    return;
  }
  const auto failed = std::find_if(infos, infos + count, [](int info) { return info != 0; });
  if (failed == infos + count) return;
  const std::int64_t problem = first + (failed - infos);
  while (lock_.test_and_set(std::memory_order_acquire)) {
  }
  if (problem_ < 0 || problem < problem_) problem_ = problem, code_ = *failed;
  lock_.clear(std::memory_order_release);
}

FactorInfo::~FactorInfo() {
  if (to_.mode == InfoMode::group || to_.mode == InfoMode::any) *to_.codes = code_;
}

}  // namespace tilewright
