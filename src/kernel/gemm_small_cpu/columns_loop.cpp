// Register blocks of C and the k loop: acc(piece, col) += A(piece, p) * B(p, col) for p = 0 .. k-1.
#include "kernel/gemm_small_cpu/columns_generator.hpp"

namespace tilewright::columns {

void Generator::straight_blocks() {
  std::int64_t col = 0;
  for (std::size_t i = 0; i < tile_.col_blocks.size(); ++i) {
    row_blocks_of(col, tile_.col_blocks[i], i == 0, i + 1 == tile_.col_blocks.size(), 1);
    col += tile_.col_blocks[i];
  }
}

// Equal column blocks run in a loop that walks b_ and c_; both are set back afterwards.
void Generator::looped_blocks() {
  const std::int64_t b_col = (problem_.op_b == Op::none ? problem_.ldb : 1) * tile_.element_bytes;
  const std::int64_t c_col = problem_.ldc * tile_.element_bytes;
  for (std::size_t i = 0; i < tile_.col_blocks.size();) {
    const int cols = tile_.col_blocks[i];
    std::size_t end = i;
    while (end < tile_.col_blocks.size() && tile_.col_blocks[end] == cols) ++end;
    const auto iterations = static_cast<std::int64_t>(end - i);
    Xbyak::Label loop;
    mov(qword[rsp + slot_columns], static_cast<std::uint32_t>(iterations));
    for (int s = 0; s < stream_count; ++s) advance_fetch(Stream(s));
    L(loop);
    weight *= double(iterations);
    row_blocks_of(0, cols, false, false, iterations);
    add(b_, static_cast<std::uint32_t>(b_col * cols));
    add(c_, static_cast<std::uint32_t>(c_col * cols));
    dec(qword[rsp + slot_columns]);
    counts().instructions += 4 * weight;
    weight /= double(iterations);
    jnz(loop, T_NEAR);
    i = end;
  }
  sub(b_, static_cast<std::uint32_t>(b_col * problem_.n));
  sub(c_, static_cast<std::uint32_t>(c_col * problem_.n));
}

void Generator::row_blocks_of(std::int64_t first_col, int cols, bool first, bool last,
                              std::int64_t iterations) {
  int piece = 0;
  for (std::size_t i = 0; i < tile_.row_blocks.size(); ++i) {
    const bool last_rows = i + 1 == tile_.row_blocks.size();
    block({.first_piece = piece,
           .pieces = tile_.row_blocks[i],
           .first_col = first_col,
           .cols = cols,
           .first = first && i == 0,
           .last = last && last_rows},
          iterations);
    piece += tile_.row_blocks[i];
  }
}

void Generator::block(const Block& block, std::int64_t iterations) {
  if (is_sum()) return sum_block(block);
  if (config_.hold == Hold::all_a) return resident_block(block, iterations);
  start_accumulators(block);
  k_loop(block, iterations);
  sum_sets(block);
  update(block);
}

// Loads all of A's rows of the block once, then finishes C's columns one by one in alternating registers.
void Generator::resident_block(const Block& block, std::int64_t iterations) {
  for (std::int64_t p = 0; p < problem_.k; ++p)
    for (int piece = 0; piece < block.pieces; ++piece) {
      const int index = static_cast<int>(p) * block.pieces + piece;
      const auto& rows = piece_of(block, piece);
      load(vec(index, rows.bits), rows, ptr[a_ + static_cast<std::size_t>(a_offset(block, piece, p))]);
    }
  const int held = block.pieces * static_cast<int>(problem_.k);
  const int per_column = column_registers(tile_, problem_, config_, block.pieces);
  const int top = ahead_register(0, 0) + 1 - tile_.ahead_columns * tile_.row_blocks.front();
  const int temporaries = config_.isa == Isa::avx512 ? 2 : 1;
  const int turns = (top - temporaries - held) / per_column;
  begin_region(problem_.k * block.cols, iterations);
  for (int col = 0; col < block.cols; ++col) {
    accumulator_base_ = held + col % turns * per_column;
    Block column = block;
    column.first_col += col;
    column.cols = 1;
    column.first = block.first && col == 0;
    column.last = block.last && col + 1 == block.cols;
    start_accumulators(column);
    resident_column(column, vec(top - 1 - col % temporaries, max_bits()));
    sum_sets(column);
    update(column);
  }
  end_region();
  accumulator_base_ = 0;
}

void Generator::resident_column(const Block& column, const Xbyak::Xmm& temporary) {
  for (std::int64_t p = 0; p < problem_.k; ++p) {
    const int set = static_cast<int>(p % config_.k_sets);
    const bool first = p < config_.k_sets && !(config_.c_load == CLoad::early && set == 0);
    for (int part = 0; part < tile_.parts; ++part) {
      const auto from = b_address(column, 0, part, p);
      const bool embedded = config_.isa == Isa::avx512 && column.pieces == 1;
      if (!embedded) broadcast(temporary, ptr[from]);
      for (int piece = 0; piece < column.pieces; ++piece) {
        const int bits = piece_of(column, piece).bits;
        const auto acc = accumulator(column, set, part, piece, 0);
        const auto a = vec(static_cast<int>(p) * column.pieces + piece, bits);
        if (embedded)
          multiply_add(acc, a, ptr_b[from], first);
        else
          multiply_add(acc, a, vec(temporary.getIdx(), bits), first);
      }
    }
    prefetch_slot();
  }
}

// C read early seeds the first set; a rolled loop or a sum of products needs the others cleared.
void Generator::start_accumulators(const Block& block) {
  for (int set = 0; set < config_.k_sets; ++set)
    for (int part = 0; part < tile_.parts; ++part)
      for (int col = 0; col < block.cols; ++col)
        for (int piece = 0; piece < block.pieces; ++piece) {
          const auto acc = accumulator(block, set, part, piece, col);
          if (config_.c_load == CLoad::early && set == 0) {
            load(acc, piece_of(block, piece), c_address(block, piece, col));
          } else if (rolled() || is_sum()) {
            count_other();
            const auto clear =
                vec(acc.getIdx(), config_.isa == Isa::avx512 && acc.getIdx() > 15 ? max_bits() : 128);
            vxorps(clear, clear, clear);
          }
        }
}

void Generator::k_loop(const Block& block, std::int64_t iterations) {
  if (!rolled()) {
    begin_region(problem_.k * block.cols, iterations);
    for (std::int64_t p = 0; p < problem_.k; ++p)
      k_step(block, p, static_cast<int>(p % config_.k_sets), p < config_.k_sets && !is_sum());
    return end_region();
  }
  const std::int64_t trips = problem_.k / k_body_;
  const std::int64_t rest = problem_.k % k_body_;
  const std::int64_t a_stride = (tile_.packed_a ? tile_.packed_lda : problem_.lda) * tile_.element_bytes;
  const std::int64_t b_stride = (problem_.op_b == Op::none ? 1 : problem_.ldb) * tile_.element_bytes;
  Xbyak::Label loop;
  mov(a_step_, a_);
  mov(b_step_, b_);
  mov(k_count_.cvt32(), static_cast<std::uint32_t>(trips));
  for (int s = 0; s < stream_count; ++s) advance_fetch(Stream(s));
  align(16);
  L(loop);
  weight *= double(trips);
  begin_region(k_body_ * block.cols, trips * iterations);
  for (std::int64_t p = 0; p < k_body_; ++p) k_step(block, p, static_cast<int>(p % config_.k_sets), false);
  end_region();
  add(a_step_, static_cast<std::uint32_t>(a_stride * k_body_));
  add(b_step_, static_cast<std::uint32_t>(b_stride * k_body_));
  dec(k_count_.cvt32());
  counts().instructions += 4 * weight;
  weight /= double(trips);
  jnz(loop, T_NEAR);
  begin_region(rest * block.cols, iterations);
  for (std::int64_t p = 0; p < rest; ++p) k_step(block, p, static_cast<int>(p % config_.k_sets), false);
  end_region();
}

void Generator::k_step(const Block& block, std::int64_t k_offset, int set, bool first) {
  const bool seeded = config_.c_load == CLoad::early && set == 0;
  if (config_.hold == Hold::a)
    step_holding_a(block, k_offset, set, first && !seeded);
  else
    step_holding_b(block, k_offset, set, first && !seeded);
}

std::int64_t Generator::a_offset(const Block& block, int piece, std::int64_t k_offset) const {
  const std::int64_t ld = tile_.packed_a ? tile_.packed_lda : problem_.lda;
  return k_offset * ld * tile_.element_bytes + piece_of(block, piece).first * tile_.real_bytes;
}

Xbyak::RegExp Generator::b_address(const Block& block, int col, int part, std::int64_t k_offset) const {
  const std::int64_t j = block.first_col + col;
  const std::int64_t element =
      problem_.op_b == Op::none ? k_offset + j * problem_.ldb : k_offset * problem_.ldb + j;
  const auto base = rolled() ? b_step_ : b_;
  return base + static_cast<std::size_t>(element * tile_.element_bytes + part * tile_.real_bytes);
}

void Generator::step_holding_a(const Block& block, std::int64_t k_offset, int set, bool first) {
  const auto base = rolled() ? a_step_ : a_;
  const int held = block.pieces * block.cols * tile_.parts * config_.k_sets;
  int bits = 128;
  for (int piece = 0; piece < block.pieces; ++piece) {
    const auto& rows = piece_of(block, piece);
    bits = std::max(bits, rows.bits);
    load(vec(held + piece, rows.bits), rows,
         ptr[base + static_cast<std::size_t>(a_offset(block, piece, k_offset))]);
  }
  const bool embedded = embedded_broadcast(config_, block.pieces);
  const int temporaries = config_.isa == Isa::avx512 ? 2 : 1;
  for (int col = 0; col < block.cols; ++col) {
    for (int part = 0; part < tile_.parts; ++part) {
      const auto from = b_address(block, col, part, k_offset);
      const auto scalar = vec(held + block.pieces + (col * tile_.parts + part) % temporaries, bits);
      if (!embedded) broadcast(scalar, ptr[from]);
      for (int piece = 0; piece < block.pieces; ++piece) {
        const int width = piece_of(block, piece).bits;
        const auto acc = accumulator(block, set, part, piece, col);
        if (embedded)
          multiply_add(acc, vec(held + piece, width), ptr_b[from], first);
        else
          multiply_add(acc, vec(held + piece, width), vec(scalar.getIdx(), width), first);
      }
    }
    prefetch_slot();
  }
}

void Generator::step_holding_b(const Block& block, std::int64_t k_offset, int set, bool first) {
  const auto base = rolled() ? a_step_ : a_;
  const int held = block.pieces * block.cols * tile_.parts * config_.k_sets;
  int bits = 128;
  for (int piece = 0; piece < block.pieces; ++piece) bits = std::max(bits, piece_of(block, piece).bits);
  for (int col = 0; col < block.cols; ++col) {
    for (int part = 0; part < tile_.parts; ++part)
      broadcast(vec(held + col * tile_.parts + part, bits), ptr[b_address(block, col, part, k_offset)]);
    prefetch_slot();
  }
  const int temporary = held + block.cols * tile_.parts;
  const int temporaries = config_.isa == Isa::avx512 ? 2 : 1;
  for (int piece = 0; piece < block.pieces; ++piece) {
    const auto& rows = piece_of(block, piece);
    const auto from = ptr[base + static_cast<std::size_t>(a_offset(block, piece, k_offset))];
    // Rows used once: the multiply-add reads them itself if the access is exact.
    const bool direct = block.cols * tile_.parts == 1 && !rows.masked && rows.lanes * tile_.real_bytes >= 16;
    const auto value = vec(temporary + piece % temporaries, rows.bits);
    if (!direct) load(value, rows, from);
    for (int col = 0; col < block.cols; ++col)
      for (int part = 0; part < tile_.parts; ++part) {
        const auto acc = accumulator(block, set, part, piece, col);
        const auto scalar = vec(held + col * tile_.parts + part, rows.bits);
        if (direct)
          multiply_add(acc, scalar, from, first);
        else
          multiply_add(acc, scalar, value, first);
      }
  }
}

void Generator::sum_sets(const Block& block) {
  const auto sets = std::min<std::int64_t>(config_.k_sets, rolled() ? config_.k_sets : problem_.k);
  for (int set = 1; set < sets; ++set)
    for (int part = 0; part < tile_.parts; ++part)
      for (int col = 0; col < block.cols; ++col)
        for (int piece = 0; piece < block.pieces; ++piece) {
          const auto acc = accumulator(block, 0, part, piece, col);
          add(acc, acc, accumulator(block, set, part, piece, col));
        }
}

Xbyak::Xmm Generator::accumulator(const Block& block, int set, int part, int piece, int col) const {
  const int index =
      accumulator_base_ + ((set * tile_.parts + part) * block.pieces + piece) * block.cols + col;
  return vec(index, piece_of(block, piece).bits);
}

}  // namespace tilewright::columns
