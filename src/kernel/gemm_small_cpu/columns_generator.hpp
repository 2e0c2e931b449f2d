// Generates the columns kernel for one problem and config: a batch loop around pack, k loop and update of C,
// with prefetches of later problems in between. System V calling convention, AVX2 or AVX-512.
#pragma once

#include <vector>

#include "kernel/gemm_small_cpu/columns_tile.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "kernel/gemm_small_cpu/prefetch_stream.hpp"
#include "kernel/jit/x86.hpp"

namespace tilewright::columns {

// One register block of C.
struct Block {
  int first_piece = 0;
  int pieces = 0;
  std::int64_t first_col = 0;
  int cols = 0;
  bool first = false;  // of the problem
  bool last = false;   // of the problem
};

class Generator : public JitCode {
 public:
  Generator(const GemmProblem& problem, const GemmSmallCpuConfig& config);
  void generate();  // leaves executable code; entry<GemmSmallCpuFunction>() is the kernel

 private:
  // Frame slots, offsets from rsp.
  enum Slot : int {
    slot_rsp = 0,
    slot_alpha = 8,
    slot_beta = 16,
    slot_ahead_a = 24,
    slot_ahead_b = 32,
    slot_ahead_c = 40,
    slot_out = 48,
    slot_skip = 56,
    slot_columns = 64,
    slot_run = 72,  // sums: remaining products of the run
    slot_pass = 80,
    slot_left = 88,
    slot_start_a = 96,  // start of the pass
    slot_start_b = 104,
    slot_rest = 112,  // products to the end of the batch
    slot_later = 120,
    frame_bytes = 128
  };
  enum Stream { stream_a, stream_b, stream_c, stream_count };

  // gemm_small_cpu/columns_generator.cpp: the skeleton
  void prologue();
  void epilogue();
  void load_bases();
  void load_mask();
  void batch_loop();
  void problems(Store store);
  bool past_caches() const { return config_.store != Store::plain; }
  void enter_problem();
  void leave_problem();
  void problem_body();
  void constants();
  bool is_pointer() const { return problem_.layout == Layout::pointer; }
  bool is_broadcast(Stream stream) const;
  std::int64_t footprint(Stream stream) const;
  bool mostly_gaps(Stream stream) const;

  // gemm_small_cpu/columns_sums.cpp: products summed into one C
  bool is_sum() const { return problem_.sums != Sums::none; }
  bool splits_runs() const { return config_.sum_block > 0; }
  void sums();
  void begin_run();
  void prefetch_next_c();
  void begin_pass();
  void pack_pass();
  std::int64_t packed_bytes() const { return tile_.packed_lda * problem_.k * tile_.element_bytes; }
  void sum_block(const Block& block);
  void enter_product(const Block& block);
  void leave_product(const Block& block);
  void update_of_pass(const Block& block);

  // gemm_small_cpu/columns_loop.cpp: blocks and the k loop
  void straight_blocks();
  void looped_blocks();
  void row_blocks_of(std::int64_t first_col, int cols, bool first, bool last, std::int64_t iterations);
  void block(const Block& block, std::int64_t iterations);
  void start_accumulators(const Block& block);
  void resident_block(const Block& block, std::int64_t iterations);
  void resident_column(const Block& column, const Xbyak::Xmm& temporary);
  void k_loop(const Block& block, std::int64_t iterations);
  void k_step(const Block& block, std::int64_t k_offset, int set, bool first);
  void step_holding_a(const Block& block, std::int64_t k_offset, int set, bool first);
  void step_holding_b(const Block& block, std::int64_t k_offset, int set, bool first);
  void sum_sets(const Block& block);
  bool rolled() const { return k_body_ < problem_.k; }
  std::int64_t a_offset(const Block& block, int piece, std::int64_t k_offset) const;
  Xbyak::RegExp b_address(const Block& block, int col, int part, std::int64_t k_offset) const;

  // gemm_small_cpu/columns_prefetch.cpp
  void start_prefetch();
  void begin_region(std::int64_t slots, std::int64_t iterations);
  void prefetch_slot();
  void end_region();
  void prefetch_lines(Stream stream, std::int64_t lines);
  void prefetch_rest();
  bool fetches(Stream stream) const;
  std::int64_t fetch_lines(Stream stream) const;
  std::int64_t fetch_step(Stream stream) const;
  void advance_fetch(Stream stream);

  // gemm_small_cpu/columns_update.cpp: C = alpha * acc + beta * C
  void update(const Block& block);
  void combine_complex(const Block& block);
  void scale_and_add(const Block& block);
  Xbyak::Xmm old_c(const Block& block, int piece, int col);
  void add_real(const Block& block, int piece, int col);
  void add_complex(const Block& block, int piece, int col);
  void multiply_complex(const Block& block, const Xbyak::Xmm& value, int scalar);
  void load_scalars(const Block& block);
  Xbyak::Xmm scalar(const Block& block, int which, int part, int bits) const;
  bool from_ahead(const Block& block, int col) const { return block.first && col < tile_.ahead_columns; }
  void load_ahead();
  void load_ahead_registers();
  void store(const Block& block);
  Xbyak::Address c_address(const Block& block, int piece, int col);

  // gemm_small_cpu/columns_pack.cpp: scratch = op(A) for transposed A
  void pack();
  void pack_rows(std::int64_t rows);
  void transpose_units();

  // gemm_small_cpu/columns_staging.cpp: C past the caches through a line buffer
  void start_staging();
  void flush_staging(bool at_end);
  void write_lines();
  void copy_dwords(const Xbyak::Reg64& to, const Xbyak::Reg64& from, const Xbyak::Reg64& end);
  std::int64_t staging_bytes() const;

  // Instructions with their counts.
  void load(const Xbyak::Xmm& reg, const RowPiece& piece, const Xbyak::Address& from);
  void store(const Xbyak::Xmm& reg, const RowPiece& piece, const Xbyak::Address& to);
  void store_split(const Xbyak::Xmm& reg, int bytes, const Xbyak::RegExp& to);
  void broadcast(const Xbyak::Xmm& reg, const Xbyak::Address& from);
  void multiply_add(const Xbyak::Xmm& acc, const Xbyak::Xmm& x, const Xbyak::Operand& y, bool first);
  using Xbyak::CodeGenerator::add;
  void add(const Xbyak::Xmm& acc, const Xbyak::Xmm& x, const Xbyak::Operand& y);
  void swap_pairs(const Xbyak::Xmm& to, const Xbyak::Xmm& from);
  bool f64() const { return tile_.real_bytes == 8; }

  // Registers.
  Xbyak::Xmm vec(int index, int bits) const;
  Xbyak::Xmm accumulator(const Block& block, int set, int part, int piece, int col) const;
  Xbyak::Xmm result(const Block& block, int piece, int col) const;
  const RowPiece& piece_of(const Block& block, int piece) const {
    return tile_.pieces[block.first_piece + piece];
  }
  int work_register(const Block& block, int index) const;
  int ahead_register(int piece, int col) const;
  int mask_register() const { return tile_.register_count - 1; }
  int max_bits() const { return config_.vector_bits; }

  GemmProblem problem_;
  GemmSmallCpuConfig config_;
  Tile tile_;
  std::int64_t k_body_ = 0;         // k steps in the body of the k loop (k when not rolled)
  int accumulator_base_ = 0;        // first register of the accumulators
  std::int64_t scratch_bytes_ = 0;  // packed A, on the stack above the frame
  bool needs_frame_ = false;
  bool prefetching_ = false;
  Store store_ = Store::plain;  // of the loop being emitted

  Xbyak::Reg64 args_{Xbyak::Operand::RDI}, a_{Xbyak::Operand::RSI}, b_{Xbyak::Operand::RDX},
      c_{Xbyak::Operand::RCX}, count_{Xbyak::Operand::R8};
  Xbyak::Reg64 cursor_[stream_count], fetch_[stream_count], step_[stream_count];
  Xbyak::Reg64 a_step_{Xbyak::Operand::RAX}, b_step_{Xbyak::Operand::RBX}, k_count_{Xbyak::Operand::RBP},
      packed_source_{Xbyak::Operand::R12};
  std::vector<Xbyak::Reg64> saved_;
  Xbyak::Label mask_data_, ones_data_, sign_data_, pack_masks_;

  PrefetchStream streams_[stream_count], region_[stream_count];
  bool region_looped_ = false;
  std::int64_t fetch_offset_[stream_count] = {};
};

}  // namespace tilewright::columns
