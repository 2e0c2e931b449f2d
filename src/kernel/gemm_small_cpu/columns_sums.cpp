// Sums of products into one C: a loop over runs of equal C around the register blocks, each of which takes
// all products of the run, or as many as keep A and B in L1, before it updates C.
#include <cstddef>

#include "kernel/gemm_small_cpu/columns_generator.hpp"

namespace tilewright::columns {

void Generator::sums() {
  store_ = Store::plain;
  Xbyak::Label run, pass;
  align(64);
  L(run);
  begin_run();
  L(pass);
  begin_pass();
  if (tile_.packed_a) pack_pass();
  straight_blocks();
  if (tile_.packed_a && !is_pointer()) mov(a_, ptr[rsp + slot_start_a]);
  if (splits_runs()) {
    if (problem_.beta != Scalar::one) mov(qword[rsp + slot_later], 1);
    cmp(qword[rsp + slot_run], 0);
    jne(pass, T_NEAR);
    counts().instructions += 3, counts().loads += 1, counts().stores += 1;
  }
  test(count_, count_);
  jnz(run, T_NEAR);
  counts().instructions += 2;
}

// Loads the address of C and counts the products that share it.
void Generator::begin_run() {
  if (prefetching_) mov(ptr[rsp + slot_rest], count_);
  if (is_pointer()) mov(c_, ptr[cursor_[stream_c]]);
  if (problem_.sums == Sums::stack) {
    Xbyak::Label scan, end;
    xor_(eax, eax);
    L(scan);
    inc(rax);
    cmp(rax, count_);
    jge(end);
    cmp(c_, ptr[cursor_[stream_c] + rax * 8]);
    je(scan);
    L(end);
    lea(cursor_[stream_c], ptr[cursor_[stream_c] + rax * 8]);
  } else {
    mov(rax, count_);
  }
  mov(ptr[rsp + slot_run], rax);
  sub(count_, rax);
  counts().instructions += 10, counts().loads += 2, counts().stores += 1;
  if (fetches(stream_c) && problem_.sums == Sums::stack) prefetch_next_c();
  if (splits_runs() && problem_.beta != Scalar::one) mov(qword[rsp + slot_later], 0);
}

void Generator::prefetch_next_c() {
  Xbyak::Label none;
  test(count_, count_);
  jz(none, T_NEAR);
  mov(rax, ptr[cursor_[stream_c]]);
  const std::int64_t lines = fetch_lines(stream_c), step = fetch_step(stream_c);
  for (std::int64_t i = 0; i < lines; ++i) {
    prefetcht0(ptr[rax + static_cast<std::size_t>(i * step)]);
    count_prefetch();
  }
  L(none);
  counts().instructions += 3, counts().loads += 1;
}

// Counts the products that all blocks take one after the other.
void Generator::begin_pass() {
  mov(rax, ptr[rsp + slot_run]);
  if (splits_runs()) {
    Xbyak::Label all;
    cmp(rax, static_cast<std::uint32_t>(config_.sum_block));
    jle(all);
    mov(eax, static_cast<std::uint32_t>(config_.sum_block));
    L(all);
    sub(ptr[rsp + slot_run], rax);
  }
  mov(ptr[rsp + slot_pass], rax);
  mov(ptr[rsp + slot_start_a], is_pointer() ? cursor_[stream_a] : a_);
  mov(ptr[rsp + slot_start_b], is_pointer() ? cursor_[stream_b] : b_);
  counts().instructions += 4, counts().loads += 1, counts().stores += 3;
}

// Packs each A of the pass into its own scratch first, since packing uses the registers of sums.
void Generator::pack_pass() {
  Xbyak::Label loop;
  mov(rax, ptr[rsp + slot_pass]);
  mov(ptr[rsp + slot_left], rax);
  lea(packed_source_, ptr[rsp + frame_bytes]);
  L(loop);
  if (is_pointer()) {
    mov(a_, ptr[cursor_[stream_a]]);
    pack();
    add(cursor_[stream_a], 8);
  } else {
    mov(ptr[rsp + slot_start_a], a_);
    pack();
    mov(a_, ptr[rsp + slot_start_a]);
    add(a_, step_[stream_a]);
  }
  add(packed_source_, static_cast<std::uint32_t>(packed_bytes()));
  dec(qword[rsp + slot_left]);
  jnz(loop, T_NEAR);
  counts().instructions += 6, counts().loads += 2, counts().stores += 1;
  if (is_pointer())
    mov(cursor_[stream_a], ptr[rsp + slot_start_a]);
  else
    mov(ptr[rsp + slot_start_a], a_);
}

void Generator::sum_block(const Block& block) {
  if (!block.first) {
    if (is_pointer() || !tile_.packed_a) mov(is_pointer() ? cursor_[stream_a] : a_, ptr[rsp + slot_start_a]);
    mov(is_pointer() ? cursor_[stream_b] : b_, ptr[rsp + slot_start_b]);
  }
  if (tile_.packed_a) lea(packed_source_, ptr[rsp + frame_bytes]);
  mov(rax, ptr[rsp + slot_pass]);
  mov(ptr[rsp + slot_left], rax);
  counts().instructions += 4, counts().loads += 3, counts().stores += 1;
  start_accumulators(block);
  Xbyak::Label product;
  align(16);
  L(product);
  enter_product(block);
  k_loop(block, 1);
  leave_product(block);
  dec(qword[rsp + slot_left]);
  jnz(product, T_NEAR);
  counts().instructions += 2;
  sum_sets(block);
  update(block);
}

void Generator::enter_product(const Block& block) {
  if (tile_.packed_a)
    mov(a_, packed_source_);
  else if (is_pointer())
    mov(a_, ptr[cursor_[stream_a]]);
  if (is_pointer()) mov(b_, ptr[cursor_[stream_b]]);
  if (is_pointer()) counts().instructions += 2, counts().loads += 2;
  if (prefetching_ && block.first) {
    start_prefetch();
    if (config_.prefetch_schedule == PrefetchSchedule::burst) prefetch_rest();
  }
}

void Generator::leave_product(const Block& block) {
  if (prefetching_ && block.first) {
    prefetch_rest();
    for (std::int64_t& offset : fetch_offset_) offset = 0;
    dec(qword[rsp + slot_rest]);
  }
  if (tile_.packed_a) add(packed_source_, static_cast<std::uint32_t>(packed_bytes()));
  for (const Stream stream : {stream_a, stream_b}) {
    if (is_pointer())
      add(cursor_[stream], 8);
    else if (stream == stream_b || !tile_.packed_a)
      add(stream == stream_a ? a_ : b_, step_[stream]);
    count_other();
  }
}

// The first pass over a run applies beta; later ones add to its result.
void Generator::update_of_pass(const Block& block) {
  if (!splits_runs() || problem_.beta == Scalar::one) {
    scale_and_add(block);
    return store(block);
  }
  const Scalar beta = problem_.beta;
  Xbyak::Label later, done;
  cmp(qword[rsp + slot_later], 0);
  jne(later, T_NEAR);
  scale_and_add(block);
  jmp(done, T_NEAR);
  L(later);
  problem_.beta = Scalar::one;
  scale_and_add(block);
  problem_.beta = beta;
  L(done);
  store(block);
}

}  // namespace tilewright::columns
