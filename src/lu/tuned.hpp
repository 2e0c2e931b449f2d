// What tuning has found out about factorizations on this machine: who factors, and by which panels.
#pragma once

#include <optional>
#include <string>

#include "core/lu_problem.hpp"
#include "tilewright/context.hpp"
#include "tilewright/lu.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

struct TunedLu {
  LuConfig config;
  WisdomMatch match = WisdomMatch::none;  // exact or near_shape
  std::string problem, source;            // that it was measured for, and the record's place
  RecordedTime recorded;

  // "wisdom (near_shape, file:7, of lu:f64:m=2000,n=2000): streamed with nb=192".
  std::string text() const;
};

// Of operations in host memory, below which looking a record up may cost more than it saves: calls do not,
// and nothing is tuned.
inline constexpr double least_tuned_flops = 1e7;

// What records of factorizations name as their device: the CPU with all its GPUs for matrices in host memory,
// else the GPU.
std::string lu_device_name(Context& context, const LuProblem& problem, int gpu);

// The record for the problem, or for the nearest one of its type and place whose sizes differ by less than a
// factor of two in all. Nothing where the options say who factors, or by which panels.
std::optional<TunedLu> tuned_lu(Context& context, const LuProblem& problem, const LuOptions& options);

// The options with what the record says.
LuOptions with_config(LuOptions options, const LuConfig& config);

}  // namespace tilewright
