// Turns a table of compile-time kernels into offers of a peer: finds the size, checks that the processor runs
// the instructions the table was compiled for, and shares the batch among threads.
#pragma once

#include "batch_loop.hpp"
#include "device/cpu.hpp"
#include "fixed_kernel.hpp"

namespace tilewright::peers {

template <class T>
bool runs_here(const FixedTable<T>& table) {
  return (!table.needs_avx2 || cpu_info().avx2_fma) && (!table.needs_avx512 || cpu_info().avx512);
}

// Returns "" if a table may have the case (packed, untransposed, alpha = 1, beta 0 or 1); otherwise the
// reason.
inline std::string fixed_case_declined(const PeerCase& request) {
  const GemmProblem& p = request.problem;
  if (p.op_a != Op::none || p.op_b != Op::none) return "compile-time kernels are not transposed";
  if (request.alpha != 1.0 || (request.beta != 0.0 && request.beta != 1.0))
    return "compile-time kernels have alpha = 1 and beta = 0 or 1";
  if (p.layout != Layout::strided && p.layout != Layout::single)
    return "compile-time kernels take packed strided batches";
  const bool tight = p.lda == p.a_rows() && p.ldb == p.b_rows() && p.ldc == p.m;
  const bool packed_strides =
      p.batch_count <= 1 ||
      (p.stride_a == p.lda * p.a_cols() && p.stride_b == p.ldb * p.b_cols() && p.stride_c == p.ldc * p.n);
  return tight && packed_strides ? "" : "compile-time kernels take packed matrices";
}

template <class T>
void add_fixed_variants(PeerOffer& offer, const PeerCase& request, const FixedTable<T>& table) {
  if (!runs_here(table)) {
    offer.declined = "built for instructions this processor has not";
    return;
  }
  const GemmProblem& p = request.problem;
  for (int i = 0; i < table.count; ++i) {
    const FixedKernel<T>& kernel = table.kernels[i];
    if (kernel.m != p.m || kernel.n != p.n || kernel.k != p.k || kernel.accumulate != (request.beta == 1.0))
      continue;
    add_range_variants<T>(offer, request, kernel.variant,
                          [run = kernel.run](const auto& at, std::int64_t first, std::int64_t count) {
                            run(at.a(first), at.b(first), at.c(first), count);
                          });
  }
  if (offer.variants.empty() && offer.declined.empty())
    offer.declined = "no kernel was compiled for this size";
}

}  // namespace tilewright::peers
