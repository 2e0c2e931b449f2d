// The trailing updates C -= A B of the blocked algorithm: who makes them, how CPU and GPUs share them
// (Bernabe 2014, section 5), and how many columns its panels have: narrow ones leave the CPU less work at the
// rate of thin products, wide ones give GPUs deeper updates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/problem.hpp"
#include "gemm/hybrid/models.hpp"
#include "lu/candidates.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {

// The options that products of a call inherit.
GemmOptions product_options(const LuOptions& options);

// True if plans give the largest update to GPUs.
bool updates_use_gpus(const LuRequest& request);
// Returns why nobody allowed makes the largest update with panels of nb columns; "" if somebody does.
std::string why_no_update(const LuRequest& request, std::int64_t nb);
// The largest update in words: "m=.. by candidate ..".
std::string update_text(const LuRequest& request, std::int64_t nb);

// The models for the largest update, if there are GPUs. Throws Error(invalid_argument) naming gpus.
HybridModels largest_update_models(const LuRequest& request);

// The options of the update of this shape.
GemmOptions update_options(const LuRequest& request, std::int64_t m, std::int64_t n, std::int64_t k);

// True if GPUs make the update of this shape without the CPU, which is then free for something else.
bool is_update_of_gpus_alone(const LuRequest& request, std::int64_t m, std::int64_t n, std::int64_t k);

struct UpdateTime {
  double seconds;
  bool leaves_the_cpu;  // GPUs make it alone
};
// Predicts the update of this shape by its options and the models, of pinned operands. There must be GPUs.
UpdateTime predicted_update(const LuRequest& request, std::int64_t m, std::int64_t n, std::int64_t k);

// The CPU's share of an update by LuSelect::square or flops, 0 to 1; none for panel: the plan decides.
std::optional<double> selected_share(const LuRequest& request, std::int64_t m, std::int64_t n,
                                     std::int64_t k);

// options.nb; else, if GPUs share updates, the models' fastest; else a default. At most min(m, n).
std::int64_t panel_columns(const LuRequest& request);

// Seconds of xGETRF of m x n on the host by its recursion: products and triangular solves of each depth.
double panel_seconds(const GemmTime& host, double m, double n);

// Seconds of the blocked algorithm with panels of nb columns, from panels, solves and updates at a few places
// of the matrix. `update` predicts an update of m x n x k.
using UpdateSeconds = std::function<UpdateTime(std::int64_t m, std::int64_t n, std::int64_t k)>;
double blocked_seconds(const HostModel& host, const LuProblem& problem, std::int64_t nb,
                       const UpdateSeconds& update);

}  // namespace tilewright
