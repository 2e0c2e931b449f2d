// The skeleton of the columns kernel: prologue, batch loop, epilogue, and helpers the phases share.
#include "kernel/gemm_small_cpu/columns_generator.hpp"

#include <cstddef>

namespace tilewright::columns {

using Xbyak::Reg64;

Generator::Generator(const GemmProblem& problem, const GemmSmallCpuConfig& config)
    : problem_(problem), config_(config), tile_(make_tile(problem, config)) {
  const bool unrolled = config.k_unroll == 0 || config.k_unroll >= problem.k;
  k_body_ = unrolled ? problem.k : config.k_unroll;
  scratch_bytes_ = tile_.packed_a ? packed_bytes() * std::max(1, config.sum_block) : 0;
  prefetching_ = config.prefetch_bytes > 0;
  const bool scalars = problem.alpha == Scalar::general || problem.beta == Scalar::general;
  needs_frame_ = scalars || prefetching_ || tile_.packed_a || tile_.loop_columns || past_caches() || is_sum();
  const Reg64 low[] = {r9, r10, r11}, high[] = {r13, r14, r15};
  const bool low_taken = prefetching_ || past_caches();
  for (int i = 0; i < stream_count; ++i) {
    cursor_[i] = low[i];
    fetch_[i] = is_pointer() ? high[i] : low[i];
    step_[i] = low_taken ? high[i] : low[i];
  }
}

void Generator::generate() {
  prologue();
  batch_loop();
  epilogue();
  constants();
  finish();
}

void Generator::prologue() {
  if (rolled() || tile_.loop_columns) saved_.insert(saved_.end(), {rbx, rbp});
  if (tile_.packed_a || past_caches()) saved_.push_back(r12);
  if (is_pointer() ? prefetching_ : step_[0] == r13) saved_.insert(saved_.end(), {r13, r14, r15});
  for (const auto& reg : saved_) push(reg);
  if (needs_frame_) {
    mov(rax, rsp);
    sub(rsp, static_cast<std::uint32_t>(frame_bytes + scratch_bytes_ + staging_bytes()));
    and_(rsp, -64);
    mov(ptr[rsp + slot_rsp], rax);
  }
  load_bases();
  load_mask();
}

void Generator::load_bases() {
  mov(count_, ptr[args_ + offsetof(GemmSmallCpuArguments, count)]);
  const std::size_t bases[] = {offsetof(GemmSmallCpuArguments, a), offsetof(GemmSmallCpuArguments, b),
                               offsetof(GemmSmallCpuArguments, c)};
  const Reg64 matrices[] = {a_, b_, c_};
  for (int i = 0; i < stream_count; ++i) mov(is_pointer() ? cursor_[i] : matrices[i], ptr[args_ + bases[i]]);
  if (problem_.alpha == Scalar::general) {
    mov(rax, ptr[args_ + offsetof(GemmSmallCpuArguments, alpha)]);
    mov(ptr[rsp + slot_alpha], rax);
  }
  if (problem_.beta == Scalar::general) {
    mov(rax, ptr[args_ + offsetof(GemmSmallCpuArguments, beta)]);
    mov(ptr[rsp + slot_beta], rax);
  }
  // Kept in registers: loads would wait for stores of C with the same low address bits.
  const std::size_t strides[] = {offsetof(GemmSmallCpuArguments, stride_a),
                                 offsetof(GemmSmallCpuArguments, stride_b),
                                 offsetof(GemmSmallCpuArguments, stride_c)};
  if (!is_pointer())
    for (int i = 0; i < stream_count; ++i) mov(step_[i], ptr[args_ + strides[i]]);
  if (prefetching_ && !is_pointer()) {
    // Strided: the stream runs `prefetch_bytes` ahead, in whole problems of the caller's stride.
    const int slots[] = {slot_ahead_a, slot_ahead_b, slot_ahead_c};
    for (int i = 0; i < stream_count; ++i) {
      const auto distance = std::max<std::int64_t>(1, config_.prefetch_bytes / footprint(Stream(i)));
      imul(rax, step_[i], static_cast<int>(distance));
      mov(ptr[rsp + slots[i]], rax);
    }
  }
}

void Generator::load_mask() {
  if (!tile_.masked) return;
  for (const auto& piece : tile_.pieces) {
    if (!piece.masked) continue;
    if (config_.isa == Isa::avx512) {
      mov(eax, (1u << piece.lanes) - 1);
      kmovw(k1, eax);
    } else {
      vmovups(Xbyak::Ymm(mask_register()), ptr[rip + mask_data_]);
    }
  }
}

void Generator::batch_loop() {
  Xbyak::Label staged, done;
  test(count_, count_);
  jle(done, T_NEAR);
  if (is_sum()) {
    sums();
  } else if (config_.store == Store::non_temporal_direct) {
    test(c_, 63);
    jnz(staged, T_NEAR);
    problems(Store::non_temporal_direct);
    jmp(done, T_NEAR);
    L(staged);
    const KernelCounts direct = counts();
    problems(Store::non_temporal);
    counts() = direct;
  } else {
    problems(config_.store);
  }
  L(done);
}

void Generator::problems(Store store) {
  store_ = store;
  if (store_ == Store::non_temporal) start_staging();
  if (tile_.packed_a && is_broadcast(stream_a)) {
    mov(packed_source_, a_);
    pack();
    mov(a_, packed_source_);
  }
  if (tile_.ahead_columns > 0) {
    if (is_pointer()) mov(c_, ptr[cursor_[stream_c]]);
    mov(rax, c_);
    load_ahead_registers();
  }
  Xbyak::Label loop;
  align(64);
  L(loop);
  enter_problem();
  problem_body();
  leave_problem();
  dec(count_);
  jnz(loop, T_NEAR);
  counts().instructions += 2;
  if (store_ == Store::non_temporal) flush_staging(true);
}

void Generator::enter_problem() {
  const Reg64 matrices[] = {a_, b_, c_};
  if (is_pointer())
    for (int i = 0; i < stream_count; ++i) {
      mov(matrices[i], ptr[cursor_[i]]);
      count_load();
    }
  if (prefetching_) start_prefetch();
  if (tile_.packed_a) {
    mov(packed_source_, a_);
    if (!is_broadcast(stream_a)) pack();
    lea(a_, ptr[rsp + frame_bytes]);
  }
}

void Generator::leave_problem() {
  const Reg64 matrices[] = {a_, b_, c_};
  if (tile_.packed_a) mov(a_, packed_source_);
  for (int i = 0; i < stream_count; ++i) {
    if (is_pointer()) {
      add(cursor_[i], 8);
      count_other();
    } else if (i == stream_c && store_ == Store::non_temporal) {
      flush_staging(false);
    } else {
      add(matrices[i], step_[i]);
      count_other();
    }
  }
  const auto advance = [&](Scalar kind, int slot, std::size_t stride) {
    if (kind != Scalar::general) return;
    mov(rax, ptr[args_ + stride]);
    add(ptr[rsp + slot], rax);
    counts().instructions += 2, counts().loads += 2, counts().stores += 1;
  };
  advance(problem_.alpha, slot_alpha, offsetof(GemmSmallCpuArguments, alpha_stride));
  advance(problem_.beta, slot_beta, offsetof(GemmSmallCpuArguments, beta_stride));
}

void Generator::problem_body() {
  if (prefetching_ && config_.prefetch_schedule == PrefetchSchedule::burst) prefetch_rest();
  if (tile_.loop_columns)
    looped_blocks();
  else
    straight_blocks();
  if (prefetching_) prefetch_rest();  // the rest of rounding
}

void Generator::epilogue() {
  if (past_caches()) sfence();
  vzeroupper();
  if (needs_frame_) mov(rsp, ptr[rsp + slot_rsp]);
  for (auto reg = saved_.rbegin(); reg != saved_.rend(); ++reg) pop(*reg);
  ret();
}

void Generator::constants() {
  align(64);
  if (tile_.masked && config_.isa == Isa::avx2) {
    L(mask_data_);
    for (const auto& piece : tile_.pieces)
      if (piece.masked)
        for (int i = 0; i < 8; ++i) dd(i < piece.lanes * tile_.real_bytes / 4 ? 0xffffffffu : 0u);
  }
  if (tile_.parts == 2) {
    align(64);
    L(ones_data_);
    for (int i = 0; i < 8; ++i) dq(f64() ? 0x3ff0000000000000ull : 0x3f8000003f800000ull);
    L(sign_data_);  // sign bits of the imaginary lanes
    for (int i = 0; i < 8; ++i) dq(f64() && i % 2 == 0 ? 0ull : 0x8000000000000000ull);
  }
  if (tile_.packed_a) {
    align(32);
    L(pack_masks_);
    for (int kept = 1; kept < 8; ++kept)
      for (int i = 0; i < 8; ++i) dd(i < kept ? 0xffffffffu : 0u);
  }
}

bool Generator::is_broadcast(Stream stream) const {
  if (problem_.layout != Layout::strided) return false;
  return stream == stream_a ? problem_.stride_a == 0 : stream == stream_b && problem_.stride_b == 0;
}

std::int64_t Generator::footprint(Stream stream) const {
  const std::int64_t cols[] = {problem_.a_cols(), problem_.b_cols(), problem_.n};
  const std::int64_t rows[] = {problem_.a_rows(), problem_.b_rows(), problem_.m};
  const std::int64_t lds[] = {problem_.lda, problem_.ldb, problem_.ldc};
  return ((cols[stream] - 1) * lds[stream] + rows[stream]) * tile_.element_bytes;
}

// ---------------------------------------------------------------------------------------------- instruction
// helpers

Xbyak::Xmm Generator::vec(int index, int bits) const {
  if (bits == 512) return Xbyak::Zmm(index);
  if (bits == 256) return Xbyak::Ymm(index);
  return Xbyak::Xmm(index);
}

void Generator::load(const Xbyak::Xmm& reg, const RowPiece& piece, const Xbyak::Address& from) {
  count_load();
  const int bytes = piece.lanes * tile_.real_bytes;
  const auto masked = [&](const auto& wide) {
    if (config_.isa == Isa::avx512)
      f64() ? vmovupd(wide | k1 | T_z, from) : vmovups(wide | k1 | T_z, from);
    else
      vmaskmovps(wide, vec(mask_register(), piece.bits), from);
  };
  if (piece.masked) return masked(reg);
  if (bytes == 4) return vmovss(Xbyak::Xmm(reg.getIdx()), from);
  if (bytes == 8) return vmovsd(Xbyak::Xmm(reg.getIdx()), from);
  vmovups(reg, from);
}

// Stores the parts of a partial vector by stores of 16, 8 and 4 bytes; overwrites the register.
void Generator::store_split(const Xbyak::Xmm& reg, int bytes, const Xbyak::RegExp& to) {
  const Xbyak::Xmm low(reg.getIdx());
  if (bytes > 16) {
    count_store(), count_other();
    vmovups(ptr[to], low);
    vextractf128(low, Xbyak::Ymm(reg.getIdx()), 1);
  }
  const std::size_t first = bytes > 16 ? 16 : 0, rest = std::size_t(bytes) - first;
  if (rest >= 8) {
    count_store();
    vmovlps(ptr[to + first], low);
  }
  if (rest % 8 == 0) return;
  count_store();
  rest > 8 ? vextractps(ptr[to + first + 8], low, 2) : vmovss(ptr[to + first], low);
}

void Generator::store(const Xbyak::Xmm& reg, const RowPiece& piece, const Xbyak::Address& to) {
  const int bytes = piece.lanes * tile_.real_bytes;
  if (piece.masked && config_.tail == Tail::split) return store_split(reg, bytes, to.getRegExp());
  count_store();
  if (piece.masked) {
    if (config_.isa == Isa::avx512)
      f64() ? vmovupd(to | k1, reg) : vmovups(to | k1, reg);
    else
      vmaskmovps(to, vec(mask_register(), piece.bits), reg);
    return;
  }
  if (store_ == Store::non_temporal_direct) return vmovntps(to, reg);
  if (bytes == 4) return vmovss(to, Xbyak::Xmm(reg.getIdx()));
  if (bytes == 8) return vmovsd(to, Xbyak::Xmm(reg.getIdx()));
  vmovups(to, reg);
}

void Generator::broadcast(const Xbyak::Xmm& reg, const Xbyak::Address& from) {
  count_load();
  if (!f64()) return vbroadcastss(reg, from);
  if (reg.isZMM()) return vbroadcastsd(Xbyak::Zmm(reg.getIdx()), from);
  if (reg.isYMM()) return vbroadcastsd(Xbyak::Ymm(reg.getIdx()), from);
  vmovddup(reg, from);
}

// acc (+)= x * y; the first step of a chain multiplies, so that no register has to be cleared.
void Generator::multiply_add(const Xbyak::Xmm& acc, const Xbyak::Xmm& x, const Xbyak::Operand& y,
                             bool first) {
  count_multiply_add(y.isMEM());
  if (first)
    f64() ? vmulpd(acc, x, y) : vmulps(acc, x, y);
  else
    f64() ? vfmadd231pd(acc, x, y) : vfmadd231ps(acc, x, y);
}

void Generator::add(const Xbyak::Xmm& acc, const Xbyak::Xmm& x, const Xbyak::Operand& y) {
  y.isMEM() ? count_load() : count_other();
  f64() ? vaddpd(acc, x, y) : vaddps(acc, x, y);
}

void Generator::swap_pairs(const Xbyak::Xmm& to, const Xbyak::Xmm& from) {
  count_other();
  f64() ? vpermilpd(to, from, 0x55) : vpermilps(to, from, 0xB1);
}

}  // namespace tilewright::columns
