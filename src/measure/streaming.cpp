// Streaming loops in portable SIMD for every instruction set. Exclusive-or forces every load at no cost.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "measure/streaming.cpp"
#include <hwy/foreach_target.h>
// Highway re-includes this file once per target; the order of these includes is part of its protocol.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "measure/streaming.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t line_words = 8;             // 64 bytes
constexpr std::int64_t prefetch_words = 8192 / 8;  // 8 KiB ahead in each stream
using Words = hn::CappedTag<std::uint64_t, line_words>;
using Vector = hn::Vec<Words>;

template <bool kPrefetch>
HWY_ATTR Vector read_lines(const std::uint64_t* words, std::int64_t lines, Vector sum) {
  const Words tag;
  for (std::int64_t i = 0; i < lines * line_words; i += line_words) {
    if constexpr (kPrefetch) hwy::Prefetch(words + i + prefetch_words);
    for (std::size_t lane = 0; lane < line_words; lane += hn::Lanes(tag))
      sum = hn::Xor(sum, hn::Load(tag, words + i + lane));
  }
  return sum;
}

// `value` is zero at run time, which the compiler cannot know: C must be read, combined and written.
template <bool kRead, bool kPrefetch, bool kNonTemporal>
HWY_ATTR void write_lines(std::uint64_t* words, std::int64_t lines, Vector value) {
  const Words tag;
  for (std::int64_t i = 0; i < lines * line_words; i += line_words) {
    if constexpr (kPrefetch && kRead) hwy::Prefetch(words + i + prefetch_words);
    for (std::size_t lane = 0; lane < line_words; lane += hn::Lanes(tag)) {
      std::uint64_t* at = words + i + lane;
      if constexpr (kNonTemporal)
        hn::Stream(value, tag, at);
      else if constexpr (kRead)
        hn::Store(hn::Xor(value, hn::Load(tag, at)), tag, at);
      else
        hn::Store(value, tag, at);
    }
  }
}

// A position in one stream that advances by a fixed fraction of its lines per group (fixed point, 20 bits).
struct Cursor {
  Cursor(std::int64_t lines, std::int64_t groups) : total(lines), step((lines << 20) / groups) {}
  // Returns the lines of the next group; the last group takes the rounding remainder.
  std::int64_t next(bool last) {
    fixed += step;
    const std::int64_t end = last ? total : fixed >> 20;
    const std::int64_t lines = end - position;
    position = end;
    return lines;
  }
  std::int64_t total;
  std::int64_t step;
  std::int64_t fixed = 0;
  std::int64_t position = 0;
};

template <bool kRead, bool kPrefetch, bool kNonTemporal>
HWY_ATTR void pass(const StreamOperands& operands, std::int64_t group_bytes, std::uint64_t zero) {
  const auto* a = static_cast<const std::uint64_t*>(operands.a);
  const auto* b = static_cast<const std::uint64_t*>(operands.b);
  auto* c = static_cast<std::uint64_t*>(operands.c);
  const std::int64_t bytes = operands.a_bytes + operands.b_bytes + operands.c_bytes;
  const std::int64_t groups = bytes > group_bytes ? bytes / group_bytes : 1;
  Cursor at_a(operands.a_bytes / 64, groups);
  Cursor at_b(operands.b_bytes / 64, groups);
  Cursor at_c(operands.c_bytes / 64, groups);
  const Words tag;
  const Vector mask = hn::Set(tag, zero);
  Vector sum = mask;
  for (std::int64_t group = 0; group < groups; ++group) {
    const bool last = group + 1 == groups;
    const std::uint64_t* group_a = a + at_a.position * line_words;
    sum = read_lines<kPrefetch>(group_a, at_a.next(last), sum);
    const std::uint64_t* group_b = b + at_b.position * line_words;
    sum = read_lines<kPrefetch>(group_b, at_b.next(last), sum);
    std::uint64_t* group_c = c + at_c.position * line_words;
    write_lines<kRead, kPrefetch, kNonTemporal>(group_c, at_c.next(last), hn::And(sum, mask));
  }
  if constexpr (kNonTemporal) hwy::FlushStream();
}

HWY_ATTR void stream_pass(const StreamOperands& operands, Stream kind, std::int64_t group_bytes,
                          std::uint64_t zero) {
  const bool prefetch = kind == Stream::prefetch || kind == Stream::non_temporal_prefetch;
  if (kind == Stream::plain || kind == Stream::prefetch) {
    if (operands.read_c)
      return prefetch ? pass<true, true, false>(operands, group_bytes, zero)
                      : pass<true, false, false>(operands, group_bytes, zero);
    return prefetch ? pass<false, true, false>(operands, group_bytes, zero)
                    : pass<false, false, false>(operands, group_bytes, zero);
  }
  return prefetch ? pass<false, true, true>(operands, group_bytes, zero)
                  : pass<false, false, true>(operands, group_bytes, zero);
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewright {
HWY_EXPORT(stream_pass);

namespace {

const volatile std::uint64_t runtime_zero = 0;

// The loop switches between A, B and C after this many bytes in all: larger groups leave memory idle between
// the streams (measured: 512 to 1024 bytes are best or within 2 % of it for every mix of the three).
constexpr std::int64_t group_bytes = 1024;

// Returns where the part of thread `index` of `threads` begins in a stream, in whole lines.
std::int64_t part_begin(std::int64_t bytes, int index, int threads) {
  return bytes / 64 * index / threads * 64;
}

StreamOperands part(const StreamOperands& operands, int index, int threads) {
  const auto begin = [&](std::int64_t bytes) { return part_begin(bytes, index, threads); };
  const auto length = [&](std::int64_t bytes) {
    return part_begin(bytes, index + 1, threads) - begin(bytes);
  };
  StreamOperands result = operands;
  result.a = static_cast<const char*>(operands.a) + begin(operands.a_bytes);
  result.b = static_cast<const char*>(operands.b) + begin(operands.b_bytes);
  result.c = static_cast<char*>(operands.c) + begin(operands.c_bytes);
  result.a_bytes = length(operands.a_bytes);
  result.b_bytes = length(operands.b_bytes);
  result.c_bytes = length(operands.c_bytes);
  return result;
}

}  // namespace

std::vector<Stream> stream_kinds(bool read_c) {
  if (read_c) return {Stream::plain, Stream::prefetch};
  return {Stream::plain, Stream::prefetch, Stream::non_temporal, Stream::non_temporal_prefetch};
}

void stream(const StreamOperands& operands, Stream kind, int threads) {
  if (threads == 1) return HWY_DYNAMIC_DISPATCH(stream_pass)(operands, kind, group_bytes, runtime_zero);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int index = 0; index < threads; ++index)
    HWY_DYNAMIC_DISPATCH(stream_pass)(part(operands, index, threads), kind, group_bytes, runtime_zero);
}

}  // namespace tilewright
#endif
