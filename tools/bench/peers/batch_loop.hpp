// Loops over the problems of a batch for peers without a batch routine: sequential, or OpenMP with static and
// with dynamic schedule, of which the better one counts. Addresses are resolved inline, so the loop costs a
// peer no more than its users' own loop would. Tables of compile-time kernels become offers the same way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu.hpp"
#include "native.hpp"
#include "peer.hpp"

namespace tilewright::peers {

template <class T>
struct StridedAddresses {
  const T* a_data;
  const T* b_data;
  T* c_data;
  std::int64_t stride_a, stride_b, stride_c;
  const T* a(std::int64_t p) const { return a_data + p * stride_a; }
  const T* b(std::int64_t p) const { return b_data + p * stride_b; }
  T* c(std::int64_t p) const { return c_data + p * stride_c; }
};

template <class T>
struct PointerAddresses {
  const T* const* a_data;
  const T* const* b_data;
  T* const* c_data;
  const T* a(std::int64_t p) const { return a_data[p]; }
  const T* b(std::int64_t p) const { return b_data[p]; }
  T* c(std::int64_t p) const { return c_data[p]; }
};

// Calls body(addresses) for the layout of the problem.
template <class T, class Body>
void with_addresses(const GemmProblem& problem, const Operands& operands, Body&& body) {
  if (problem.layout == Layout::pointer)
    return body(PointerAddresses<T>{static_cast<const T* const*>(operands.a),
                                    static_cast<const T* const*>(operands.b),
                                    static_cast<T* const*>(operands.c)});
  body(StridedAddresses<T>{static_cast<const T*>(operands.a), static_cast<const T*>(operands.b),
                           static_cast<T*>(operands.c), problem.stride_a, problem.stride_b,
                           problem.stride_c});
}

enum class Schedule { sequential, fixed, dynamic };

// Calls body(addresses, first, count) over contiguous ranges that together cover the batch.
template <class T, class Body>
void run_ranges(const PeerCase& request, Schedule schedule, const Operands& operands, const Body& body) {
  const std::int64_t count = request.problem.batch_count;
  const int threads = request.threads;
  with_addresses<T>(request.problem, operands, [&](const auto& at) {
    if (schedule == Schedule::sequential) return body(at, std::int64_t{0}, count);
    if (schedule == Schedule::fixed) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
      for (int thread = 0; thread < threads; ++thread) {
        const std::int64_t first = count * thread / threads;
        body(at, first, count * (thread + 1) / threads - first);
      }
      return;
    }
    // Pieces are small enough to balance, and large enough to make the cost of handing them out negligible.
    const std::int64_t piece = std::max<std::int64_t>(1, count / (std::int64_t{16} * threads));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (std::int64_t first = 0; first < count; first += piece)
      body(at, first, std::min(piece, count - first));
  });
}

// Adds the variants of one method: with one thread `name`, otherwise `name`+"static" and `name`+"dynamic".
template <class T, class Body>
void add_range_variants(PeerOffer& offer, const PeerCase& request, const std::string& name,
                        const Body& body) {
  const auto add = [&](const std::string& suffix, Schedule schedule) {
    const std::string separator = name.empty() || suffix.empty() ? "" : " ";
    offer.variants.push_back({name + separator + suffix, [=](const Operands& operands) {
                                run_ranges<T>(request, schedule, operands, body);
                              }});
  };
  if (request.threads == 1) return add("", Schedule::sequential);
  add("static", Schedule::fixed);
  add("dynamic", Schedule::dynamic);
}

// The same for a body that does one problem: one(addresses, p).
template <class T, class One>
void add_loop_variants(PeerOffer& offer, const PeerCase& request, const std::string& name, const One& one) {
  add_range_variants<T>(offer, request, name, [one](const auto& at, std::int64_t first, std::int64_t count) {
    for (std::int64_t p = first; p < first + count; ++p) one(at, p);
  });
}

inline constexpr const char* wrong_processor = "built for instructions that this processor lacks";
inline bool runs_here(const BuiltFor& needs) {
  return (!needs.avx2 || cpu_info().avx2_fma) && (!needs.avx512 || cpu_info().avx512);
}

// Returns "" if a table may have the case (packed, untransposed, alpha = 1, beta 0 or 1); otherwise the
// reason.
inline std::string fixed_case_declined(const PeerCase& request) {
  const GemmProblem& p = request.problem;
  if (p.op_a != Op::none || p.op_b != Op::none) return "compile-time kernels do not transpose";
  if (request.alpha != 1.0 || (request.beta != 0.0 && request.beta != 1.0))
    return "compile-time kernels support alpha = 1 and beta = 0 or 1 only";
  if (p.layout != Layout::strided && p.layout != Layout::single)
    return "compile-time kernels support packed strided batches only";
  const bool tight = p.lda == p.a_rows() && p.ldb == p.b_rows() && p.ldc == p.m;
  const bool packed_strides =
      p.batch_count <= 1 ||
      (p.stride_a == p.lda * p.a_cols() && p.stride_b == p.ldb * p.b_cols() && p.stride_c == p.ldc * p.n);
  return tight && packed_strides ? "" : "compile-time kernels support packed matrices only";
}

// Adds the table's kernels of the size, which share the batch among threads.
template <class T>
void add_fixed_variants(PeerOffer& offer, const PeerCase& request, const FixedTable<T>& table) {
  if (!runs_here(table.needs)) {
    offer.declined = wrong_processor;
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
