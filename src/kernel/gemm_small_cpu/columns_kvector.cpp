// acc(col) holds, side by side, the sums over p = 0, s, 2s, ... then p = 1, s+1, ... for s steps per vector.
#include "kernel/gemm_small_cpu/columns_kvector.hpp"

#include <algorithm>
#include <cstddef>

namespace tilewright::columns {
namespace {

constexpr int control_register = 31;
constexpr int a_register = 30;
constexpr int first_work_register = 26;  // zmm26 .. zmm29
constexpr std::int64_t instruction_limit = 3000;

}  // namespace

int k_steps_per_vector(const GemmProblem& p, Isa isa, std::string* reason) {
  const auto refuse = [&](const char* why) {
    if (reason != nullptr) *reason = why;
    return 0;
  };
  const std::int64_t column_bytes = p.m * size_bytes(p.dtype);
  if (isa != Isa::avx512 || is_complex(p.dtype))
    return refuse("k steps side by side are real and need AVX-512");
  if (p.layout == Layout::pointer) return refuse("k steps side by side come from a strided batch");
  if (column_bytes != 32 && !(column_bytes == 16 && p.dtype == DType::f32))
    return refuse("k steps side by side need columns of A of 32 bytes, or of 16 in f32");
  if (p.op_a != Op::none || p.op_b != Op::none || p.lda != p.m)
    return refuse("k steps side by side need packed columns of A and B as stored");
  if (p.alpha != Scalar::one || p.beta == Scalar::general)
    return refuse("k steps side by side take alpha = 1, beta = 0 or 1");
  const int steps = static_cast<int>(64 / column_bytes);
  if (p.k < steps || p.n > 12)
    return refuse("k steps side by side need k of a vector and at most 12 columns");
  if (p.k / steps * p.n * 3 > instruction_limit)
    return refuse("k steps side by side are unrolled, and k * n is too large");
  return steps;
}

KVectorGenerator::KVectorGenerator(const GemmProblem& problem, const GemmSmallCpuConfig& config)
    : problem_(problem),
      config_(config),
      real_bytes_(size_bytes(problem.dtype)),
      steps_(config.k_per_vector) {
  sets_ =
      std::clamp<std::int64_t>(std::min<std::int64_t>(config.k_sets, problem.k / steps_), 1, 24 / problem.n);
}

Xbyak::Zmm KVectorGenerator::accumulator(std::int64_t set, std::int64_t col) const {
  return Xbyak::Zmm(static_cast<int>(set * problem_.n + col));
}

// rsi, rdx, rcx: A, B, C; r8: remaining problems.
void KVectorGenerator::generate() {
  Xbyak::Label loop, done;
  prologue();
  test(r8, r8);
  jle(done, T_NEAR);
  align(64);
  L(loop);
  const std::int64_t groups = problem_.k / steps_;
  const std::int64_t bytes[] = {problem_.m * problem_.k, ((problem_.n - 1) * problem_.ldb + problem_.k),
                                ((problem_.n - 1) * problem_.ldc + problem_.m)};
  const bool wanted[] = {config_.prefetch_a && problem_.stride_a != 0,
                         config_.prefetch_b && problem_.stride_b != 0, config_.prefetch_c};
  for (int i = 0; i < 3; ++i)
    streams_[i] =
        PrefetchStream(config_.prefetch_bytes > 0 && wanted[i] ? (bytes[i] * real_bytes_ + 63) / 64 : 0,
                       groups * problem_.n);
  for (std::int64_t i = 0; i < groups; ++i) group(i * steps_, i, false);
  if (problem_.k % steps_ != 0) group(problem_.k - steps_, groups, true);
  reduce_and_store();
  add(rsi, r9);
  add(rdx, r10);
  add(rcx, r11);
  dec(r8);
  counts().instructions += 5;
  jnz(loop, T_NEAR);
  L(done);
  vzeroupper();
  ret();
  constants();
  finish();
}

void KVectorGenerator::prologue() {
  mov(rsi, ptr[rdi + offsetof(GemmSmallCpuArguments, a)]);
  mov(rdx, ptr[rdi + offsetof(GemmSmallCpuArguments, b)]);
  mov(rcx, ptr[rdi + offsetof(GemmSmallCpuArguments, c)]);
  mov(r8, ptr[rdi + offsetof(GemmSmallCpuArguments, count)]);
  // Kept in registers: loads would wait for stores of C with the same low address bits.
  mov(r9, ptr[rdi + offsetof(GemmSmallCpuArguments, stride_a)]);
  mov(r10, ptr[rdi + offsetof(GemmSmallCpuArguments, stride_b)]);
  mov(r11, ptr[rdi + offsetof(GemmSmallCpuArguments, stride_c)]);
  if (!f64()) vmovups(Xbyak::Zmm(control_register), ptr[rip + control_data_]);
  // The last, shorter group starts early and masks the steps that are already summed.
  const std::int64_t rest = problem_.k % steps_;
  const std::int64_t skipped = (steps_ - rest) * problem_.m;
  mov(eax, static_cast<std::uint32_t>(0xffffu << skipped));
  kmovw(k1, eax);
}

void KVectorGenerator::group(std::int64_t p, std::int64_t index, bool masked) {
  const Xbyak::Zmm a(a_register);
  const auto from = ptr[rsi + static_cast<std::size_t>(p * problem_.m * real_bytes_)];
  count_load();
  if (masked)
    f64() ? vmovupd(a | k1 | T_z, from) : vmovups(a | k1 | T_z, from);
  else
    vmovups(a, from);
  for (std::int64_t col = 0; col < problem_.n; ++col) {
    const Xbyak::Zmm b(first_work_register + static_cast<int>(col % 4));
    spread_lanes(b, ptr[rdx + static_cast<std::size_t>((p + col * problem_.ldb) * real_bytes_)]);
    const auto acc = accumulator(index % sets_, col);
    count_multiply_add(false);
    if (index < sets_)
      f64() ? vmulpd(acc, b, a) : vmulps(acc, b, a);
    else
      f64() ? vfmadd231pd(acc, b, a) : vfmadd231ps(acc, b, a);
    prefetch();
  }
}

// steps_ consecutive elements of B, each repeated over the lanes of its step.
void KVectorGenerator::spread_lanes(const Xbyak::Zmm& to, const Xbyak::Address& from) {
  count_load(), count_other();
  if (f64()) {
    vbroadcastf64x2(to, from);
    vpermilpd(to, to, 0xF0);
    return;
  }
  steps_ == 4 ? vbroadcastf32x4(to, from) : vbroadcastsd(to, from);
  vpermilps(to, to, Xbyak::Zmm(control_register));
}

void KVectorGenerator::reduce_and_store() {
  const auto sum = [&](const auto& x, const auto& y) {
    count_other();
    f64() ? vaddpd(x, x, y) : vaddps(x, x, y);
  };
  for (std::int64_t col = 0; col < problem_.n; ++col) {
    const auto acc = accumulator(0, col);
    for (std::int64_t set = 1; set < sets_; ++set) sum(acc, accumulator(set, col));
    const Xbyak::Ymm low(acc.getIdx()), high(first_work_register + static_cast<int>(col % 4));
    vextractf64x4(high, acc, 1);
    count_other();
    sum(low, high);
    if (steps_ == 4) {
      vextractf32x4(Xbyak::Xmm(high.getIdx()), low, 1);
      count_other();
      sum(Xbyak::Xmm(low.getIdx()), Xbyak::Xmm(high.getIdx()));
    }
  }
  for (std::int64_t col = 0; col < problem_.n; ++col) {
    const int index = accumulator(0, col).getIdx();
    const auto value = steps_ == 4 ? Xbyak::Xmm(index) : static_cast<Xbyak::Xmm>(Xbyak::Ymm(index));
    const auto c = ptr[rcx + static_cast<std::size_t>(col * problem_.ldc * real_bytes_)];
    if (problem_.beta == Scalar::one) {
      count_load();
      f64() ? vaddpd(value, value, c) : vaddps(value, value, c);
    }
    count_store();
    vmovups(c, value);
  }
}

void KVectorGenerator::prefetch() {
  const Xbyak::Reg64 bases[] = {rsi, rdx, rcx};
  for (int i = 0; i < 3; ++i)
    for (auto lines = streams_[i].take(); lines > 0; --lines) {
      prefetcht0(ptr[bases[i] + static_cast<std::size_t>(config_.prefetch_bytes + fetched_[i])]);
      count_prefetch();
      fetched_[i] += 64;
    }
}

void KVectorGenerator::constants() {
  align(64);
  L(control_data_);
  for (std::int64_t lane = 0; lane < 16; ++lane) dd(static_cast<std::uint32_t>(lane / (16 / steps_)));
}

}  // namespace tilewright::columns
