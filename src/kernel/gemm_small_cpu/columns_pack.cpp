// Transposes the stored k x m matrix A into m x k scratch, so that the k loop finds rows of op(A) in vectors,
// in square tiles of 256-bit vectors. The update of C conjugates.
#include "kernel/gemm_small_cpu/columns_generator.hpp"

namespace tilewright::columns {

// a_ points at the stored matrix and advances; scratch: rsp + frame_bytes, for a sum at packed_source_.
void Generator::pack() {
  const int tile_rows = 32 / tile_.element_bytes;
  const std::int64_t full = problem_.m / tile_rows;
  const std::int64_t rest = problem_.m % tile_rows;
  if (is_sum())
    mov(rax, packed_source_);
  else
    lea(rax, ptr[rsp + frame_bytes]);
  if (full > 0) {
    Xbyak::Label loop;
    mov(qword[rsp + slot_columns], static_cast<std::uint32_t>(full));
    L(loop);
    weight *= double(full);
    pack_rows(tile_rows);
    add(a_, static_cast<std::uint32_t>(tile_rows * problem_.lda * tile_.element_bytes));
    add(rax, 32);
    dec(qword[rsp + slot_columns]);
    counts().instructions += 4 * weight;
    weight /= double(full);
    jnz(loop, T_NEAR);
  }
  if (rest > 0) pack_rows(rest);
  load_mask();
}

// Packs one row of tiles: `rows` rows of op(A), all of k.
void Generator::pack_rows(std::int64_t rows) {
  const int width = 32 / tile_.element_bytes;
  const std::int64_t row_bytes = problem_.lda * tile_.element_bytes;
  for (std::int64_t p = 0; p < problem_.k; p += width) {
    const auto kept = std::min<std::int64_t>(width, problem_.k - p);
    if (kept < width) {
      const auto words = static_cast<std::size_t>(kept * tile_.element_bytes / 4);
      vmovups(ymm15, ptr[rip + pack_masks_ + static_cast<int>((words - 1) * 32)]);
      count_load();
    }
    for (int row = 0; row < width; ++row) {
      const Xbyak::Ymm reg(row);
      const auto from = ptr[a_ + static_cast<std::size_t>(row * row_bytes + p * tile_.element_bytes)];
      if (row >= rows) {
        vxorps(Xbyak::Xmm(row), Xbyak::Xmm(row), Xbyak::Xmm(row));
        count_other();
        continue;
      }
      count_load();
      if (kept < width)
        vmaskmovps(reg, ymm15, from);
      else
        vmovups(reg, from);
    }
    transpose_units();
    for (std::int64_t q = 0; q < kept; ++q) {
      vmovups(ptr[rax + static_cast<std::size_t>((p + q) * tile_.packed_lda * tile_.element_bytes)],
              Xbyak::Ymm(static_cast<int>(q)));
      count_store();
    }
  }
}

// Transposes rows in ymm0 .. to columns in ymm0 ..; units are whole elements of 4, 8 or 16 bytes.
void Generator::transpose_units() {
  using Xbyak::Ymm;
  if (tile_.element_bytes == 16) {
    vperm2f128(ymm2, ymm0, ymm1, 0x31);
    vperm2f128(ymm0, ymm0, ymm1, 0x20);
    vmovaps(ymm1, ymm2);
    counts().instructions += 3 * weight;
    return;
  }
  if (tile_.element_bytes == 8) {
    for (int pair = 0; pair < 4; pair += 2) {
      vunpcklpd(Ymm(4 + pair), Ymm(pair), Ymm(pair + 1));
      vunpckhpd(Ymm(5 + pair), Ymm(pair), Ymm(pair + 1));
    }
    for (int half = 0; half < 2; ++half) {
      vperm2f128(Ymm(half), Ymm(4 + half), Ymm(6 + half), 0x20);
      vperm2f128(Ymm(2 + half), Ymm(4 + half), Ymm(6 + half), 0x31);
    }
    counts().instructions += 8 * weight;
    return;
  }
  for (int pair = 0; pair < 8; pair += 2) {
    vunpcklps(Ymm(8 + pair), Ymm(pair), Ymm(pair + 1));
    vunpckhps(Ymm(9 + pair), Ymm(pair), Ymm(pair + 1));
  }
  for (int quad = 0; quad < 8; quad += 4)
    for (int half = 0; half < 2; ++half) {
      vshufps(Ymm(quad + 2 * half), Ymm(8 + quad + half), Ymm(10 + quad + half), 0x44);
      vshufps(Ymm(quad + 2 * half + 1), Ymm(8 + quad + half), Ymm(10 + quad + half), 0xEE);
    }
  for (int q = 0; q < 4; ++q) {
    vperm2f128(Ymm(8 + q), Ymm(q), Ymm(4 + q), 0x31);
    vperm2f128(Ymm(q), Ymm(q), Ymm(4 + q), 0x20);
  }
  for (int q = 0; q < 4; ++q) vmovaps(Ymm(4 + q), Ymm(8 + q));
  counts().instructions += 28 * weight;
}

}  // namespace tilewright::columns
