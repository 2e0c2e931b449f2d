// The trailing updates C -= A B of the blocked algorithm: who makes them, and how CPU and GPUs share them
// (Bernabe 2014, section 5). The product itself is gemm's.
#pragma once

#include <cstdint>
#include <string>

#include "core/problem.hpp"
#include "gemm/hybrid/models.hpp"
#include "lu/candidates.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {

// What products of a call inherit.
GemmOptions product_options(const LuOptions& options);

// Whether plans give the largest update to GPUs.
bool updates_use_gpus(const LuRequest& request);
// Why nobody that the options allow makes it with panels of nb columns; "" where somebody does.
std::string why_no_update(const LuRequest& request, std::int64_t nb);
// Of the largest: "m=.. by candidate ..".
std::string update_text(const LuRequest& request, std::int64_t nb);

// Of the largest, where there are GPUs. Throws Error(invalid_argument) naming gpus.
HybridModels largest_update_models(const LuRequest& request);

// The options of the update of this shape.
GemmOptions update_options(const LuRequest& request, std::int64_t m, std::int64_t n, std::int64_t k);

// Whether GPUs make the update of this shape without the CPU, which is then free for something else.
bool is_update_of_gpus_alone(const LuRequest& request, std::int64_t m, std::int64_t n, std::int64_t k);

struct UpdateTime {
  double seconds;
  bool leaves_the_cpu;  // GPUs make it alone
};
// What the models say of pinned operands, by the options of this shape. Where there are GPUs.
UpdateTime predicted_update(const LuRequest& request, std::int64_t m, std::int64_t n, std::int64_t k);

// The CPU's share of an update by LuSelect::square or flops, 0 to 1; of panel nothing, because the plan's own
// choice is that.
std::optional<double> selected_share(const LuRequest& request, std::int64_t m, std::int64_t n,
                                     std::int64_t k);

}  // namespace tilewright
