// Generates interleaved kernels: C(i,j) += A(i,p) * B(p,j) where every element is a vector of neighbouring
// problems. One function per phase: block loop > slice loop > register blocks > k loop > C update; the code
// is emitted for whole vectors and, masked, for the rest of a block or run.
#pragma once

#include <vector>

#include "kernel/gemm_small_cpu/interleaved.hpp"
#include "kernel/gemm_small_cpu/interleaved_vector.hpp"

namespace tilewright {

// Byte offsets in the stack frame; vectors first, since the frame is aligned to them.
struct InterleavedFrame {
  enum : int {
    alpha = 0,  // re (or the real number), im, nonzero mask: 64 bytes each
    beta = 192,
    mask_vector = 384,
    caller_stack = 448,
    count = 456,
    alpha_values = 464,  // the values of the next slice
    alpha_stride = 472,  // 0: one value for all, already in `alpha`
    beta_values = 480,
    beta_stride = 488,
    prefetch_slices = 496,  // whole slices until the prefetched stream changes blocks
    column_blocks = 504,
    tail_lanes = 512,
    unaligned = 520,  // C is not aligned for non-temporal stores
    bytes = 576,
  };
};
inline constexpr int slot_bytes = 64;

// The prefetch stream of one operand, and how its lines are dealt to a slice's register blocks: `before`
// lines ahead of each k loop, `per_iteration` in each of its iterations.
struct PrefetchStream {
  Xbyak::Reg64 pointer;
  const InterleavedOperand* operand = nullptr;
  std::int64_t before = 0;
  std::int64_t per_iteration = 0;
};

class InterleavedCode : public VectorCode {
 public:
  InterleavedCode(const GemmProblem& problem, const GemmSmallCpuConfig& config);
  void generate();

 private:
  using Frame = InterleavedFrame;
  // Place `index` of `count` places in an iteration of the k loop; count = 0: nothing is issued.
  struct Share {
    std::int64_t index = 0;
    std::int64_t count = 0;
  };
  enum class ScalarSlot : std::uint8_t { alpha, beta };

  // Phases, outermost first.
  void prologue();
  void block_loop();
  void whole_slices();
  void masked_slices();
  void slice(Lanes lanes);
  void register_block(int rows, int cols, Lanes lanes);
  void k_loop(int rows, int cols, Lanes lanes);
  void k_step(int rows, int cols, Lanes lanes, const Xbyak::RegExp& a, const Xbyak::RegExp& b, bool first,
              Share share);
  void start_accumulators(int rows, int cols, Lanes lanes);
  void update_c(int rows, int cols, Lanes lanes);
  void update_element(int i, int j, int rows, Lanes lanes);
  void epilogue();
  void constants();

  void load_scalars(Lanes lanes);
  void load_scalar_values(ScalarSlot slot, Lanes lanes);
  void split_scalar(int at);
  void set_mask();

  void plan_prefetch();
  void start_prefetch();
  void prefetch_lines(PrefetchStream& stream, std::int64_t first, std::int64_t last);
  void prefetch_share(Share share);
  void advance_prefetch_in_block(std::int64_t (*lines)(const PrefetchStream&));
  void advance_prefetch_to_next_slice();

  template <class Body>
  void repeat(int count, const Xbyak::Operand& counter, Body&& body);
  void add_to(const Xbyak::Reg64& reg, std::int64_t bytes);
  static Address frame(int offset) { return Xbyak::util::ptr[Xbyak::util::rsp + offset]; }
  static Address frame64(int offset) { return Xbyak::util::qword[Xbyak::util::rsp + offset]; }
  bool prefetches(Lanes lanes) const { return lanes == Lanes::whole && !streams_.empty(); }
  bool general(Scalar kind) const { return kind == Scalar::general; }

  int components() const { return g_.complex ? 2 : 1; }
  bool holds_a() const { return config_.hold == Hold::a; }
  Xmm accumulator(int i, int j, int rows, int part = 0) const {
    return v((j * rows + i) * components() + part);
  }
  Address c_element(int i, int j) const {
    return Xbyak::util::ptr[block_c_ + i * g_.c.row_step + j * g_.c.col_step];
  }

  const GemmProblem problem_;
  const GemmSmallCpuConfig config_;
  const InterleavedGeometry g_;
  const bool multiplies_;       // alpha == 0 and k == 0 never read A and B
  const std::int64_t k_steps_;  // in one iteration of the k loop
  const std::array<Strip, 2> row_strips_, column_strips_;
  const std::int64_t row_blocks_, column_blocks_;
  Signs product_signs_ = Signs::minus_plus;
  std::vector<PrefetchStream> streams_;
  int first_operand_ = 0;  // vector registers: accumulators, then the held operand, then scratch
  int first_scratch_ = 0;
  Xbyak::Label constants_, end_;

  const Xbyak::Reg64 slice_a_{Xbyak::util::rdi}, slice_b_{Xbyak::util::rsi}, slice_c_{Xbyak::util::rdx};
  const Xbyak::Reg64 block_a_{Xbyak::util::r8}, block_b_{Xbyak::util::r9}, block_c_{Xbyak::util::r10};
  const Xbyak::Reg64 step_a_{Xbyak::util::r11}, step_b_{Xbyak::util::rcx}, steps_left_{Xbyak::util::rbx};
  const Xbyak::Reg64 lanes_left_{Xbyak::util::rbp}, row_blocks_left_{Xbyak::util::r15};
};

// Emits the body once, in a loop of `count` iterations if that is more than one.
template <class Body>
void InterleavedCode::repeat(int count, const Xbyak::Operand& counter, Body&& body) {
  if (count == 0) return;
  if (count == 1) return body();
  Xbyak::Label again;
  mov(counter, count);
  L(again);
  weight *= count;
  body();
  dec(counter);
  jnz(again, T_NEAR);
  count_other(), count_other();
  weight /= count;
}

}  // namespace tilewright
