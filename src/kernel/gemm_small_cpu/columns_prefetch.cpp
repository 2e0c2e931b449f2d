// Emits the prefetches of later problems. A register per operand runs ahead of the matrices: fixed in
// straight-line code, advanced at the end of each iteration in loops.
#include "kernel/gemm_small_cpu/columns_generator.hpp"

namespace tilewright::columns {

bool Generator::fetches(Stream stream) const {
  const bool wanted[] = {config_.prefetch_a, config_.prefetch_b,
                         config_.prefetch_c && config_.store == Store::plain};
  return prefetching_ && wanted[stream] && !is_broadcast(stream) && !mostly_gaps(stream);
}

// True for distant columns of several lines: prefetching all would be useless, unbounded code.
bool Generator::mostly_gaps(Stream stream) const {
  const std::int64_t rows[] = {problem_.a_rows(), problem_.b_rows(), problem_.m};
  const std::int64_t cols[] = {problem_.a_cols(), problem_.b_cols(), problem_.n};
  const std::int64_t lines = cols[stream] * (rows[stream] * tile_.element_bytes / 64 + 2);
  return fetch_step(stream) == 64 && footprint(stream) / 64 > 2 * lines;
}

// Short columns with wide gaps: one line per column instead of every line of the footprint.
std::int64_t Generator::fetch_step(Stream stream) const {
  const std::int64_t rows[] = {problem_.a_rows(), problem_.b_rows(), problem_.m};
  const std::int64_t lds[] = {problem_.lda, problem_.ldb, problem_.ldc};
  const bool gaps = rows[stream] * tile_.element_bytes <= 64 && lds[stream] * tile_.element_bytes >= 128;
  return gaps ? lds[stream] * tile_.element_bytes : 64;
}

std::int64_t Generator::fetch_lines(Stream stream) const {
  if (!fetches(stream)) return 0;
  const std::int64_t bytes = footprint(stream);
  const std::int64_t step = fetch_step(stream);
  const std::int64_t lines = (bytes + step - 1) / step;
  return is_pointer() && step == 64 ? bytes / 64 + 1 : lines;
}

void Generator::start_prefetch() {
  const Xbyak::Reg64 matrices[] = {a_, b_, c_};
  const int slots[] = {slot_ahead_a, slot_ahead_b, slot_ahead_c};
  std::int64_t loop_slots = 0;
  for (const int cols : tile_.col_blocks) loop_slots += cols * problem_.k;
  loop_slots *= static_cast<std::int64_t>(tile_.row_blocks.size());
  // A sum's first block reads each product first; the next C is prefetched once per run.
  if (is_sum()) loop_slots = tile_.col_blocks.front() * problem_.k;
  for (int i = 0; i < stream_count; ++i) {
    const bool kept = is_sum() && (i == stream_c || (i == stream_a && tile_.packed_a && !is_pointer()));
    const bool fetched = fetches(Stream(i)) && !kept;
    streams_[i] = PrefetchStream(fetched ? fetch_lines(Stream(i)) : 0, loop_slots);
    fetch_offset_[i] = 0;
    if (!fetched) continue;
    if (!is_pointer()) {
      mov(fetch_[i], ptr[rsp + slots[i]]);
      add(fetch_[i], matrices[i]);
      counts().instructions += 2, counts().loads += 1;
      continue;
    }
    // The array of pointers ends with the batch: its last entries prefetch the current problem instead.
    const auto distance = std::max<std::int64_t>(1, config_.prefetch_bytes / footprint(Stream(i)));
    mov(rax, static_cast<std::uint64_t>(distance * 8));
    xor_(fetch_[i], fetch_[i]);
    if (is_sum())
      cmp(qword[rsp + slot_rest], static_cast<std::uint32_t>(distance));
    else
      cmp(count_, static_cast<std::uint32_t>(distance));
    cmovle(rax, fetch_[i]);
    mov(fetch_[i], ptr[cursor_[i] + rax]);
    counts().instructions += 5, counts().loads += 1;
  }
}

// Begins a stretch of code with `slots` slots that runs `iterations` times per problem.
void Generator::begin_region(std::int64_t slots, std::int64_t iterations) {
  region_looped_ = iterations > 1;
  if (!region_looped_) return;
  for (int i = 0; i < stream_count; ++i)
    region_[i] =
        slots > 0 ? PrefetchStream(streams_[i].take_loop(slots, iterations), slots) : PrefetchStream();
}

void Generator::prefetch_slot() {
  if (!prefetching_) return;
  for (int i = 0; i < stream_count; ++i)
    prefetch_lines(Stream(i), region_looped_ ? region_[i].take() : streams_[i].take());
}

void Generator::end_region() {
  if (!prefetching_ || !region_looped_) return;
  for (int i = 0; i < stream_count; ++i) {
    prefetch_lines(Stream(i), region_[i].take_all());
    advance_fetch(Stream(i));
  }
  region_looped_ = false;
}

void Generator::advance_fetch(Stream stream) {
  if (fetch_offset_[stream] == 0) return;
  add(fetch_[stream], static_cast<std::uint32_t>(fetch_offset_[stream]));
  count_other();
  fetch_offset_[stream] = 0;
}

void Generator::prefetch_lines(Stream stream, std::int64_t lines) {
  for (std::int64_t i = 0; i < lines; ++i) {
    prefetcht0(ptr[fetch_[stream] + static_cast<std::size_t>(fetch_offset_[stream])]);
    count_prefetch();
    fetch_offset_[stream] += fetch_step(stream);
  }
}

void Generator::prefetch_rest() {
  for (int i = 0; i < stream_count; ++i) prefetch_lines(Stream(i), streams_[i].take_all());
}

}  // namespace tilewright::columns
