// Loops over the problems of a batch for peers without a batch routine: sequential, or OpenMP with static and
// with dynamic schedule, of which the better one counts. Addresses are resolved inline, so the loop costs a
// peer no more than its users' own loop would.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace tilewright::peers
