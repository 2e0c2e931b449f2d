// The inner phases of interleaved kernels: a register block's k loop and C update, with prefetches.
#if defined(__x86_64__)

#include <algorithm>
#include <iterator>

#include "kernel/gemm_small_cpu/interleaved_code.hpp"

namespace tilewright {

void InterleavedCode::register_block(int rows, int cols, Lanes lanes) {
  first_operand_ = rows * cols * components();
  first_scratch_ = first_operand_ + (holds_a() ? rows : cols);
  start_accumulators(rows, cols, lanes);
  if (multiplies_) k_loop(rows, cols, lanes);
  update_c(rows, cols, lanes);
}

void InterleavedCode::start_accumulators(int rows, int cols, Lanes lanes) {
  const bool first_step_multiplies = multiplies_ && config_.k_unroll == 0;
  for (int j = 0; j < cols; ++j)
    for (int i = 0; i < rows; ++i) {
      if (config_.c_load == CLoad::early) {
        const Xmm sum = accumulator(i, j, rows);
        load(sum, c_element(i, j), lanes);
        if (!general(problem_.beta)) continue;
        bit_and(sum, sum, frame(Frame::beta + 2 * slot_bytes));
        multiply(sum, sum, frame(Frame::beta));
      } else if (!first_step_multiplies) {
        for (int part = 0; part < components(); ++part) zero(accumulator(i, j, rows, part));
      }
    }
}

// sum(i,j) += A(i,p) * B(p,j) for all p.
void InterleavedCode::k_loop(int rows, int cols, Lanes lanes) {
  const auto steps = [&](const Xbyak::Reg64& a, const Xbyak::Reg64& b, std::int64_t count, bool shares) {
    for (std::int64_t p = 0; p < count; ++p) {
      const bool first = config_.k_unroll == 0 && p == 0 && config_.c_load != CLoad::early;
      const Share share{p, shares && prefetches(lanes) ? count : 0};
      k_step(rows, cols, lanes, a + p * g_.a.col_step, b + p * g_.b.row_step, first, share);
    }
  };
  const auto before = [](const PrefetchStream& stream) { return stream.before; };
  const auto per_iteration = [](const PrefetchStream& stream) { return stream.per_iteration; };
  if (prefetches(lanes)) {
    for (PrefetchStream& stream : streams_) prefetch_lines(stream, 0, stream.before);
    advance_prefetch_in_block(before);
  }
  const std::int64_t iterations = problem_.k / k_steps_;
  if (iterations == 1 && problem_.k == k_steps_) {
    steps(block_a_, block_b_, problem_.k, true);
    if (prefetches(lanes)) advance_prefetch_in_block(per_iteration);
    return;
  }
  mov(step_a_, block_a_);
  mov(step_b_, block_b_);
  count_other(), count_other();
  repeat(static_cast<int>(iterations), steps_left_, [&] {
    steps(step_a_, step_b_, k_steps_, true);
    if (prefetches(lanes)) advance_prefetch_in_block(per_iteration);
    add_to(step_a_, k_steps_ * g_.a.col_step);
    add_to(step_b_, k_steps_ * g_.b.row_step);
  });
  steps(step_a_, step_b_, problem_.k % k_steps_, false);
}

// Adds A(:,p) * B(p,:) to sum for one p. One operand's vectors stay in registers, the other's come from
// scratch or memory. Complex: sum = x * re(y) and, in the second part, x * im(y), for held x and streamed y.
void InterleavedCode::k_step(int rows, int cols, Lanes lanes, const Xbyak::RegExp& a, const Xbyak::RegExp& b,
                             bool first, Share share) {
  const int held_count = holds_a() ? rows : cols;
  const int streamed_count = holds_a() ? cols : rows;
  const Xbyak::RegExp& held = holds_a() ? a : b;
  const Xbyak::RegExp& streamed = holds_a() ? b : a;
  const std::int64_t held_step = holds_a() ? g_.a.row_step : g_.b.col_step;
  const std::int64_t streamed_step = holds_a() ? g_.b.col_step : g_.a.row_step;
  const Xmm scratch = v(first_scratch_);
  for (int h = 0; h < held_count; ++h) load(v(first_operand_ + h), ptr[held + h * held_step], lanes);
  for (int s = 0; s < streamed_count; ++s) {
    const Address from = ptr[streamed + s * streamed_step];
    const bool from_memory = !g_.complex && held_count == 1 && lanes == Lanes::whole;
    if (g_.complex && lanes == Lanes::whole) {
      duplicate_im(v(first_scratch_ + 1), from);
      duplicate_re(scratch, from);
    } else if (!from_memory) {
      load(scratch, from, lanes);
      if (g_.complex) duplicate_im(v(first_scratch_ + 1), scratch);
      if (g_.complex) duplicate_re(scratch, scratch);
    }
    for (int h = 0; h < held_count; ++h)
      for (int part = 0; part < components(); ++part) {
        const Xmm sum = holds_a() ? accumulator(h, s, rows, part) : accumulator(s, h, rows, part);
        const Xmm y = v(first_scratch_ + part);
        const Xbyak::Operand& factor = from_memory ? static_cast<const Xbyak::Operand&>(from) : y;
        first ? multiply(sum, v(first_operand_ + h), factor)
              : multiply_add(sum, v(first_operand_ + h), factor);
      }
    if (share.count > 0) prefetch_share({share.index * streamed_count + s, share.count * streamed_count});
  }
}

void InterleavedCode::update_c(int rows, int cols, Lanes lanes) {
  for (int j = 0; j < cols; ++j)
    for (int i = 0; i < rows; ++i) update_element(i, j, rows, lanes);
}

// C(i,j) = alpha * sum + beta * C(i,j). If a problem's alpha or beta is 0 its term is 0 even for NaN.
void InterleavedCode::update_element(int i, int j, int rows, Lanes lanes) {
  const Address c = c_element(i, j);
  const Xmm sum = accumulator(i, j, rows);
  const Xmm scratch = v(first_scratch_);
  if (g_.complex && multiplies_) {
    const Xmm cross = accumulator(i, j, rows, 1);
    swap_pairs(cross, cross);
    scale_combine(sum, cross, ptr[rip + constants_], product_signs_);
  }
  if (general(problem_.alpha) && multiplies_) {
    bit_and(sum, sum, frame(Frame::alpha + 2 * slot_bytes));
    if (g_.complex) {
      swap_pairs(scratch, sum);
      multiply(scratch, scratch, frame(Frame::alpha + slot_bytes));
      scale_combine(sum, scratch, frame(Frame::alpha), Signs::minus_plus);
    } else {
      multiply(sum, sum, frame(Frame::alpha));
    }
  }
  if (config_.c_load != CLoad::early) {
    if (problem_.beta == Scalar::one && lanes == Lanes::whole) {
      sum_of(sum, sum, c);
    } else if (problem_.beta != Scalar::zero) {
      load(scratch, c, lanes);
      if (general(problem_.beta)) bit_and(scratch, scratch, frame(Frame::beta + 2 * slot_bytes));
      if (general(problem_.beta) && g_.complex) {
        const Xmm swapped = v(first_scratch_ + 1);
        swap_pairs(swapped, scratch);
        multiply(swapped, swapped, frame(Frame::beta + slot_bytes));
        scale_combine(scratch, swapped, frame(Frame::beta), Signs::minus_plus);
      } else if (general(problem_.beta)) {
        multiply(scratch, scratch, frame(Frame::beta));
      }
      sum_of(sum, sum, scratch);
    }
  }
  const bool streams_past_caches = config_.store == Store::non_temporal && lanes == Lanes::whole;
  streams_past_caches ? store_non_temporal(c, sum) : store(c, sum, lanes, scratch);
}

// Deals a slice's lines evenly to its register blocks, and each block's to its k loop.
void InterleavedCode::plan_prefetch() {
  if (config_.prefetch_bytes == 0 || !multiplies_ || g_.slices == 0) return;
  if (config_.prefetch_a) streams_.push_back({.pointer = r12, .operand = &g_.a});
  if (config_.prefetch_b) streams_.push_back({.pointer = r13, .operand = &g_.b});
  if (config_.prefetch_c) streams_.push_back({.pointer = r14, .operand = &g_.c});
  const std::int64_t blocks = row_blocks_ * column_blocks_;
  const std::int64_t iterations = problem_.k / k_steps_;
  for (PrefetchStream& stream : streams_) {
    const std::int64_t lines = (stream.operand->vectors + blocks - 1) / blocks;
    stream.per_iteration = lines / iterations;
    stream.before = lines % iterations;
  }
}

// Points each stream prefetch_bytes ahead, in slices of average operands, at least one.
void InterleavedCode::start_prefetch() {
  if (streams_.empty()) return;
  const std::int64_t slice_bytes = (g_.a.vectors + g_.b.vectors + g_.c.vectors) * g_.vector_bytes / 3;
  const std::int64_t ahead =
      std::max<std::int64_t>(1, config_.prefetch_bytes / std::max<std::int64_t>(slice_bytes, 1));
  const Xbyak::Reg64 slices[] = {slice_a_, slice_b_, slice_c_};
  const InterleavedOperand* operands[] = {&g_.a, &g_.b, &g_.c};
  for (const PrefetchStream& stream : streams_) {
    const auto which = std::find(std::begin(operands), std::end(operands), stream.operand) - operands;
    mov(stream.pointer, slices[which]);
    add_to(stream.pointer,
           ahead / g_.slices * stream.operand->block_bytes + ahead % g_.slices * g_.vector_bytes);
  }
  mov(frame64(Frame::prefetch_slices), static_cast<std::uint32_t>(g_.slices - ahead % g_.slices));
}

void InterleavedCode::prefetch_lines(PrefetchStream& stream, std::int64_t first, std::int64_t last) {
  for (std::int64_t line = first; line < last; ++line) {
    prefetcht0(ptr[stream.pointer + line * g_.pitch]);
    count_prefetch();
  }
}

// Issues the share of an iteration's lines at one of its places; the streams alternate.
void InterleavedCode::prefetch_share(Share share) {
  const auto streams = static_cast<std::int64_t>(streams_.size());
  for (std::int64_t x = 0; x < streams; ++x) {
    const std::int64_t lines = streams_[x].per_iteration;
    const auto before = [&](std::int64_t place) {
      return (lines * place * streams + x * share.count) / (share.count * streams);
    };
    prefetch_lines(streams_[x], before(share.index), before(share.index + 1));
  }
}

void InterleavedCode::advance_prefetch_in_block(std::int64_t (*lines)(const PrefetchStream&)) {
  for (const PrefetchStream& stream : streams_) add_to(stream.pointer, lines(stream) * g_.pitch);
}

void InterleavedCode::advance_prefetch_to_next_slice() {
  if (streams_.empty()) return;
  const std::int64_t blocks = row_blocks_ * column_blocks_;
  const std::int64_t iterations = problem_.k / k_steps_;
  for (const PrefetchStream& stream : streams_) {
    const std::int64_t walked = blocks * (stream.before + iterations * stream.per_iteration) * g_.pitch;
    add_to(stream.pointer, g_.vector_bytes - walked);
  }
  Xbyak::Label same_block;
  dec(frame64(Frame::prefetch_slices));
  jnz(same_block, T_NEAR);
  count_other(), count_other();
  for (const PrefetchStream& stream : streams_)
    add_to(stream.pointer, stream.operand->block_bytes - g_.slices * g_.vector_bytes);
  mov(frame64(Frame::prefetch_slices), static_cast<std::uint32_t>(g_.slices));
  L(same_block);
}

}  // namespace tilewright

#endif
