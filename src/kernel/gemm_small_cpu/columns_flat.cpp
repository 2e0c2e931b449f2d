// Periods of whole vectors: C(e) = sum_p A(a(e, p)) * B(b(e, p)) for consecutive elements e of the batch.
#include "kernel/gemm_small_cpu/columns_flat.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tilewright::columns {
namespace {

int vector_bytes_of(Isa isa) { return isa == Isa::avx512 ? 64 : 32; }

// The elements of the batch in a vector.
struct FlatRun {
  const GemmProblem& problem;
  int lanes;
  FlatRun(const GemmProblem& p, Isa isa)
      : problem(p), lanes(static_cast<int>(vector_bytes_of(isa) / size_bytes(p.dtype))) {}
};

// With fewer vectors per iteration the loop overhead would show.
constexpr int least_vectors = 4;

// More elements would make long code, with an index vector per step.
constexpr int most_elements = 64;
constexpr int most_steps = 8;

int problems_per_period(const FlatRun& run) {
  const int elements = static_cast<int>(run.problem.m * run.problem.n);
  const int problems = run.lanes / std::gcd(run.lanes, elements);
  const int vectors = problems * elements / run.lanes;
  return problems * std::max(1, least_vectors / vectors);
}

// Returns the offsets in A (or B) that step p needs for each lane of a vector of C, within the period.
FlatGenerator::Lanes lanes_of_a(const FlatRun& run, int vector, int p) {
  const GemmProblem& problem = run.problem;
  FlatGenerator::Lanes lanes;
  for (int lane = 0; lane < run.lanes; ++lane) {
    const std::int64_t e = vector * run.lanes + lane, elements = problem.m * problem.n;
    const std::int64_t i = e % elements % problem.m;
    const std::int64_t within = problem.op_a == Op::none ? i + p * problem.m : p + i * problem.k;
    lanes.push_back(static_cast<int>(e / elements * problem.m * problem.k + within));
  }
  return lanes;
}

FlatGenerator::Lanes lanes_of_b(const FlatRun& run, int vector, int p) {
  const GemmProblem& problem = run.problem;
  FlatGenerator::Lanes lanes;
  for (int lane = 0; lane < run.lanes; ++lane) {
    const std::int64_t e = vector * run.lanes + lane, elements = problem.m * problem.n;
    const std::int64_t j = e % elements / problem.m;
    const std::int64_t within = problem.op_b == Op::none ? p + j * problem.k : j + p * problem.n;
    lanes.push_back(static_cast<int>(e / elements * problem.k * problem.n + within));
  }
  return lanes;
}

// A permutation reads at most two vectors: with 512 bits neighbours, with 256 bits any two.
bool within_two_vectors(const FlatRun& run, Isa isa) {
  const GemmProblem& problem = run.problem;
  const int vectors = static_cast<int>(problems_per_period(run) * problem.m * problem.n / run.lanes);
  const auto near = [&](const FlatGenerator::Lanes& lanes) {
    const auto [lowest, highest] = std::minmax_element(lanes.begin(), lanes.end());
    int second = *highest;
    for (const int lane : lanes)
      if (lane >= *lowest + run.lanes) second = std::min(second, lane);
    return *highest - (isa == Isa::avx512 ? *lowest + run.lanes : second) < run.lanes;
  };
  for (int vector = 0; vector < vectors; ++vector)
    for (int p = 0; p < problem.k; ++p)
      if (!near(lanes_of_a(run, vector, p)) || !near(lanes_of_b(run, vector, p))) return false;
  return true;
}

}  // namespace

std::string flat_refusal(const GemmProblem& p, Isa isa) {
  if (isa == Isa::portable) return "problems side by side in a vector are generated code";
  if (is_complex(p.dtype)) return "problems side by side in a vector are real";
  if (p.layout != Layout::strided) return "problems side by side in a vector come from a strided batch";
  if (p.alpha != Scalar::one || p.beta == Scalar::general)
    return "problems side by side take alpha = 1, beta = 0 or 1";
  const bool packed = p.lda == p.a_rows() && p.ldb == p.b_rows() && p.ldc == p.m && p.stride_a == p.m * p.k &&
                      p.stride_b == p.k * p.n && p.stride_c == p.m * p.n;
  if (!packed) return "problems side by side in a vector are packed without gaps";
  if (p.m * p.n > most_elements || p.k > most_steps)
    return "problems side by side in a vector have at most 64 elements of C and 8 steps";
  const FlatRun run(p, isa);
  if (problems_per_period(run) * std::min(p.m * p.k, p.k * p.n) < run.lanes)
    return "a period of A or B fills less than a vector";
  if (!within_two_vectors(run, isa))
    return "the elements a vector of C needs lie further apart than two vectors";
  return "";
}

FlatGenerator::FlatGenerator(const GemmProblem& problem, const GemmSmallCpuConfig& config,
                             GemmSmallCpuFunction rest)
    : problem_(problem), config_(config), rest_(rest) {
  real_bytes_ = static_cast<int>(size_bytes(problem.dtype));
  vector_bytes_ = vector_bytes_of(config.isa);
  value_registers_ = has_wide_permutations() ? 10 : 8;
  lanes_ = vector_bytes_ / real_bytes_;
  problems_ = problems_per_period(FlatRun(problem, config.isa));
  vectors_ = static_cast<int>(problems_ * problem.m * problem.n / lanes_);
  available_[operand_a] = problems_ * problem.m * problem.k;
  available_[operand_b] = problems_ * problem.k * problem.n;
}

// rsi, rdx, rcx: A, B, C; r8: remaining whole periods; rdi: the caller's arguments.
void FlatGenerator::emit() {
  Xbyak::Label rest, plain;
  table_data_ = Xbyak::Label();
  counts() = {};
  mov(rsi, ptr[rdi + offsetof(GemmSmallCpuArguments, a)]);
  mov(r10, ptr[rdi + offsetof(GemmSmallCpuArguments, b)]);
  mov(rcx, ptr[rdi + offsetof(GemmSmallCpuArguments, c)]);
  mov(rax, ptr[rdi + offsetof(GemmSmallCpuArguments, count)]);
  cmp(rax, problems_);
  jl(rest, T_NEAR);
  xor_(edx, edx);
  mov(r9d, problems_);
  div(r9);
  mov(r8, rax);
  mov(rdx, r10);
  if (config_.store == Store::non_temporal) {
    test(rcx, 63);
    jnz(plain, T_NEAR);
    period_loop(true);
    sfence();
    jmp(rest, T_NEAR);
    L(plain);
  }
  counts() = {};
  period_loop(false);
  L(rest);
  vzeroupper();
  call_rest();
  index_tables();
}

// The first pass finds the index vectors, the second keeps them in registers.
void FlatGenerator::generate() {
  emit();
  restart();
  keep_tables();
  emit();
  for (double* count : {&counts().instructions, &counts().loads, &counts().stores, &counts().multiply_adds,
                        &counts().prefetches})
    *count /= problems_;
  finish();
}

void FlatGenerator::period_loop(bool stream) {
  for (const auto& [lanes, reg] : registers_)
    vmovups(vec(reg), ptr[rip + table_data_ + tables_[lanes] * vector_bytes_]);
  Xbyak::Label loop;
  align(64);
  L(loop);
  period_body(stream);
  add(rsi, static_cast<std::uint32_t>(problems_ * problem_.m * problem_.k * real_bytes_));
  add(rdx, static_cast<std::uint32_t>(problems_ * problem_.k * problem_.n * real_bytes_));
  add(rcx, static_cast<std::uint32_t>(vectors_ * vector_bytes_));
  dec(r8);
  counts().instructions += 5;
  jnz(loop, T_NEAR);
}

void FlatGenerator::period_body(bool stream) {
  const auto prefetch = [&](const Xbyak::Reg64& base, std::int64_t bytes, int vector) {
    const auto lines = (bytes + 63) / 64;
    for (auto line = lines * vector / vectors_; line < lines * (vector + 1) / vectors_; ++line) {
      prefetcht0(ptr[base + static_cast<std::size_t>(config_.prefetch_bytes + line * 64)]);
      count_prefetch();
    }
  };
  const FlatRun run(problem_, config_.isa);
  forget_values();
  for (int vector = 0; vector < vectors_; ++vector) {
    const Xbyak::Ymm acc = vec(vector % 2);
    for (int p = 0; p < problem_.k; ++p) {
      const Xbyak::Ymm a = gather({operand_a, lanes_of_a(run, vector, p)});
      const Xbyak::Ymm b = gather({operand_b, lanes_of_b(run, vector, p)});
      count_multiply_add(false);
      if (p == 0)
        real_bytes_ == 8 ? vmulpd(acc, a, b) : vmulps(acc, a, b);
      else
        real_bytes_ == 8 ? vfmadd231pd(acc, a, b) : vfmadd231ps(acc, a, b);
    }
    const auto c = ptr[rcx + vector * vector_bytes_];
    if (problem_.beta == Scalar::one) {
      count_load();
      real_bytes_ == 8 ? vaddpd(acc, acc, c) : vaddps(acc, acc, c);
    }
    count_store();
    stream ? vmovntps(c, acc) : vmovups(c, acc);
    if (config_.prefetch_bytes == 0) continue;
    if (config_.prefetch_a) prefetch(rsi, available_[operand_a] * real_bytes_, vector);
    if (config_.prefetch_b) prefetch(rdx, available_[operand_b] * real_bytes_, vector);
    if (config_.prefetch_c && !stream) prefetch(rcx, std::int64_t(vectors_) * vector_bytes_, vector);
  }
}

// Runs the remaining problems through the ordinary kernel, with a copy of the arguments.
void FlatGenerator::call_rest() {
  constexpr int argument_bytes = (sizeof(GemmSmallCpuArguments) + 15) / 16 * 16;
  Xbyak::Label done;
  mov(rax, ptr[rdi + offsetof(GemmSmallCpuArguments, count)]);
  xor_(edx, edx);
  mov(r9d, problems_);
  mov(r10, ptr[rdi + offsetof(GemmSmallCpuArguments, b)]);
  mov(r11, rax);
  div(r9);
  test(rdx, rdx);
  jz(done, T_NEAR);
  sub(rsp, argument_bytes + 8);
  mov(ptr[rsp + offsetof(GemmSmallCpuArguments, count)], rdx);
  sub(r11, rdx);  // problems done
  const auto advanced = [&](std::size_t pointer, std::size_t stride) {
    mov(rax, ptr[rdi + stride]);
    mov(ptr[rsp + stride], rax);
    imul(rax, r11);
    add(rax, ptr[rdi + pointer]);
    mov(ptr[rsp + pointer], rax);
  };
  advanced(offsetof(GemmSmallCpuArguments, a), offsetof(GemmSmallCpuArguments, stride_a));
  advanced(offsetof(GemmSmallCpuArguments, b), offsetof(GemmSmallCpuArguments, stride_b));
  advanced(offsetof(GemmSmallCpuArguments, c), offsetof(GemmSmallCpuArguments, stride_c));
  mov(rdi, rsp);
  mov(rax, reinterpret_cast<std::uint64_t>(rest_));
  call(rax);
  add(rsp, argument_bytes + 8);
  L(done);
  ret();
}

}  // namespace tilewright::columns
