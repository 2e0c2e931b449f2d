// One axis of the space of batched small GEMM: a config with each legal value of one of its fields, the
// others as they are. For pictures of what a parameter does; it searches nothing.
#pragma once

#include <string>
#include <vector>

#include "kernel/gemm_small/gemm_small.hpp"

namespace tilewright::bench {

// Throws Error(invalid_argument) naming the fields that can be varied where `axis` is none of them.
void refuse_unknown_axis(const std::string& axis);

// Value of the field `axis`.
int axis_value(const GemmSmallConfig& config, const std::string& axis);

// `base` with up to `most` legal values of `axis`, spread over all there are, the smallest, the largest and
// its own among them. Where a value leaves a block's threads without work or room, the block has as many as
// are legal.
std::vector<GemmSmallConfig> configs_along(const std::string& axis, const GemmSmallConfig& base,
                                           const GemmSmallShape& shape, const Space<GemmSmallConfig>& space,
                                           std::size_t most);

}  // namespace tilewright::bench
