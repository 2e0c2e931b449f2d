// The memory ceiling of a case: loops that move the bytes of A, B and C that the multiplication must move, in
// the case's own buffers, so that they can be timed between implementations. C keeps its contents if it is
// read and is zeroed if it is only written.
#pragma once

#include <cstdint>
#include <vector>

#include "core/fields.hpp"

namespace tilewright {

// The kinds of loops. The best one depends on the mix, so all suitable ones are tried.
enum class Stream : std::uint8_t { plain, prefetch, non_temporal, non_temporal_prefetch };
TILEWRIGHT_NAMES(Stream, "plain", "prefetch", "non_temporal", "non_temporal_prefetch");

// The streams of one pass. All three begin on a 64-byte line; bytes beyond the last whole line are left out.
struct StreamOperands {
  const void* a = nullptr;
  std::int64_t a_bytes = 0;
  const void* b = nullptr;
  std::int64_t b_bytes = 0;
  void* c = nullptr;
  std::int64_t c_bytes = 0;
  bool read_c = false;  // C is read and written (beta != 0), or only written
};

// Returns the kinds worth trying: non-temporal stores only if C is not read.
std::vector<Stream> stream_kinds(bool read_c);

// Makes one pass over the operands, each thread walking a contiguous part of every stream; A, B and C advance
// together in proportion to their sizes, as they do in a batch of small multiplications.
void stream(const StreamOperands& operands, Stream kind, int threads);

}  // namespace tilewright
