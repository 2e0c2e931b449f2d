// The update of C after a block's k loop, C = alpha * acc + beta * C, with all loads before the first store.
#include <cstddef>

#include "kernel/gemm_small_cpu/columns_generator.hpp"

namespace tilewright::columns {
namespace {

constexpr int scalar_alpha = 0;
constexpr int scalar_beta = 1;

}  // namespace

void Generator::update(const Block& block) {
  if (tile_.parts == 2) combine_complex(block);
  if (is_sum()) return update_of_pass(block);
  scale_and_add(block);
  if (tile_.ahead_columns > 0 && block.last) load_ahead();
  store(block);
}

Xbyak::Address Generator::c_address(const Block& block, int piece, int col) {
  const std::int64_t offset = (block.first_col + col) * problem_.ldc * tile_.element_bytes +
                              piece_of(block, piece).first * tile_.real_bytes;
  return ptr[c_ + static_cast<std::size_t>(offset)];
}

int Generator::work_register(const Block& block, int index) const {
  return accumulator_base_ + block.pieces * block.cols * tile_.parts + index;
}

int Generator::ahead_register(int piece, int col) const {
  const int top = tile_.register_count - 1 - (tile_.masked && config_.isa == Isa::avx2 ? 1 : 0);
  return top - (col * tile_.row_blocks.front() + piece);
}

// Complex rows hold (re, im) pairs x; the loop gathered p = x * re(b) and q = x * im(b). With s = q swapped
// in pairs the product x * b is (p.re - s.re, p.im + s.im); conjugation of A or B flips the signs.
void Generator::combine_complex(const Block& block) {
  const bool conj_a = problem_.op_a == Op::conj_trans;
  const bool conj_b = problem_.op_b == Op::conj_trans;
  const int one = work_register(block, 0);
  count_load();
  vmovups(vec(one, max_bits()), ptr[rip + ones_data_]);
  for (int col = 0; col < block.cols; ++col)
    for (int piece = 0; piece < block.pieces; ++piece) {
      const int bits = piece_of(block, piece).bits;
      const auto p = accumulator(block, 0, 0, piece, col);
      const auto s = accumulator(block, 0, 1, piece, col);
      const auto ones = vec(one, bits);
      swap_pairs(s, s);
      count_multiply_add(false);
      if (conj_a && !conj_b)
        f64() ? vfmsubadd132pd(s, p, ones) : vfmsubadd132ps(s, p, ones);
      else if (conj_b && !conj_a)
        f64() ? vfmsubadd132pd(p, s, ones) : vfmsubadd132ps(p, s, ones);
      else
        f64() ? vfmaddsub132pd(p, s, ones) : vfmaddsub132ps(p, s, ones);
    }
  if (!conj_a || !conj_b) return;
  count_load();
  vmovups(vec(one, max_bits()), ptr[rip + sign_data_]);
  for (int col = 0; col < block.cols; ++col)
    for (int piece = 0; piece < block.pieces; ++piece) {
      const auto value = result(block, piece, col);
      count_other();
      vxorps(value, value, vec(one, piece_of(block, piece).bits));
    }
}

Xbyak::Xmm Generator::result(const Block& block, int piece, int col) const {
  const bool in_second =
      tile_.parts == 2 && problem_.op_a == Op::conj_trans && problem_.op_b != Op::conj_trans;
  return accumulator(block, 0, in_second ? 1 : 0, piece, col);
}

Xbyak::Xmm Generator::scalar(const Block& block, int which, int part, int bits) const {
  const int before = which == scalar_beta && problem_.alpha == Scalar::general ? tile_.parts : 0;
  return vec(work_register(block, tile_.parts == 1 ? 1 : 3) + before + part, bits);
}

void Generator::load_scalars(const Block& block) {
  const auto load_one = [&](Scalar kind, int which, int slot) {
    if (kind != Scalar::general) return;
    mov(rax, ptr[rsp + slot]);
    count_load();
    for (int part = 0; part < tile_.parts; ++part)
      broadcast(scalar(block, which, part, max_bits()), ptr[rax + part * tile_.real_bytes]);
  };
  load_one(problem_.alpha, scalar_alpha, slot_alpha);
  load_one(problem_.beta, scalar_beta, slot_beta);
}

void Generator::scale_and_add(const Block& block) {
  const bool nothing =
      problem_.alpha == Scalar::one && (problem_.beta == Scalar::zero || config_.c_load == CLoad::early);
  if (nothing) return;
  load_scalars(block);
  for (int col = 0; col < block.cols; ++col)
    for (int piece = 0; piece < block.pieces; ++piece) {
      if (tile_.parts == 1)
        add_real(block, piece, col);
      else
        add_complex(block, piece, col);
    }
}

// Returns C in a register: loaded ahead, or now into the first scratch register.
Xbyak::Xmm Generator::old_c(const Block& block, int piece, int col) {
  const auto& rows = piece_of(block, piece);
  if (from_ahead(block, col)) return vec(ahead_register(piece, col), rows.bits);
  const auto value = vec(work_register(block, 0), rows.bits);
  load(value, rows, c_address(block, piece, col));
  return value;
}

void Generator::add_real(const Block& block, int piece, int col) {
  const auto& rows = piece_of(block, piece);
  const auto value = result(block, piece, col);
  const auto alpha = scalar(block, scalar_alpha, 0, rows.bits);
  const bool scaled = problem_.alpha == Scalar::general;
  if (scaled && problem_.beta != Scalar::one) multiply_add(value, value, alpha, true);
  if (problem_.beta == Scalar::zero) return;
  if (problem_.beta == Scalar::general) {
    multiply_add(value, old_c(block, piece, col), scalar(block, scalar_beta, 0, rows.bits), false);
    return;
  }
  const bool direct = !from_ahead(block, col) && !rows.masked && rows.lanes * tile_.real_bytes >= 16;
  if (scaled) {
    const auto c = old_c(block, piece, col);
    count_multiply_add(false);
    f64() ? vfmadd213pd(value, alpha, c) : vfmadd213ps(value, alpha, c);
  } else if (direct) {
    add(value, value, c_address(block, piece, col));
  } else {
    add(value, value, old_c(block, piece, col));
  }
}

void Generator::add_complex(const Block& block, int piece, int col) {
  const auto value = result(block, piece, col);
  if (problem_.alpha == Scalar::general) multiply_complex(block, value, scalar_alpha);
  if (problem_.beta == Scalar::zero) return;
  const auto c = old_c(block, piece, col);
  if (problem_.beta == Scalar::general) multiply_complex(block, c, scalar_beta);
  add(value, value, c);
}

// value *= scalar: (v.re s.re - v.im s.im, v.im s.re + v.re s.im).
void Generator::multiply_complex(const Block& block, const Xbyak::Xmm& value, int which) {
  const int bits = value.isZMM() ? 512 : value.isYMM() ? 256 : 128;
  const auto swapped = vec(work_register(block, 1), bits);
  const auto re = scalar(block, which, 0, bits);
  swap_pairs(swapped, value);
  multiply_add(swapped, swapped, scalar(block, which, 1, bits), true);
  count_multiply_add(false);
  f64() ? vfmaddsub132pd(value, swapped, re) : vfmaddsub132ps(value, swapped, re);
}

// A load of C waits for a masked store that overlaps it, so the first columns of the next problem are loaded
// before the last stores of this one. The last problem loads its own columns again.
void Generator::load_ahead() {
  if (is_pointer()) {
    xor_(eax, eax);
    cmp(count_, 1);
    setne(al);
    mov(rax, ptr[cursor_[stream_c] + rax * 8]);
    counts().instructions += 4, counts().loads += 1;
  } else {
    lea(rax, ptr[c_ + step_[stream_c]]);
    cmp(count_, 1);
    cmove(rax, c_);
    counts().instructions += 3;
  }
  load_ahead_registers();
}

void Generator::load_ahead_registers() {
  for (int col = 0; col < tile_.ahead_columns; ++col)
    for (int piece = 0; piece < tile_.row_blocks.front(); ++piece) {
      const auto& rows = tile_.pieces[static_cast<std::size_t>(piece)];
      const std::int64_t offset = col * problem_.ldc * tile_.element_bytes + rows.first * tile_.real_bytes;
      load(vec(ahead_register(piece, col), rows.bits), rows, ptr[rax + static_cast<std::size_t>(offset)]);
    }
}

void Generator::store(const Block& block) {
  for (int col = 0; col < block.cols; ++col)
    for (int piece = 0; piece < block.pieces; ++piece)
      store(result(block, piece, col), piece_of(block, piece), c_address(block, piece, col));
}

}  // namespace tilewright::columns
