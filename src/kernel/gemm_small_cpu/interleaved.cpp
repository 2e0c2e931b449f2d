// Space, default config and maker of the interleaved kernels of gemm_small_cpu.
#include "kernel/gemm_small_cpu/interleaved.hpp"

#include <algorithm>
#include <limits>

#include "kernel/gemm_small_cpu/parts.hpp"

namespace tilewright {
namespace {

using C = GemmSmallCpuConfig;

std::int64_t ceil_div(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit; }

// Returns the furthest byte that an iteration of the k loop addresses from its pointers.
std::int64_t reach_bytes(const GemmProblem& problem, const GemmSmallCpuConfig& config) {
  const InterleavedGeometry g(problem, config.vector_bits);
  const std::int64_t steps = config.k_unroll == 0 ? std::max<std::int64_t>(problem.k, 1) : config.k_unroll;
  const std::int64_t a = (config.mr - 1) * g.a.row_step + (steps - 1) * g.a.col_step;
  const std::int64_t b = (config.nr - 1) * g.b.col_step + (steps - 1) * g.b.row_step;
  const std::int64_t c = (config.mr - 1) * g.c.row_step + (config.nr - 1) * g.c.col_step;
  const std::int64_t prefetch =
      config.prefetch_bytes == 0 ? 0 : g.pitch * std::max({g.a.vectors, g.b.vectors, g.c.vectors});
  return std::max({a, b, c, prefetch});
}

bool deals_evenly(std::int64_t total, int at_most) {
  return total == 0 ? at_most == 1 : at_most == ceil_div(total, ceil_div(total, at_most));
}

std::vector<int> up_to(std::int64_t limit, int most) {
  std::vector<int> values;
  for (int value = 1; value <= most && value <= std::max<std::int64_t>(limit, 1); ++value)
    values.push_back(value);
  return values;
}

// Adds the axes of the register block and the k loop, each followed by the constraints on it.
void block_axes(Space<C>& space, const GemmProblem& problem, Isa isa) {
  const bool complex = is_complex(problem.dtype);
  space.axis(&C::isa, std::vector{isa})
      .axis(&C::vector_bits, isa == Isa::avx512 ? std::vector{512, 256} : std::vector{256})
      .axis(&C::mr, up_to(problem.m, 8))
      .require("mr is the size of an even split of the rows",
               [m = problem.m](const C& x) { return deals_evenly(m, x.mr); })
      .axis(&C::nr, up_to(problem.n, 12))
      .require("nr is the size of an even split of the columns",
               [n = problem.n](const C& x) { return deals_evenly(n, x.nr); })
      .axis(&C::hold, std::vector{Hold::a, Hold::b})
      .require("vector registers hold accumulators and operands",
               [complex](const C& x) { return interleaved_registers(x, complex) <= vector_registers(x.isa); })
      .axis(&C::k_unroll, std::vector{0, 1, 2, 4, 8})
      .require("the k loop has more steps than k_unroll",
               [k = problem.k](const C& x) { return x.k_unroll < std::max<std::int64_t>(k, 2); })
      .require("the whole k unrolled is at most 1024 multiply-adds per register block",
               [k = problem.k, complex](const C& x) {
                 return x.k_unroll > 0 || k * x.mr * x.nr * (complex ? 2 : 1) <= 1024;
               })
      .axis(&C::k_sets, std::vector{1})
      .axis(&C::k_per_vector, std::vector{1})
      .axis(&C::matrices_per_vector, std::vector{1})
      .axis(&C::tail, std::vector{Tail::mask});
}

void memory_axes(Space<C>& space, const GemmProblem& problem) {
  space.axis(&C::c_load, std::vector{CLoad::late, CLoad::early})
      .require("C goes into the accumulators only of real problems with alpha = 1 that read it",
               [problem](const C& x) {
                 return x.c_load != CLoad::early ||
                        (!is_complex(problem.dtype) && problem.alpha == Scalar::one &&
                         problem.beta != Scalar::zero);
               })
      .axis(&C::store, std::vector{Store::plain, Store::non_temporal})
      .require("non-temporal stores write whole cache lines of a C that is not read",
               [problem](const C& x) {
                 return x.store == Store::plain ||
                        (problem.beta == Scalar::zero && x.vector_bits == 512 &&
                         InterleavedGeometry(problem, x.vector_bits).pitch % 64 == 0);
               })
      .axis(&C::prefetch_bytes, std::vector{0, 512, 1024, 2048, 4096, 8192, 16384})
      .require("a register block spans no more bytes than a 32-bit displacement reaches",
               [problem](const C& x) {
                 return reach_bytes(problem, x) <= std::numeric_limits<std::int32_t>::max();
               })
      .axis(&C::prefetch_a, std::vector{true, false})
      .axis(&C::prefetch_b, std::vector{true, false})
      .axis(&C::prefetch_c, std::vector{true, false})
      .require("some operand is prefetched, or all flags are left alone when nothing is",
               [](const C& x) {
                 const bool any = x.prefetch_a || x.prefetch_b || x.prefetch_c;
                 return x.prefetch_bytes > 0 ? any : x.prefetch_a && x.prefetch_b && x.prefetch_c;
               })
      .axis(&C::prefetch_schedule, std::vector{PrefetchSchedule::spread});
}

// Returns the cycles of one slice with two loads and two multiply-adds per cycle, to compare mr and nr.
double estimated_cycles(const GemmProblem& problem, int mr, int nr) {
  const int work = is_complex(problem.dtype) ? 2 : 1;
  double cycles = 0;
  for (const Strip& columns : deal(problem.n, nr))
    for (const Strip& rows : deal(problem.m, mr)) {
      const double multiply_adds = work * rows.size * columns.size;
      const double loads = rows.size + work * columns.size;
      const double latency = 4;  // of a chain of multiply-adds, if too few chains hide it
      const double step = std::max({multiply_adds / 2, loads / 2, latency / 2});
      cycles += rows.count * columns.count * (step * double(problem.k) + loads / 2 + 8);
    }
  return cycles;
}

void choose_register_block(const GemmProblem& problem, const Space<GemmSmallCpuConfig>& space,
                           GemmSmallCpuConfig& config) {
  double best = std::numeric_limits<double>::infinity();
  GemmSmallCpuConfig candidate = config;
  for (candidate.mr = 1; candidate.mr <= 8; ++candidate.mr)
    for (candidate.nr = 1; candidate.nr <= 12; ++candidate.nr) {
      const double cycles = estimated_cycles(problem, candidate.mr, candidate.nr);
      if (cycles < best && space.contains(candidate)) {
        best = cycles;
        config = candidate;
      }
    }
}

// Measured with 48 KiB of L1: the next slice is worth prefetching while two of them and their neighbours fit,
// then A and B alone while these do.
void choose_prefetch(const GemmProblem& problem, C& config) {
  constexpr std::int64_t l1_bytes = 48 * 1024;
  const InterleavedGeometry g(problem, config.vector_bits);
  const std::int64_t slice_bytes = (g.a.vectors + g.b.vectors + g.c.vectors) * g.vector_bytes;
  if (problem.residency == Residency::cold) {
    config.prefetch_bytes = 8192;
  } else if (problem.residency != Residency::l1 && slice_bytes <= l1_bytes * 8 / 10) {
    config.prefetch_bytes = 512;
    config.prefetch_c = slice_bytes <= l1_bytes * 3 / 10;
  }
}

}  // namespace

InterleavedGeometry::InterleavedGeometry(const GemmProblem& problem, int vector_bits)
    : complex(is_complex(problem.dtype)),
      single(problem.dtype == DType::f32 || problem.dtype == DType::c64),
      vector_bytes(vector_bits / 8),
      element_bytes(static_cast<int>(size_bytes(problem.dtype))),
      lanes(vector_bytes / element_bytes),
      block(problem.block > 0 ? problem.block : problem.batch_count),
      slices(block / lanes),
      pitch(block * element_bytes) {
  const auto operand = [this](Op op, std::int64_t ld, std::int64_t stored_rows, std::int64_t stored_cols) {
    InterleavedOperand x;
    x.row_step = op == Op::none ? pitch : ld * pitch;
    x.col_step = op == Op::none ? ld * pitch : pitch;
    x.block_bytes = pitch * ld * stored_cols;
    x.vectors = stored_cols == 0 ? 0 : ld * (stored_cols - 1) + stored_rows;
    return x;
  };
  a = operand(problem.op_a, problem.lda, problem.a_rows(), problem.a_cols());
  b = operand(problem.op_b, problem.ldb, problem.b_rows(), problem.b_cols());
  c = operand(Op::none, problem.ldc, problem.m, problem.n);
}

std::array<Strip, 2> deal(std::int64_t total, int at_most) {
  if (total == 0) return {};
  const std::int64_t blocks = ceil_div(total, at_most);
  const int size = static_cast<int>(ceil_div(total, blocks));
  const int smaller = static_cast<int>(blocks * size - total);
  return {Strip{size, static_cast<int>(blocks) - smaller}, Strip{size - 1, smaller}};
}

int interleaved_registers(const GemmSmallCpuConfig& config, bool complex) {
  const int held = config.hold == Hold::a ? config.mr : config.nr;
  return complex ? 2 * config.mr * config.nr + held + 2 : config.mr * config.nr + held + 1;
}

int vector_registers(Isa isa) { return isa == Isa::avx512 ? 32 : 16; }

Space<GemmSmallCpuConfig> interleaved_space(const GemmProblem& problem, Isa isa) {
  Space<C> space;
  block_axes(space, problem, isa);
  memory_axes(space, problem);
  return space;
}

// Register blocks within a third of the best estimate, k loops and prefetches, equal for all operands.
Space<GemmSmallCpuConfig> interleaved_search(const GemmProblem& problem, Isa isa) {
  const C base = interleaved_default(problem, isa);
  const double limit = 1.34 * estimated_cycles(problem, base.mr, base.nr);
  Space<C> space;
  block_axes(space, problem, isa);
  space.require("the default vector length", [=](const C& x) { return x.vector_bits == base.vector_bits; })
      .require("the estimate is within a third of the best",
               [=](const C& x) { return estimated_cycles(problem, x.mr, x.nr) <= limit; })
      .require("the shorter side of the register block is held",
               [](const C& x) { return x.hold == (x.mr <= x.nr ? Hold::a : Hold::b); })
      .require("k loops worth trying",
               [=](const C& x) { return x.k_unroll == base.k_unroll || x.k_unroll == 0 || x.k_unroll == 2; });
  memory_axes(space, problem);
  space.require("all operands are prefetched or none",
                [](const C& x) { return x.prefetch_a && x.prefetch_b && x.prefetch_c; });
  return space;
}

GemmSmallCpuConfig interleaved_default(const GemmProblem& problem, Isa isa) {
  GemmSmallCpuConfig config{.isa = isa, .vector_bits = 256, .tail = Tail::mask};
  const auto vectors = [&](int bits) {
    const InterleavedGeometry g(problem, bits);
    return ceil_div(g.block, g.lanes);
  };
  if (isa == Isa::avx512 && vectors(512) < vectors(256)) config.vector_bits = 512;
  config.k_unroll = problem.k <= 1 ? 1 : problem.k <= 4 ? 0 : 2;
  const Space<GemmSmallCpuConfig> space = interleaved_space(problem, isa);
  choose_register_block(problem, space, config);
  if (!space.contains(config)) {  // blocks of gigabytes: one element at a time is always in reach
    config.k_unroll = 1;
    choose_register_block(problem, space, config);
  }
  GemmSmallCpuConfig prefetching = config;
  choose_prefetch(problem, prefetching);
  return space.contains(prefetching) ? prefetching : config;
}

std::shared_ptr<const GemmSmallCpuKernel> make_interleaved(const GemmProblem& problem,
                                                           const GemmSmallCpuConfig& config) {
#if defined(__x86_64__)
  const auto reasons = interleaved_space(problem, config.isa).explain(config);
  if (!reasons.empty())
    throw Error(ErrorCode::invalid_argument, "config",
                "config is not legal for the problem: " + reasons.front());
  return generate_interleaved(problem, config);
#else
  throw Error(ErrorCode::unsupported, "cpu", "generated kernels exist for x86-64 only");
#endif
}

}  // namespace tilewright
