// Non-temporal stores for any size: C of consecutive problems is computed into a line buffer on the stack and
// stored in whole aligned lines. Partial lines at both ends use ordinary stores, for they may be shared.
#include "kernel/gemm_small_cpu/columns_generator.hpp"

namespace tilewright::columns {
namespace {

constexpr std::int64_t flush_bytes = 4096;  // small enough to stay in L1 beside A and B

}  // namespace

std::int64_t Generator::staging_bytes() const {
  if (!past_caches()) return 0;
  const std::int64_t c_bytes = problem_.m * problem_.n * tile_.element_bytes;
  return (flush_bytes + c_bytes + 2 * 64 + 63) / 64 * 64;
}

// c_ moves to the buffer, at the destination's offset within its line. slot_out: the place of the buffer's
// line 0; slot_skip: its leading bytes that belong to others.
void Generator::start_staging() {
  mov(rax, c_);
  and_(rax, 63);
  mov(ptr[rsp + slot_skip], rax);
  and_(c_, -64);
  mov(ptr[rsp + slot_out], c_);
  lea(c_, ptr[rsp + rax + static_cast<std::size_t>(frame_bytes + scratch_bytes_)]);
}

void Generator::flush_staging(bool at_end) {
  const auto buffer = static_cast<std::size_t>(frame_bytes + scratch_bytes_);
  Xbyak::Label skip;
  if (!at_end) {
    add(c_, static_cast<std::uint32_t>(problem_.m * problem_.n * tile_.element_bytes));
    lea(rax, ptr[rsp + buffer + flush_bytes]);
    counts().instructions += 4;
  } else {
    lea(rax, ptr[rsp + buffer + 64]);
  }
  cmp(c_, rax);
  jb(skip, T_NEAR);
  write_lines();
  L(skip);
  if (!at_end) return;
  lea(r10, ptr[rsp + buffer]);
  mov(r9, ptr[rsp + slot_out]);
  add(r10, ptr[rsp + slot_skip]);
  add(r9, ptr[rsp + slot_skip]);
  copy_dwords(r9, r10, c_);
}

// Stores every whole line of the buffer, at least one, and moves the rest to its beginning.
void Generator::write_lines() {
  const auto buffer = static_cast<std::size_t>(frame_bytes + scratch_bytes_);
  Xbyak::Label aligned, line, rest;
  mov(r9, ptr[rsp + slot_out]);
  lea(r10, ptr[rsp + buffer]);
  mov(rax, ptr[rsp + slot_skip]);
  test(rax, rax);
  jz(aligned, T_NEAR);
  add(r9, rax);
  add(r10, rax);
  lea(r11, ptr[rsp + buffer + 64]);
  copy_dwords(r9, r10, r11);
  mov(qword[rsp + slot_skip], 0);
  L(aligned);
  mov(r11, c_);
  sub(r11, 64);
  L(line);
  cmp(r10, r11);
  ja(rest, T_NEAR);
  if (config_.isa == Isa::avx512) {
    vmovaps(zmm0, ptr[r10]);
    vmovntps(ptr[r9], zmm0);
  } else {
    vmovaps(ymm0, ptr[r10]);
    vmovaps(ymm1, ptr[r10 + 32]);
    vmovntps(ptr[r9], ymm0);
    vmovntps(ptr[r9 + 32], ymm1);
  }
  add(r9, 64);
  add(r10, 64);
  jmp(line);
  L(rest);
  mov(ptr[rsp + slot_out], r9);
  for (int half = 0; half < 2; ++half) {
    vmovaps(Xbyak::Ymm(half), ptr[r10 + half * 32]);
    vmovaps(ptr[rsp + buffer + static_cast<std::size_t>(half * 32)], Xbyak::Ymm(half));
  }
  sub(c_, r10);
  lea(c_, ptr[rsp + c_ + buffer]);
  // Each byte of C passes the buffer once: one more load and store per line.
  const double lines = double(problem_.m * problem_.n * tile_.element_bytes) / 64;
  counts().instructions += 7 * lines, counts().loads += lines, counts().stores += lines;
}

// Copies [from, end) in words of 4 bytes, advancing both pointers; clobbers eax.
void Generator::copy_dwords(const Xbyak::Reg64& to, const Xbyak::Reg64& from, const Xbyak::Reg64& end) {
  Xbyak::Label loop, done;
  L(loop);
  cmp(from, end);
  jae(done);
  mov(eax, ptr[from]);
  mov(ptr[to], eax);
  add(from, 4);
  add(to, 4);
  jmp(loop);
  L(done);
}

}  // namespace tilewright::columns
