// What tuning has found out about factorizations on this machine: who factors, and by which panels.
#pragma once

#include <string>

#include "core/lu_problem.hpp"
#include "tilewright/context.hpp"
#include "tilewright/lu.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

// Of a record: "wisdom (near_shape, file:7, of lu:f64:m=2000,n=2000): streamed with nb=192".
std::string tuned_text(const WisdomAnswer& record);

// Of operations in host memory, below which looking a record up may cost more than it saves: calls do not,
// and nothing is tuned.
inline constexpr double least_tuned_flops = 1e7;

// What records of factorizations name as their device: the CPU with all its GPUs for matrices in host memory,
// else the GPU.
std::string lu_device_name(Context& context, const LuProblem& problem, int gpu);

// The record for the problem, or for the nearest one of its type and place whose sizes differ by less than a
// factor of two in all; its config is a LuConfig. Match none where the options say who factors, or by which
// panels, and where there is none.
WisdomAnswer tuned_lu(Context& context, const LuProblem& problem, const LuOptions& options);

// The options with what the record says.
LuOptions with_config(LuOptions options, const LuConfig& config);

// What rank(options, is_tuned) says with the record's config where somebody serves that, else without it.
template <class Rank>
auto ranked_by_record(const WisdomAnswer& record, const LuOptions& options, const Rank& rank) {
  if (record.match == WisdomMatch::none) return rank(options, false);
  auto ranking = rank(with_config(options, from_json<LuConfig>(record.config)), true);
  ranking.known = record;
  return ranking.winner != nullptr ? std::move(ranking) : rank(options, false);
}

}  // namespace tilewright
