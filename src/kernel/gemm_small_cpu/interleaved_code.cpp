// The outer phases of interleaved kernels: prologue, block and slice loops, scalars, epilogue and constants.
#if defined(__x86_64__)

#include "kernel/gemm_small_cpu/interleaved_code.hpp"

#include <cstring>
#include <tuple>

namespace tilewright {
namespace {

std::int64_t blocks_in(const std::array<Strip, 2>& strips) { return strips[0].count + strips[1].count; }

}  // namespace

InterleavedCode::InterleavedCode(const GemmProblem& problem, const GemmSmallCpuConfig& config)
    : VectorCode(config.isa, config.vector_bits, problem.dtype == DType::f32 || problem.dtype == DType::c64,
                 frame(Frame::mask_vector)),
      problem_(problem),
      config_(config),
      g_(problem, config.vector_bits),
      multiplies_(problem.alpha != Scalar::zero && problem.k > 0),
      k_steps_(config.k_unroll == 0 ? problem.k : config.k_unroll),
      row_strips_(deal(problem.m, config.mr)),
      column_strips_(deal(problem.n, config.nr)),
      row_blocks_(blocks_in(row_strips_)),
      column_blocks_(blocks_in(column_strips_)) {
  const bool conj_a = problem.op_a == Op::conj_trans;
  const bool conj_b = problem.op_b == Op::conj_trans;
  const bool conj_held = holds_a() ? conj_a : conj_b;
  const bool conj_streamed = holds_a() ? conj_b : conj_a;
  if (conj_held)
    product_signs_ = conj_streamed ? Signs::minus_minus : Signs::plus_plus;
  else
    product_signs_ = conj_streamed ? Signs::plus_minus : Signs::minus_plus;
}

void InterleavedCode::generate() {
  const bool nothing_to_do =
      problem_.m == 0 || problem_.n == 0 || (!multiplies_ && problem_.beta == Scalar::one);
  if (nothing_to_do) {
    ret();
  } else {
    plan_prefetch();
    prologue();
    block_loop();
    epilogue();
    constants();
  }
  finish();
}

void InterleavedCode::prologue() {
  for (const auto& saved : {rbx, rbp, r12, r13, r14, r15}) push(saved);
  mov(rax, rsp);
  sub(rsp, Frame::bytes);
  and_(rsp, -slot_bytes);
  mov(frame64(Frame::caller_stack), rax);
  const auto argument = [this](auto GemmSmallCpuArguments::*member) {
    const GemmSmallCpuArguments none{};
    const auto offset = reinterpret_cast<const char*>(&(none.*member)) - reinterpret_cast<const char*>(&none);
    return Xbyak::util::qword[rdi + offset];
  };
  const auto keep = [&](int at, auto GemmSmallCpuArguments::*member) {
    mov(rax, argument(member));
    mov(frame64(at), rax);
  };
  keep(Frame::count, &GemmSmallCpuArguments::count);
  if (general(problem_.alpha)) {
    keep(Frame::alpha_values, &GemmSmallCpuArguments::alpha);
    keep(Frame::alpha_stride, &GemmSmallCpuArguments::alpha_stride);
  }
  if (general(problem_.beta)) {
    keep(Frame::beta_values, &GemmSmallCpuArguments::beta);
    keep(Frame::beta_stride, &GemmSmallCpuArguments::beta_stride);
  }
  mov(slice_b_, argument(&GemmSmallCpuArguments::b));
  mov(slice_c_, argument(&GemmSmallCpuArguments::c));
  mov(slice_a_, argument(&GemmSmallCpuArguments::a));
  if (config_.store == Store::non_temporal) {
    mov(rax, slice_c_);
    and_(rax, g_.vector_bytes - 1);
    mov(frame64(Frame::unaligned), rax);
  }
  cmp(frame64(Frame::count), 0);
  jle(end_, T_NEAR);
  for (const auto& [kind, at, values, stride] :
       {std::tuple{problem_.alpha, int(Frame::alpha), int(Frame::alpha_values), int(Frame::alpha_stride)},
        std::tuple{problem_.beta, int(Frame::beta), int(Frame::beta_values), int(Frame::beta_stride)}}) {
    if (!general(kind)) continue;
    Xbyak::Label per_problem;
    cmp(frame64(stride), 0);
    jne(per_problem, T_NEAR);
    mov(rax, frame64(values));
    broadcast(v(0), ptr[rax], g_.element_bytes);
    split_scalar(at);
    L(per_problem);
  }
  start_prefetch();
}

void InterleavedCode::block_loop() {
  Xbyak::Label next_block;
  L(next_block);
  weight = 1.0 / double(g_.block);
  mov(rax, g_.block);
  mov(lanes_left_, frame64(Frame::count));
  cmp(lanes_left_, rax);
  cmovg(lanes_left_, rax);
  sub(frame64(Frame::count), rax);
  for (int i = 0; i < 5; ++i) count_other();
  whole_slices();
  masked_slices();
  weight = 1.0 / double(g_.block);
  const std::int64_t walked = (g_.block + g_.lanes - 1) / g_.lanes * g_.vector_bytes;
  add_to(slice_a_, g_.a.block_bytes - walked);
  add_to(slice_b_, g_.b.block_bytes - walked);
  add_to(slice_c_, g_.c.block_bytes - walked);
  cmp(frame64(Frame::count), 0);
  jg(next_block, T_NEAR);
  count_other(), count_other();
}

void InterleavedCode::whole_slices() {
  if (g_.slices == 0) return;
  Xbyak::Label next_slice, none_left;
  if (config_.store == Store::non_temporal) {
    cmp(frame64(Frame::unaligned), 0);
    jne(none_left, T_NEAR);
  }
  cmp(lanes_left_, g_.lanes);
  jl(none_left, T_NEAR);
  L(next_slice);
  weight = 1.0 / double(g_.lanes);
  slice(Lanes::whole);
  advance_prefetch_to_next_slice();
  sub(lanes_left_, g_.lanes);
  cmp(lanes_left_, g_.lanes);
  jge(next_slice, T_NEAR);
  for (int i = 0; i < 3; ++i) count_other();
  L(none_left);
}

void InterleavedCode::masked_slices() {
  weight = 0;
  Xbyak::Label next_slice, none_left;
  test(lanes_left_, lanes_left_);
  jz(none_left, T_NEAR);
  L(next_slice);
  mov(ecx, g_.lanes);
  cmp(lanes_left_, rcx);
  cmovl(rcx, lanes_left_);
  mov(frame64(Frame::tail_lanes), rcx);
  set_mask();
  slice(Lanes::masked);
  sub(lanes_left_, frame64(Frame::tail_lanes));
  jnz(next_slice, T_NEAR);
  L(none_left);
}

// Writes the mask of the first rcx problems to k1 or the frame. Clobbers rax, rcx and v0.
void InterleavedCode::set_mask() {
  if (opmask_) {
    if (g_.complex) shl(ecx, 1);
    mov(eax, 1);
    shl(eax, cl);
    dec(eax);
    kmovw(k1, eax);
  } else {
    const int element_bytes = g_.element_bytes;
    shl(ecx, element_bytes == 4 ? 2 : element_bytes == 8 ? 3 : 4);
    lea(rax, ptr[rip + constants_]);
    sub(rax, rcx);
    vmovups(v(0), ptr[rax + 2 * slot_bytes]);  // 32 bytes of ones before this place, zeros after it
    vmovups(frame(Frame::mask_vector), v(0));
  }
}

// C = alpha * A * B + beta * C of a slice by register blocks, columns outermost: a panel of B stays in L1.
void InterleavedCode::slice(Lanes lanes) {
  load_scalars(lanes);
  mov(block_b_, slice_b_);
  mov(block_c_, slice_c_);
  for (const Strip& columns : column_strips_)
    repeat(columns.count, frame64(Frame::column_blocks), [&] {
      mov(block_a_, slice_a_);
      for (const Strip& rows : row_strips_)
        repeat(rows.count, row_blocks_left_, [&] {
          register_block(rows.size, columns.size, lanes);
          if (row_blocks_ == 1) return;
          add_to(block_a_, rows.size * g_.a.row_step);
          add_to(block_c_, rows.size * g_.c.row_step);
        });
      if (column_blocks_ == 1) return;
      add_to(block_b_, columns.size * g_.b.col_step);
      add_to(block_c_, columns.size * g_.c.col_step - (row_blocks_ == 1 ? 0 : problem_.m * g_.c.row_step));
    });
  add_to(slice_a_, g_.vector_bytes);
  add_to(slice_b_, g_.vector_bytes);
  add_to(slice_c_, g_.vector_bytes);
}

void InterleavedCode::epilogue() {
  L(end_);
  if (config_.store == Store::non_temporal) sfence();
  vzeroupper();
  mov(rsp, frame64(Frame::caller_stack));
  for (const auto& saved : {r15, r14, r13, r12, rbp, rbx}) pop(saved);
  ret();
}

// 64 bytes of (1, 1) or (1, -1) pairs for the product's signs, then ones and zeros from which AVX2's masks
// are loaded.
void InterleavedCode::constants() {
  align(slot_bytes);
  L(constants_);
  const bool conj_held = product_signs_ == Signs::plus_plus || product_signs_ == Signs::minus_minus;
  for (int at = 0; at < slot_bytes; at += g_.single ? 8 : 16)
    for (const double value : {1.0, conj_held ? -1.0 : 1.0}) {
      std::uint64_t bits = 0;
      const float narrow = static_cast<float>(value);
      g_.single ? std::memcpy(&bits, &narrow, sizeof narrow) : std::memcpy(&bits, &value, sizeof value);
      g_.single ? dd(static_cast<std::uint32_t>(bits)) : dq(bits);
    }
  for (int i = 0; i < 16; ++i) dd(0xffffffffu);
  for (int i = 0; i < 16; ++i) dd(0);
}

// Loads scalars that differ per problem, slice by slice.
void InterleavedCode::load_scalars(Lanes lanes) {
  if (general(problem_.alpha)) load_scalar_values(ScalarSlot::alpha, lanes);
  if (general(problem_.beta)) load_scalar_values(ScalarSlot::beta, lanes);
}

void InterleavedCode::load_scalar_values(ScalarSlot slot, Lanes lanes) {
  const bool is_alpha = slot == ScalarSlot::alpha;
  const int values = is_alpha ? Frame::alpha_values : Frame::beta_values;
  const int stride = is_alpha ? Frame::alpha_stride : Frame::beta_stride;
  Xbyak::Label one_for_all;
  cmp(frame64(stride), 0);
  je(one_for_all, T_NEAR);
  count_other(), count_other();
  mov(rax, frame64(values));
  load(v(0), ptr[rax], lanes);
  if (lanes == Lanes::whole) {
    add(rax, g_.vector_bytes);
  } else {
    imul(rcx, frame64(Frame::tail_lanes), g_.element_bytes);
    add(rax, rcx);
  }
  mov(frame64(values), rax);
  split_scalar(is_alpha ? Frame::alpha : Frame::beta);
  L(one_for_all);
}

// Splits v0 into the frame at `at`: real parts, imaginary parts and the mask of nonzero values.
void InterleavedCode::split_scalar(int at) {
  const Xmm value = v(0), zeros = v(1), mask = v(2), other = v(3);
  zero(zeros);
  nonzero_mask(mask, value, zeros);
  if (g_.complex) {
    swap_pairs(other, mask);
    bit_or(mask, mask, other);
    duplicate_im(other, value);
    vmovups(frame(at + slot_bytes), other);
    duplicate_re(value, value);
  }
  vmovups(frame(at), value);
  vmovups(frame(at + 2 * slot_bytes), mask);
}

void InterleavedCode::add_to(const Xbyak::Reg64& reg, std::int64_t bytes) {
  if (bytes == 0) return;
  count_other();
  if (bytes == static_cast<std::int32_t>(bytes)) {
    add(reg, static_cast<std::uint32_t>(bytes));
  } else {
    mov(rax, bytes);
    add(reg, rax);
  }
}

namespace {

class InterleavedKernel : public GemmSmallCpuKernel {
 public:
  InterleavedKernel(const GemmProblem& problem, const GemmSmallCpuConfig& config) : code_(problem, config) {
    code_.generate();
    config_ = config;
    counts_ = code_.counts();
    function_ = code_.entry<GemmSmallCpuFunction>();
  }

 private:
  InterleavedCode code_;
};

}  // namespace

std::shared_ptr<const GemmSmallCpuKernel> generate_interleaved(const GemmProblem& problem,
                                                               const GemmSmallCpuConfig& config) {
  return std::make_shared<InterleavedKernel>(problem, config);
}

}  // namespace tilewright

#endif
